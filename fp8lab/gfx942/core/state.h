// The machine's state: an instruction record, a wave, a workgroup, a launch. Everything else works on these.
//
// Numbers of registers and operands are the ISA's: 0-127 scalar registers (VCC 106, M0 124, EXEC 126), 128 a constant,
// 256 + n a VGPR, 512 + n an AGPR. decode.py makes the records; their layout here and in device.py must agree.
#pragma once
#include <pthread.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;

enum { LANES = 64, MAX_WAVES = 16, MAX_LDS = 65536 };
enum { FLAT_SCRATCH = 102, VCC = 106, M0 = 124, EXEC = 126, CONSTANT = 128, VCCZ = 251, EXECZ = 252, SCC = 253 };
enum { VGPR = 256, AGPR = 512, REGISTERS = 768, NONE = 0xffff };

// What an operand's bits are; decides where neg and abs act and which denormals MODE flushes. SIGN: a sign, no
// flushing.
typedef enum { BITS, FLOAT16, FLOAT32, FLOAT64, SIGN16, SIGN32, SIGN64 } Kind;

typedef enum { RUNNING, YIELDED, AT_BARRIER, ENDED, FAULTED } WaveState;

// Which checks are on; checks = 0 runs the plain loop. The bits are those of findings.CHECKS in Python.
enum {
    CHECK_LDS = 1,
    CHECK_WAITS = 2,
    CHECK_UNINITIALISED = 4,
    CHECK_HAZARDS = 8,
    CHECK_BARRIERS = 16,
    CHECK_BOUNDS = 32,
    CHECK_ALIGNMENT = 64
};

typedef struct Wave Wave;
typedef struct Ins Ins;
typedef struct Launch Launch;

typedef struct {
    u16 first, count;  // registers first … first + count - 1
} Registers;

// One instruction, ready to run. The part up to `registers` comes from Python, the rest is filled by program_make().
struct Ins {
    u64 value[4];  // of constant sources
    u32 address;   // in the code object, for messages and for s_getpc
    u32 target;    // index of the record a branch goes to
    i32 offset[2];
    u32 flags;  // below
    u16 op;     // row of the table
    u16 d, e;   // destinations
    u16 src[4];
    u8 size;                                       // bytes
    u8 neg, abs, sext, op_sel, op_sel_hi, neg_hi;  // bit k for source k
    u8 fancy;                                      // bit k: source k needs the slow path (modifiers, SDWA, DPP)
    u8 fancy_result;                               // the result needs the slow path
    u8 clamp, omod, sdwa, dpp;
    u8 src_sel[2], dst_sel, dst_unused, bound_ctrl, row_mask, bank_mask;
    u16 dpp_ctrl;
    u8 kind[4];  // Kind of each source
    u8 result_kind, result_words, keep_high;
    u8 unit;              // below: which counters and hazards it takes part in
    u8 passes;            // of an MFMA,
    u8 cbsz, abid, blgp;  // and its modifiers
    u8 uses, defs;        // how many of registers[] are read, then written
    u8 round;             // which MODE.round field holds: 0 float32, 2 float16 and float64
    Registers registers[8];

    void (*run)(Wave*, const Ins*);
    const u32* splat[4];  // constant sources, one copy a lane: [2][LANES]
};
enum {
    OFFEN = 1,
    IDXEN = 2,
    RETURNS = 4,
    DST_HIGH = 8,
    IS_XDL = 32,
    IS_TRANS = 64,
    IS_DGEMM = 128,
    STORES_HIGH = 256,
    COPIES = 512,
    LENIENT = 1024,
    FIRST_LANE = 2048,
    // for wait_states.h:
    READS_LANE = 1 << 12,     // v_readlane, v_readfirstlane, v_writelane
    SELECTS_LANE = 1 << 13,   // with the lane in a scalar register
    DIVIDES = 1 << 14,        // v_div_fmas
    READS_M0 = 1 << 15,       // as the hardware does, not as an operand
    USES_MODE = 1 << 16,      // s_setreg, s_getreg
    WRITES_EXEC = 1 << 17,    // v_cmpx
    SHIFTS_RESULT = 1 << 18,  // SDWA or op_sel put the result into a part of the register
    SETS_WAIT = 1 << 19       // any of the events that others must wait after
};
enum {
    UNIT_OTHER,
    UNIT_VALU,
    UNIT_SALU,
    UNIT_MATRIX,
    UNIT_LDS,
    UNIT_VMEM_LOAD,
    UNIT_VMEM_STORE,
    UNIT_VMEM_LDS,
    UNIT_FLAT,
    UNIT_SMEM,
    UNIT_WAIT,
    UNIT_BARRIER,
    UNIT_NOP
};

