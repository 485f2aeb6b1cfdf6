"""Control: where the wave goes next, what it waits for, what it tells the rest of the machine.

a is the instruction's 16-bit immediate, signed for branches. Source: CDNA3 ISA guide, "Program Control" and "Manually
Inserted Wait States". What only moves a cache, a priority or a clock has no meaning here: the emulator's memory is
coherent and it has no time, so those rows are empty on purpose and say why.
"""

from functools import partial

from fp8lab.gfx942.isa import row

op = partial(row, "control")

# --- branches: the target is the next instruction plus 4 * a ----------------------------------------------------------
op("s_branch", "SOPP 2", "| simm", "branch(w, in)")
op("s_cbranch_scc0", "SOPP 4", "| simm", "if (!w->scc) branch(w, in)")
op("s_cbranch_scc1", "SOPP 5", "| simm", "if (w->scc) branch(w, in)")
op("s_cbranch_vccz", "SOPP 6", "| simm", "if (pair(w, VCC) == 0) branch(w, in)")
op("s_cbranch_vccnz", "SOPP 7", "| simm", "if (pair(w, VCC) != 0) branch(w, in)")
op("s_cbranch_execz", "SOPP 8", "| simm", "if (pair(w, EXEC) == 0) branch(w, in)")
op("s_cbranch_execnz", "SOPP 9", "| simm", "if (pair(w, EXEC) != 0) branch(w, in)")
op("s_call_b64", "SOPK 21", "u64 | simm", "set_pair(w, in->d, address_after(w, in)); branch(w, in)")
op("s_getpc_b64", "SOP1 28", "u64 |", "set_pair(w, in->d, address_after(w, in))")
op("s_setpc_b64", "SOP1 29", "| u64", "jump(w, scalar_u64(w, in, 0))")
op("s_swappc_b64", "SOP1 30", "u64 | u64",
   "u64 target = scalar_u64(w, in, 0); set_pair(w, in->d, address_after(w, in)); jump(w, target)")

# --- the wave's own state ---------------------------------------------------------------------------------------------
op("s_endpgm", "SOPP 1", "| imm", "w->state = ENDED")
op("s_barrier", "SOPP 10", "| imm", "w->state = AT_BARRIER")
op("s_sleep", "SOPP 14", "| imm", "w->state = YIELDED")
op("s_sendmsg", "SOPP 16", "| imm", "send_message(w, in)")
op("s_trap", "SOPP 18", "| imm", "trap(w, in)")
op("s_sethalt", "SOPP 13", "| imm", "if (in->value[0] & 1) trap(w, in)")
op("s_memtime", "SMEM 36", "u64 |", "set_pair(w, in->d, w->executed)")      # a clock that ticks once an instruction
op("s_memrealtime", "SMEM 37", "u64 |", "set_pair(w, in->d, w->executed)")

# Dynamic VGPR numbers: until _off, M0 is added to the sources and destination that the immediate names.
op("s_set_gpr_idx_on", "SOPC 17", "| u32 idx", "set_index(w, scalar_u32(w, in, 0), (u32)in->value[1])")
op("s_set_gpr_idx_idx", "SOP1 50", "| u32", "set_index(w, scalar_u32(w, in, 0), w->indexed)")
op("s_set_gpr_idx_mode", "SOPP 29", "| imm", "set_index(w, w->s[M0], (u32)in->value[0])")
op("s_set_gpr_idx_off", "SOPP 28", "| imm", "w->indexed = 0")

# --- waits: nothing is late here; the checks in ../core/checks.h ask whether a wait that the GPU needs was there ------
op("s_nop", "SOPP 0", "| imm", "")
op("s_waitcnt", "SOPP 12", "| imm", "")

# --- no effect without time or caches ---------------------------------------------------------------------------------
op("s_wakeup", "SOPP 3", "| imm", "")
op("s_setprio", "SOPP 15", "| imm", "")
op("s_icache_inv", "SOPP 19", "| imm", "")
op("s_incperflevel", "SOPP 20", "| imm", "")
op("s_decperflevel", "SOPP 21", "| imm", "")
op("s_ttracedata", "SOPP 22", "| imm", "")
op("s_dcache_inv", "SMEM 32", "|", "")
op("s_dcache_wb", "SMEM 33", "|", "")
op("s_dcache_inv_vol", "SMEM 34", "|", "")
op("s_dcache_wb_vol", "SMEM 35", "|", "")
op("buffer_wbl2", "MUBUF 40", "|", "__atomic_thread_fence(__ATOMIC_SEQ_CST)")
op("buffer_inv", "MUBUF 41", "|", "__atomic_thread_fence(__ATOMIC_SEQ_CST)")
