#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#pragma use_vulkan_memory_model
// Products of 8-bit integers (see bytes.glsl) on matrix units: a workgroup computes TILE_M x TILE_N of the result, each
// subgroup SUB_M x SUB_N in matrices of MATRIX_M x MATRIX_N, which take MATRIX_K steps of k at once. a and b go through
// shared memory in slabs of TILE_K steps of k, while the next slab is loaded to registers.
#include "prelude.glsl"
#include "gemm/bytes.glsl"

const uint SUBGROUPS_N = TILE_N / SUB_N;
const uint MATRICES_M = SUB_M / MATRIX_M, MATRICES_N = SUB_N / MATRIX_N;
// Vectors per row of a slab, and the row pitch: odd, so that rows begin in different banks.
const uint VECTORS = TILE_K / PER, STEP = VECTORS | 1u;
const uint VECTORS_OF_A = (TILE_M * VECTORS + WORKGROUP - 1u) / WORKGROUP;
const uint VECTORS_OF_B = (TILE_N * VECTORS + WORKGROUP - 1u) / WORKGROUP;

// Shared memory is an array of as many bytes per element as a matrix has steps of k, but at most 16.
#if HALF_VECTORS
#define ELEMENT uvec2
const uint PARTS = 2u;
#define KEEP(tile, i, bits) tile[2u * (i)] = (bits).xy, tile[2u * (i) + 1u] = (bits).zw
#else
#define ELEMENT uvec4
const uint PARTS = 1u;
#define KEEP(tile, i, bits) tile[i] = bits
#endif
shared ELEMENT tile_a[TILE_M * STEP * PARTS];
shared ELEMENT tile_b[TILE_N * STEP * PARTS];
// One matrix of sums per subgroup, staged to be finished.
shared uvec4 staged[TILE_M / SUB_M * SUBGROUPS_N * MATRIX_M * MATRIX_N / 4u];

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
        bool is_mine = TILE_M * VECTORS % WORKGROUP == 0u || row < TILE_M;
        if (is_mine) KEEP(tile_a, row * STEP + k / PER, raw_a[l]);
    }
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_B; ++l) {
        PLACE(l)
        bool is_mine = TILE_N * VECTORS % WORKGROUP == 0u || row < TILE_N;
        if (is_mine) KEEP(tile_b, row * STEP + k / PER, raw_b[l]);
    }
}

#define MATRIX_OF_A coopmat<int8_t, gl_ScopeSubgroup, MATRIX_M, MATRIX_K, gl_MatrixUseA>
#define MATRIX_OF_B coopmat<int8_t, gl_ScopeSubgroup, MATRIX_K, MATRIX_N, gl_MatrixUseB>
#define MATRIX_OF_SUMS coopmat<int, gl_ScopeSubgroup, MATRIX_M, MATRIX_N, gl_MatrixUseAccumulator>

void main() {
    const uint tiles_m = (M + TILE_M - 1u) / TILE_M;
    const uint tiles_n = (N + TILE_N - 1u) / TILE_N;
    uint group = workgroup_index();
    uint tile = group % (tiles_m * tiles_n), batch = group / (tiles_m * tiles_n);
    if (batch >= BATCH) return;  // the whole workgroup returns
    // Tiles are ordered in bands of eight rows, so that concurrent ones share what they read.
    const uint BAND = 8u;
    uint band = tile / (BAND * tiles_n), in_band = tile % (BAND * tiles_n), high = min(BAND, tiles_m - band * BAND);
    uint m0 = (band * BAND + in_band % high) * TILE_M, n0 = in_band / high * TILE_N;
    uint at[RANK];
    coordinates(batch, at);
    uint a0 = a_batch(at);
    uint own_m = gl_SubgroupID / SUBGROUPS_N * SUB_M, own_n = gl_SubgroupID % SUBGROUPS_N * SUB_N;

    LINE lines[VECTORS_OF_B];
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_B; ++l) {
        PLACE(l)
        lines[l] = line_of_b(at, min(n0 + row, N - 1u));
    }
    MATRIX_OF_SUMS sums[MATRICES_M][MATRICES_N];
    [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
        [[unroll]] for (uint n = 0u; n < MATRICES_N; ++n) sums[m][n] = MATRIX_OF_SUMS(0);
    }
    uvec4 raw_a[VECTORS_OF_A], raw_b[VECTORS_OF_B];
    load_a(a0, m0, 0u, raw_a);
    load_b(lines, 0u, raw_b);
    keep(raw_a, raw_b);
    barrier();
    for (uint k0 = 0u; k0 < K; k0 += TILE_K) {
        // After the last slab this reads its end again, which is not added.
        load_a(a0, m0, k0 + TILE_K, raw_a);
        load_b(lines, k0 + TILE_K, raw_b);
        [[unroll]] for (uint k = 0u; k < TILE_K; k += MATRIX_K) {
            MATRIX_OF_A a[MATRICES_M];
            [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
                uint from = ((own_m + m * MATRIX_M) * STEP * PER + k) * PARTS / PER;
                coopMatLoad(a[m], tile_a, from, STEP * PARTS, gl_CooperativeMatrixLayoutRowMajor);
            }
            [[unroll]] for (uint n = 0u; n < MATRICES_N; ++n) {
                MATRIX_OF_B b;
                uint from = ((own_n + n * MATRIX_N) * STEP * PER + k) * PARTS / PER;
                coopMatLoad(b, tile_b, from, STEP * PARTS, gl_CooperativeMatrixLayoutColumnMajor);
                [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) sums[m][n] = coopMatMulAdd(a[m], b, sums[m][n]);
            }
        }
        barrier();
        keep(raw_a, raw_b);
        barrier();
    }

    // One matrix after another, as in cooperative.comp
    const uint FOURS = MATRIX_M * MATRIX_N / 4u;
    uint own = gl_SubgroupID * FOURS;
    [[dont_unroll]] for (uint i = 0u; i < MATRICES_M * MATRICES_N; ++i) {
        [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
            [[unroll]] for (uint n = 0u; n < MATRICES_N; ++n) {
                if (i == m * MATRICES_N + n) {
                    coopMatStore(sums[m][n], staged, own, MATRIX_N / 4u, gl_CooperativeMatrixLayoutRowMajor);
                }
            }
        }
        subgroupBarrier();
        uint down = m0 + own_m + i / MATRICES_N * MATRIX_M, across = n0 + own_n + i % MATRICES_N * MATRIX_N;
        for (uint four = gl_SubgroupInvocationID; four < FOURS; four += gl_SubgroupSize) {
            uint m = down + four / (MATRIX_N / 4u), n = across + four % (MATRIX_N / 4u) * 4u;
            if (m < M && n < N) store_four(at, m, n, staged[own + four]);
        }
        subgroupBarrier();
    }
}