// Memory a kernel may touch: device addresses lo … hi - 1 are host addresses plus delta.
typedef struct {
    u64 lo, hi;
    i64 delta;
    u32 id, writable;
} Range;

// What was wrong, where. Fixed size, so that a full list is not a special case: see report().
typedef struct {
    u32 kind, instruction, workgroup[3], wave, lane, other, size, count;
    u64 address;
} Finding;
enum {
    FOUND_GLOBAL_BOUNDS,
    FOUND_LDS_BOUNDS,
    FOUND_SCRATCH_BOUNDS,
    FOUND_MISALIGNED,
    FOUND_LDS_RACE,
    FOUND_LDS_SAME_VALUE,
    FOUND_MISSING_WAIT,
    FOUND_UNINITIALISED_REGISTER,
    FOUND_UNINITIALISED_LDS,
    FOUND_HAZARD,
    FOUND_BARRIER,
    FOUND_TRAP,
    FOUND_LDS_NOT_WAITED,
    FOUND_HANG,
    FOUND_BAD_JUMP,
    FOUND_UNSUPPORTED
};

// What one instruction did to memory, summed over the launch; see trace.py.
typedef struct {
    u64 lds_accesses, lds_cycles, lds_ideal, global_accesses, sectors, lines, ideal_sectors, bytes;
} Traffic;

// Stream mode: one executed instruction of one wave, with what it cost. The input of a timing model.
typedef struct {
    u32 workgroup, instruction;
    u16 wave, lds_cycles, sectors, lines;
} Step;
typedef struct {
    Step* steps;
    u64 count, room, limit;
} Stream;

typedef enum { NO_PROGRESS = 1, STEP_LIMIT, STREAM_LIMIT } Hang;  // why waves that still wait or run are named

// One LDS dword byte by byte: who touched it last and in which barrier interval, and which bytes were ever written.
typedef struct {
    u32 write_epoch, read_epoch, write_seq;
    u8 writer[4], reader[4];  // a wave, or one of NOBODY, SEVERAL
    u8 atomic;                // the last write was an atomic: another atomic is no race
    u8 written;               // bit a byte: has it ever been
} Shadow;
enum { NOBODY = 255, SEVERAL = 254 };

// All of LDS: arrays of one entry a dword, which lds_checks.h explains.
typedef struct {
    u32 *write, *read, *write_seq;
    Shadow* detail;
    u32 settled;   // the last barrier interval whose writes all waves had waited for
    u32* dma_seq;  // sequence number of the load from global memory that will write the dword,
    u8* dma_wave;  // and the wave that issued it
} History;

typedef struct Workgroup Workgroup;

