#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#pragma use_vulkan_memory_model
// result = finish(ALPHA * a x b + BETA * c) of FLOAT16 on matrix units, with sums in float32. A workgroup computes
// TILE_M x TILE_N of the result, each subgroup SUB_M x SUB_N in matrices of MATRIX_M x MATRIX_N, which take MATRIX_K
// steps of k at once. a and b are read as vectors of eight and go through shared memory in slabs of TILE_K steps of k,
// in the order they have in memory, along k or across it, while the next slab is loaded to registers. (Double buffering
// in shared memory saves a barrier, but is slower on an H100: workgroups of an SM share 48 KiB.) K_PART, K_PART_STRIDE:
// as in shared.comp. B_STORED: b has numbers of few bits (gemm/stored.glsl), which become FLOAT16 on the way to shared
// memory.
#include "prelude.glsl"
#include "gemm/matrix.glsl"
#include "gemm/first_halves.glsl"
#include "gemm/stored.glsl"
#include "gemm/stored_halves.glsl"

const uint PER = 8u;
const uint SUBGROUPS_N = TILE_N / SUB_N, SUBGROUPS = TILE_M / SUB_M * SUBGROUPS_N;
const uint MATRICES_M = SUB_M / MATRIX_M, MATRICES_N = SUB_N / MATRIX_N;

// Row lengths in vectors, and row pitches: odd, so that rows begin in different banks.
#if A_ALONG == COLUMN
const uint A_LINES = TILE_K, A_LINE = TILE_M / PER;
#else
const uint A_LINES = TILE_M, A_LINE = TILE_K / PER;
#endif
#if B_ALONG == COLUMN
const uint B_LINES = TILE_N, B_LINE = TILE_K / PER;
#else
const uint B_LINES = TILE_K, B_LINE = TILE_N / PER;
#endif
const uint A_STEP = A_LINE | 1u, B_STEP = B_LINE | 1u;

// Vectors of a slab that an invocation loads.
const uint VECTORS_OF_A = (A_LINES * A_LINE + WORKGROUP - 1u) / WORKGROUP;
const uint VECTORS_OF_B = (B_LINES * B_LINE + WORKGROUP - 1u) / WORKGROUP;

// The slab of a, then that of b.
const uint B_SLAB = A_LINES * A_STEP, SLABS = B_SLAB + B_LINES * B_STEP;
#include "gemm/slabs.glsl"

// This invocation's vectors of the next slab, and their positions at the first step of k (of stored numbers: columns).
uvec4 next_a[VECTORS_OF_A], next_b[VECTORS_OF_B];
uint from_a[VECTORS_OF_A], from_b[VECTORS_OF_B];

uint vector_of(uint l) { return l * WORKGROUP + gl_LocalInvocationIndex; }

// Beyond the edges the last existing vector is read.
void begin_loads(uint a0, uint b0, uint m0, uint n0) {
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_A; ++l) {
#if A_ALONG == COLUMN
        from_a[l] = (a0 + min(m0 + vector_of(l) % A_LINE * PER, (M - 1u) & ~(PER - 1u))) / PER;
#else
        from_a[l] = (a0 + min(m0 + vector_of(l) / A_LINE, M - 1u) * A_ROW) / PER;
#endif
    }
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_B; ++l) {
#if B_STORED
        from_b[l] = min(n0 + vector_of(l) / B_LINE, N - 1u);
#elif B_ALONG == COLUMN
        from_b[l] = (b0 + min(n0 + vector_of(l) / B_LINE, N - 1u) * B_COLUMN) / PER;
#else
        from_b[l] = (b0 + min(n0 + vector_of(l) % B_LINE * PER, (N - 1u) & ~(PER - 1u))) / PER;
#endif
    }
}

// Loads the next slab, without branches, as in shared.comp.
void load(uint k0, uint end) {
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_A; ++l) {
#if A_ALONG == COLUMN
        next_a[l] = a_vector(from_a[l] + min(k0 + vector_of(l) / A_LINE, end - 1u) * (A_COLUMN / PER));
#else
        next_a[l] = a_vector(from_a[l] + min(k0 / PER + vector_of(l) % A_LINE, (end - 1u) / PER));
#endif
    }
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_B; ++l) {
#if B_STORED
        next_b[l] = stored_numbers(from_b[l], min(k0 / PER + vector_of(l) % B_LINE, (end - 1u) / PER) * PER, PER);
#elif B_ALONG == COLUMN
        next_b[l] = b_vector(from_b[l] + min(k0 / PER + vector_of(l) % B_LINE, (end - 1u) / PER));
#else
        next_b[l] = b_vector(from_b[l] + min(k0 + vector_of(l) / B_LINE, end - 1u) * (B_ROW / PER));
#endif
    }
}

