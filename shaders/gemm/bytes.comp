#version 450
#extension GL_EXT_control_flow_attributes : require
// Products of 8-bit integers (see bytes.glsl) by dot products of four at a time, through shared memory. A workgroup
// computes TILE_M x TILE_N of the result in slabs of TILE_K steps of k. An invocation keeps blocks of 4 x 4 sums, laid out
// as in shared.comp. LOADS_AHEAD: it loads the next slab to registers while it adds.
#include "prelude.glsl"
#include "gemm/packed_dot.glsl"
#include "gemm/bytes.glsl"

const uint GROUPS_M = TILE_M / (4u * FOURS_M);
const uint GROUPS_N = TILE_N / (4u * FOURS_N);
const uint VECTORS = TILE_K / PER, WORDS = TILE_K / 4u;
const uint VECTORS_OF_A = TILE_M * VECTORS / WORKGROUP;
const uint VECTORS_OF_B = TILE_N * VECTORS / WORKGROUP;

// [k / 4][m / 4] and [k / 4][n / 4]: the words of four rows.
shared uvec4 tile_a[WORDS][TILE_M / 4u + 1u];
shared uvec4 tile_b[WORDS][TILE_N / 4u + 1u];

// This invocation's vector l of a slab: row and step of k.
#define PLACE(l) uint i = (l) * WORKGROUP + gl_LocalInvocationIndex, row = i / VECTORS, k = i % VECTORS * PER;

void load_a(uint a0, uint m0, uint k0, out uvec4 raw[VECTORS_OF_A]) {
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_A; ++l) {
        PLACE(l)
        raw[l] = vector_of_a(a0, min(m0 + row, M - 1u), k0 + k);
    }
}

void load_b(LINE lines[VECTORS_OF_B], uint k0, out uvec4 raw[VECTORS_OF_B]) {
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_B; ++l) {
        PLACE(l)
        raw[l] = vector_of_b(lines[l], min(k0 + k, K - PER));
    }
}

void keep(uvec4 raw_a[VECTORS_OF_A], uvec4 raw_b[VECTORS_OF_B]) {
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_A; ++l) {
        PLACE(l)
        [[unroll]] for (uint q = 0u; q < 4u; ++q) tile_a[k / 4u + q][row / 4u][row % 4u] = raw_a[l][q];
    }
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_B; ++l) {
        PLACE(l)
        [[unroll]] for (uint q = 0u; q < 4u; ++q) tile_b[k / 4u + q][row / 4u][row % 4u] = raw_b[l][q];
    }
}

void main() {
    const uint tiles_m = (M + TILE_M - 1u) / TILE_M;
    const uint tiles_n = (N + TILE_N - 1u) / TILE_N;
    uint group = workgroup_index();
    uint n0 = group % tiles_n * TILE_N;
    uint m0 = group / tiles_n % tiles_m * TILE_M;
    uint batch = group / (tiles_n * tiles_m);
    if (batch >= BATCH) return;  // the whole workgroup returns
    uint at[RANK];
    coordinates(batch, at);
    uint a0 = a_batch(at);
    // Invocations form patches of 8 x 4, as in shared.comp
    uint lane = gl_LocalInvocationIndex % 32u, patch_ = gl_LocalInvocationIndex / 32u;
    uint own_n = patch_ % (GROUPS_N / 8u) * 8u + lane % 8u, own_m = patch_ / (GROUPS_N / 8u) * 4u + lane / 8u;

    LINE lines[VECTORS_OF_B];
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_B; ++l) {
        PLACE(l)
        lines[l] = line_of_b(at, min(n0 + row, N - 1u));
    }
    uvec4 sums[4u * FOURS_M][FOURS_N];
    [[unroll]] for (uint m = 0u; m < 4u * FOURS_M; ++m) {
        [[unroll]] for (uint n = 0u; n < FOURS_N; ++n) sums[m][n] = uvec4(0u);
    }
    uvec4 raw_a[VECTORS_OF_A], raw_b[VECTORS_OF_B];
#if LOADS_AHEAD
    load_a(a0, m0, 0u, raw_a);
    load_b(lines, 0u, raw_b);
    keep(raw_a, raw_b);
    barrier();
#endif
    for (uint k0 = 0u; k0 < K; k0 += TILE_K) {
#if LOADS_AHEAD
        // After the last slab this reads its end again, which is not added.
        load_a(a0, m0, k0 + TILE_K, raw_a);
        load_b(lines, k0 + TILE_K, raw_b);
#else
        load_a(a0, m0, k0, raw_a);
        load_b(lines, k0, raw_b);
        keep(raw_a, raw_b);
        barrier();
#endif
        [[unroll]] for (uint w = 0u; w < WORDS; ++w) {
            uvec4 a[FOURS_M], b[FOURS_N];
            [[unroll]] for (uint m = 0u; m < FOURS_M; ++m) a[m] = tile_a[w][own_m + m * GROUPS_M];
            [[unroll]] for (uint n = 0u; n < FOURS_N; ++n) b[n] = tile_b[w][own_n + n * GROUPS_N];
            [[unroll]] for (uint m = 0u; m < 4u * FOURS_M; ++m) {
                [[unroll]] for (uint n = 0u; n < FOURS_N; ++n) {
                    [[unroll]] for (uint q = 0u; q < 4u; ++q) sums[m][n][q] += packed_dot(a[m / 4u][m % 4u], b[n][q]);
                }
            }
        }
        barrier();
#if LOADS_AHEAD
        keep(raw_a, raw_b);
        barrier();
#endif
    }

    // The loop is not unrolled, and selects sums by constant indices, for the reason given in shared.comp
    [[dont_unroll]] for (uint i = 0u; i < 4u * FOURS_M; ++i) {
        uvec4 fours[FOURS_N];
        [[unroll]] for (uint p = 0u; p < 4u * FOURS_M; ++p) {
            if (i == p) fours = sums[p];
        }
        uint m = m0 + (own_m + i / 4u * GROUPS_M) * 4u + i % 4u;
        if (m < M) {
            [[dont_unroll]] for (uint j = 0u; j < FOURS_N; ++j) {
                uvec4 four = fours[0];
                [[unroll]] for (uint p = 1u; p < FOURS_N; ++p) {
                    if (j == p) four = fours[p];
                }
                uint n = n0 + (own_n + j * GROUPS_N) * 4u;
                if (n < N) store_four(at, m, n, four);
            }
        }
    }
}