struct Wave {
    u32 (*v)[LANES];  // 512 registers: VGPRs, then AGPRs
    u32 s[128] __attribute__((aligned(8)));
    u32 scc, mode;
    u8 indexed;     // s_set_gpr_idx: bits 0-2 the sources, bit 3 the destination, that M0 is added to
    u8 force;       // all ones when MODE asks for flushed denormals: every operand takes the slow path
    const Ins* pc;  // the next instruction
    WaveState state;
    u32 id;
    u64 executed;
    u64 write_mask;  // lanes that DPP lets the instruction write
    Workgroup* group;
    Launch* launch;
    u8* scratch;
    const Range* recent;  // the range the last access hit
    u32 result[16][LANES] __attribute__((aligned(64)));
    u32 operand[4][2 * LANES] __attribute__((aligned(64)));
    u64* counts;
    Traffic* traffic;
    // --- only the checks use what follows
    u32 clock;                                                     // wait states so far, as the ISA counts them
    u32 last_set, exec_set, mode_set, m0_set, shift_set, shifted;  // wait_states.h: clocks, and a register
    u32 vm_issued, vm_done, lgkm_issued, lgkm_done, smem_out, flat_out;
    u32 done_at_barrier, vm_done_at_barrier;  // lgkm_done and vm_done when the last barrier opened
    u32 lds_written;                          // sequence number of the last write to LDS
    u32 last_valu, last_trans;     // clock of the last vector instruction, and of the last transcendental one
    const Ins* recent_matrix[32];  // by their clock modulo 32
    u8 watch[REGISTERS + 8];       // bits of checks.h: what there may be about a register
    u32 vm_pending[REGISTERS], lgkm_pending[REGISTERS];   // sequence number of the load that will write it
    u64 written[REGISTERS];                               // lanes that have been written
    u32 valu_write[REGISTERS], trans_write[REGISTERS];    // clock of the instruction that wrote it,
    u32 matrix_write[REGISTERS], matrix_read[REGISTERS];  // of the matrix instruction that did, or that read it as C
};

struct Workgroup {
    Launch* launch;
    u32 id[3], waves;
    u32 linear;
    u8* lds;
    u32 (*registers)[LANES];
    u8* scratch;
    Wave* wave;
    u32 epoch;
    int progressed;  // in this slice: memory that others see has changed, a wave has ended, an MFMA, nothing but sums
    int accessed;    // memory, by the wave that runs: it may wait for what it finds there
    u64 idle;        // wave instructions of the last slice, if it made no progress
    u64 idle_since;  // launch.progress + 1 at that time
    History history;
    struct Workgroup* next;
};

struct Launch {
    const Ins* program;
    u32 instructions, entry, lds_bytes, scratch_bytes, block[3], grid[3];
    u32 rsrc1, rsrc2, properties, preload_words, preload_offset;
    u64 kernarg, dispatch_packet, code_base;
    const Range* ranges;
    u32 range_count, checks, trace, fast_mfma, threads, max_resident, finding_limit;
    u32 finding_room;            // as many findings, and one for each wave that can be on the device: see name_waves()
    u64 hang_after, step_limit;  // step_limit: instructions that one wave may run, 0 without end
    const u32* order;            // workgroups in the order they start
    u32 workgroups;
    u64* counts;       // [instructions]
    Traffic* traffic;  // [instructions]
    Finding* findings;
    u32 finding_count, findings_dropped;
    u32 started, finished, failed, hung;  // hung: 0 or a Hang
    u64 progress;                         // counts up whenever any workgroup progresses
    u64 idle, idle_since;                 // wave instructions since it was idle_since - 1,
    u32 idle_groups;                      // and workgroups that have run them
    u32 stop;                             // set from outside: end soon
    struct Running* running;
    pthread_mutex_t* lock;
    Workgroup* parked_first;
    Workgroup* parked_last;
    u32 resident;
    const u32* code_index;  // image address / 4 -> record, or NONE32
    u32 code_words;
    Stream* stream;  // if not null: note every step, and skip the arithmetic of matrix instructions; one thread
};
enum { NONE32 = 0xffffffff };

static inline u64 pair(const Wave* w, u32 r) {
    u64 x;
    memcpy(&x, &w->s[r], 8);
    return x;
}
static inline void set_pair(Wave* w, u32 r, u64 x) { memcpy(&w->s[r], &x, 8); }

// Every lane in turn; iterations are independent, which lets the compiler use vectors of 8 or 16 lanes.
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety) interleave(disable) unroll(disable)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif
#define EACH_LANE INDEPENDENT for (u32 l = 0; l < LANES; l++)
#define EACH_ACTIVE(mask) for (u64 m_ = (mask), l = 0; m_ && (l = (u64)__builtin_ctzll(m_), 1); m_ &= m_ - 1)

// One copy for all the handlers that call it: the core has a thousand, and must compile in seconds.
#define OUT_OF_LINE __attribute__((noinline))
#define ALWAYS_INLINE inline __attribute__((always_inline))

void report(Wave* w, const Ins* in, u32 kind, u32 lane, u64 address, u32 size, u32 other);