// Zeroes the steps of k starting at end in both slabs.
void cut_off(uint k0, uint end) {
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_A; ++l) {
#if A_ALONG == COLUMN
        if (k0 + vector_of(l) / A_LINE >= end) next_a[l] = uvec4(0u);
#else
        uint k = k0 + vector_of(l) % A_LINE * PER;
        next_a[l] = first_halves(next_a[l], max(end, k) - k);
#endif
    }
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_B; ++l) {
#if B_STORED
        if (k0 + vector_of(l) % B_LINE * PER >= end) next_b[l].z = 0u;  // the scale
#elif B_ALONG == COLUMN
        uint k = k0 + vector_of(l) % B_LINE * PER;
        next_b[l] = first_halves(next_b[l], max(end, k) - k);
#else
        if (k0 + vector_of(l) / B_LINE >= end) next_b[l] = uvec4(0u);
#endif
    }
}

void keep(uint k0, uint end) {
    if (k0 + TILE_K > end) cut_off(k0, end);
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_A; ++l) {
        uint i = vector_of(l);
        bool is_mine = A_LINES * A_LINE % WORKGROUP == 0u || i < A_LINES * A_LINE;
        if (is_mine) slabs[i / A_LINE * A_STEP + i % A_LINE] = next_a[l];
    }
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_B; ++l) {
        uint i = vector_of(l);
        bool is_mine = B_LINES * B_LINE % WORKGROUP == 0u || i < B_LINES * B_LINE;
#if B_STORED
        uvec4 eight = eight_stored(next_b[l]);
#else
        uvec4 eight = next_b[l];
#endif
        if (is_mine) slabs[B_SLAB + i / B_LINE * B_STEP + i % B_LINE] = eight;
    }
}

#define ALL_M M
#define ALL_N N
#if HAS_C
#define STORE_FOUR(m, n, four) \
    uint c_row = c_batch(at) + m * C_ROW; \
    store_four(first + m * RESULT_ROW, c_row, n, four);
#else
#define STORE_FOUR(m, n, four) store_four(first + m * RESULT_ROW, 0u, n, four);
#endif

void main() {
    const uint tiles_m = (M + TILE_M - 1u) / TILE_M;
    const uint tiles_n = (N + TILE_N - 1u) / TILE_N;
    uint group = workgroup_index();
    uint tile = group % (tiles_m * tiles_n), matrix = group / (tiles_m * tiles_n);
    // Tiles are ordered in bands of BAND rows, so that concurrent ones share what they read.
    uint band = tile / (BAND * tiles_n), in_band = tile % (BAND * tiles_n), high = min(BAND, tiles_m - band * BAND);
    uint m0 = (band * BAND + in_band % high) * TILE_M, n0 = in_band / high * TILE_N;
    uint batch = matrix % BATCH, begin = matrix / BATCH * K_PART;
    if (begin >= K) return;  // the whole workgroup returns
    uint end = min(K, begin + K_PART);
    uint at[RANK];
    coordinates(batch, at);
    uint own_m = gl_SubgroupID / SUBGROUPS_N * SUB_M, own_n = gl_SubgroupID % SUBGROUPS_N * SUB_N;

    MATRIX_OF_SUMS sums[MATRICES_M][MATRICES_N];
    [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
        [[unroll]] for (uint n = 0u; n < MATRICES_N; ++n) sums[m][n] = MATRIX_OF_SUMS(0.0);
    }
#if B_STORED
    begin_stored(at);
#endif
    begin_loads(a_batch(at), b_batch(at), m0, n0);
    load(begin, end);
    keep(begin, end);
    barrier();
    for (uint k0 = begin; k0 < end; k0 += TILE_K) {
        // After the last slab this reads its end again, which is not added.
        load(k0 + TILE_K, end);
        [[unroll]] for (uint k = 0u; k < TILE_K; k += MATRIX_K) {
            MATRIX_OF_A a[MATRICES_M];
            [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
                uint down = own_m + m * MATRIX_M;
#if A_ALONG == COLUMN
                coopMatLoad(a[m], slabs, k * A_STEP + down / PER, A_STEP, gl_CooperativeMatrixLayoutColumnMajor);
#else
                coopMatLoad(a[m], slabs, down * A_STEP + k / PER, A_STEP, gl_CooperativeMatrixLayoutRowMajor);
#endif
            }
            [[unroll]] for (uint n = 0u; n < MATRICES_N; ++n) {
                MATRIX_OF_B b;
                uint across = own_n + n * MATRIX_N;
#if B_ALONG == COLUMN
                uint from = B_SLAB + across * B_STEP + k / PER;
                coopMatLoad(b, slabs, from, B_STEP, gl_CooperativeMatrixLayoutColumnMajor);
#else
                uint from = B_SLAB + k * B_STEP + across / PER;
                coopMatLoad(b, slabs, from, B_STEP, gl_CooperativeMatrixLayoutRowMajor);
#endif
                [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) sums[m][n] = coopMatMulAdd(a[m], b, sums[m][n]);
            }
        }
        barrier();
        if (k0 + TILE_K < end) {  // the same for the whole workgroup
            keep(k0 + TILE_K, end);
            barrier();
        }
    }

    uint first = result_batch(at) + begin / K_PART * K_PART_STRIDE;
    #include "gemm/store_matrices.glsl"
}
