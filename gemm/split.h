// Splitting K: several workgroups sum parts of one tile, and the last to arrive adds them up, in the same launch.
#pragma once
#include "device.h"
#include "lds.h"
#include "tile.h"

namespace gemm {

// partial  parts × Tile::m × Tile::n floats a tile, in the order of the lanes: 1 KiB a wave and store
// arrived  a word a tile: the call it belongs to, and how many of its workgroups have arrived. Needs no value before
//          the launch: what does not carry this call's number counts as nobody.
// call     a number of 56 bits in the upper bits of a word, different in each call
struct Workspace {
    f32x4* partial;
    u64* arrived;
    u64 call;
};

// Counts one more workgroup and returns how many were there before.
GEMM_DEVICE u32 arrive(u64* word, u64 call) {
    constexpr u64 count = 0xff;
    u64 seen = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), next;
    do {
        next = (seen & ~count) == call ? seen + 1 : call + 1;
    } while (!__hip_atomic_compare_exchange_strong(word, &seen, next, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                   __HIP_MEMORY_SCOPE_AGENT));
    return u32(next & count) - 1;
}

// Leaves this part's accumulators in the workspace. In the workgroup that is last, total becomes the sum of all parts,
// added in order of k whoever is last, so that every run gives the same bits. Returns whether this one is.
template <class Tile>
GEMM_DEVICE bool reduce_parts(f32x4 (&total)[Tile::subtiles_m][Tile::subtiles_n], const Workspace& workspace,
                              const Place& at, int parts, int thread, u8* lds) {
    constexpr int values = Tile::subtiles_m * Tile::subtiles_n;
    f32x4* partial = workspace.partial + i64(at.tile) * parts * values * Tile::lanes + thread;
    f32x4* mine = partial + i64(at.part) * values * Tile::lanes;
    f32x4* flat = &total[0][0];
    GEMM_UNROLL
    for (int v = 0; v < values; v++) mine[v * Tile::lanes] = flat[v];

    // All waves' stores reach the device's memory before the count does.
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    lds_barrier();
    u32* before = reinterpret_cast<u32*>(lds);  // the tile is not needed any more
    if (thread == 0) *before = arrive(workspace.arrived + at.tile, workspace.call);
    lds_barrier();
    if (int(__builtin_amdgcn_readfirstlane(*before)) != parts - 1) return false;
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    if (thread == 0) workspace.arrived[at.tile] = 0;  // a graph repeats the call with the same number

    GEMM_UNROLL
    for (int v = 0; v < values; v++) flat[v] = partial[v * Tile::lanes];
    _Pragma("unroll 1") for (int part = 1; part < parts; part++) {
        partial += values * Tile::lanes;
        GEMM_UNROLL
        for (int v = 0; v < values; v++) flat[v] += partial[v * Tile::lanes];
    }
    return true;
}

}  // namespace gemm
