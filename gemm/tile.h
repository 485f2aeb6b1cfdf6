// The shape of a workgroup's tile, and which tile (and which part of K) each workgroup computes.
#pragma once
#include "device.h"
#include "lds.h"

namespace gemm {

// m × n elements of C by waves_m × waves_n waves; each wave owns subtiles_m × subtiles_n sub-tiles of 16 × 16.
template <int m_, int n_, int waves_m_, int waves_n_>
struct Tile {
    static constexpr int m = m_, n = n_, waves_m = waves_m_, waves_n = waves_n_;
    static constexpr int lanes = waves_m * waves_n * 64;
    static constexpr int subtiles_m = m / waves_m / 16, subtiles_n = n / waves_n / 16;
    // First row of a wave, and of each of its sub-tiles from there: half of its rows lie in each half of the tile.
    static constexpr GEMM_DEVICE int wave_row(int wave) { return subtile_row(wave / waves_n * (subtiles_m / 2)); }
    static constexpr GEMM_DEVICE int subtile_row_m(int i) {
        return i / (subtiles_m / 2) * (m / 2) + subtile_row(i % (subtiles_m / 2));
    }
    static_assert(m % 64 == 0, "each half of A is whole pairs of sub-tiles, 32 rows: m is a multiple of 64");
    static_assert(m == waves_m * subtiles_m * 16 && (subtiles_m == 2 || subtiles_m == 4 || subtiles_m == 8),
                  "a wave has 32, 64 or 128 rows of C: m is waves_m times one of these");
    static_assert(n == waves_n * 64, "a wave's columns lie in one block of b_scale: n is 64 waves_n");
    static_assert(waves_m * waves_n <= 8, "two waves a SIMD: a workgroup has at most 8");
    static_assert((m + n) * block_k <= 65536, "the tile of A and B fits the LDS of a CU: m + n is at most 512");
};

struct Place {
    int tile, row, column;        // index of the tile; its first element in C
    int first_block, last_block;  // of the blocks of K that this workgroup sums
    int part;                     // which part of K that is
};

// Workgroups go round robin over the 8 XCDs, each with its own L2. Giving each XCD a contiguous run of the order, and
// ordering tiles in bands of 4 tile rows, lets neighbours share what is in that L2.
template <class Tile>
GEMM_DEVICE Place place(int m, int n, int k, int parts) {
    constexpr int xcds = 8, band_rows = 4;
    int rows = (m + Tile::m - 1) / Tile::m, columns = (n + Tile::n - 1) / Tile::n, tiles = rows * columns;
    int id = __builtin_amdgcn_workgroup_id_x(), xcd = id % xcds, all = tiles * parts;
    id = xcd * (all / xcds) + min(xcd, all % xcds) + id / xcds;

    Place p;
    p.part = parts > 1 ? divide(id, tiles) : 0;
    p.tile = id - p.part * tiles;
    int band = divide(p.tile, band_rows * columns), in_band = p.tile - band * band_rows * columns;
    int height = min(band_rows, rows - band * band_rows), column = divide(in_band, height);
    p.row = (band * band_rows + in_band - column * height) * Tile::m;
    p.column = column * Tile::n;

    int blocks = k / block_k;
    p.first_block = parts > 1 ? divide(blocks * p.part, parts) : 0;
    p.last_block = parts > 1 ? divide(blocks * (p.part + 1), parts) : blocks;
    return p;
}

}  // namespace gemm
