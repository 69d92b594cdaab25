#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#pragma use_vulkan_memory_model
// result = finish(ALPHA * a x b + BETA * c) of FLOAT16 on matrix units, with sums in float32. A workgroup makes TILE_M x
// TILE_N of result, each of its subgroups SUB_M x SUB_N in matrices of MATRIX_M x MATRIX_N, which take MATRIX_K steps of
// k at once. a and b come as vectors of eight, through shared memory: TILE_K steps of k at a time, while the next are on
// their way to registers. They lie there as they do in memory, along k or across it.
// BUFFERS: slabs in shared memory; with two, one barrier a slab is enough. K_PART, K_PART_STRIDE: as in shared.comp.
#include "prelude.glsl"
#include "gemm/matrix.glsl"

const uint PER = 8u;
const uint SUBGROUPS_N = TILE_N / SUB_N;
const uint MATRICES_M = SUB_M / MATRIX_M, MATRICES_N = SUB_N / MATRIX_N;

// Lines of vectors in a slab, their length, and how far they lie apart: an odd number, so that lines begin in different
// banks.
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

// What an invocation reads of a slab, in vectors.
const uint VECTORS_OF_A = (A_LINES * A_LINE + WORKGROUP - 1u) / WORKGROUP;
const uint VECTORS_OF_B = (B_LINES * B_LINE + WORKGROUP - 1u) / WORKGROUP;

shared uvec4 tile_a[BUFFERS * A_LINES * A_STEP];
shared uvec4 tile_b[BUFFERS * B_LINES * B_STEP];
// A matrix of sums of each subgroup, on its way to be finished.
shared vec4 staged[TILE_M / SUB_M * SUBGROUPS_N * MATRIX_M * MATRIX_N / 4u];

// The first count of a vector's eight elements, zero for the others.
uvec4 first_halves(uvec4 bits, uint count) {
    uvec4 counts = uvec4(count);
    uvec4 low = mix(uvec4(0u), uvec4(0xffffu), greaterThan(counts, uvec4(0u, 2u, 4u, 6u)));
    uvec4 high = mix(uvec4(0u), uvec4(0xffff0000u), greaterThan(counts, uvec4(1u, 3u, 5u, 7u)));
    return bits & (low | high);
}

// As in shared.comp, loads are behind no branch, and what lies beyond the edges is read from the last that is there.
void load_a(uint a0, uint m0, uint k0, uint end, out uvec4 raw[VECTORS_OF_A]) {
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_A; ++l) {
        uint i = l * WORKGROUP + gl_LocalInvocationIndex;
#if A_ALONG == COLUMN
        uint k = min(k0 + i / A_LINE, end - 1u), m = min(m0 + i % A_LINE * PER, (M - 1u) & ~(PER - 1u));
        raw[l] = a_vector((a0 + m + k * A_COLUMN) / PER);
#else
        uint m = min(m0 + i / A_LINE, M - 1u), k = min(k0 + i % A_LINE * PER, (end - 1u) & ~(PER - 1u));
        raw[l] = a_vector((a0 + m * A_ROW + k) / PER);
#endif
    }
}

void load_b(uint b0, uint n0, uint k0, uint end, out uvec4 raw[VECTORS_OF_B]) {
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_B; ++l) {
        uint i = l * WORKGROUP + gl_LocalInvocationIndex;
#if B_ALONG == COLUMN
        uint n = min(n0 + i / B_LINE, N - 1u), k = min(k0 + i % B_LINE * PER, (end - 1u) & ~(PER - 1u));
        raw[l] = b_vector((b0 + n * B_COLUMN + k) / PER);
#else
        uint k = min(k0 + i / B_LINE, end - 1u), n = min(n0 + i % B_LINE * PER, (N - 1u) & ~(PER - 1u));
        raw[l] = b_vector((b0 + n + k * B_ROW) / PER);
#endif
    }
}

// Steps of k from end on are zero in both.
void keep_a(uint buffer_, uint k0, uint end, uvec4 raw[VECTORS_OF_A]) {
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_A; ++l) {
        uint i = l * WORKGROUP + gl_LocalInvocationIndex;
        uvec4 bits = raw[l];
#if A_ALONG == COLUMN
        if (k0 + TILE_K > end && k0 + i / A_LINE >= end) bits = uvec4(0u);
#else
        uint k = k0 + i % A_LINE * PER;
        if (k0 + TILE_K > end) bits = first_halves(bits, max(end, k) - k);
#endif
        bool is_mine = A_LINES * A_LINE % WORKGROUP == 0u || i < A_LINES * A_LINE;
        if (is_mine) tile_a[(buffer_ * A_LINES + i / A_LINE) * A_STEP + i % A_LINE] = bits;
    }
}

void keep_b(uint buffer_, uint k0, uint end, uvec4 raw[VECTORS_OF_B]) {
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_B; ++l) {
        uint i = l * WORKGROUP + gl_LocalInvocationIndex;
        uvec4 bits = raw[l];
#if B_ALONG == COLUMN
        uint k = k0 + i % B_LINE * PER;
        if (k0 + TILE_K > end) bits = first_halves(bits, max(end, k) - k);
#else
        if (k0 + TILE_K > end && k0 + i / B_LINE >= end) bits = uvec4(0u);
#endif
        bool is_mine = B_LINES * B_LINE % WORKGROUP == 0u || i < B_LINES * B_LINE;
        if (is_mine) tile_b[(buffer_ * B_LINES + i / B_LINE) * B_STEP + i % B_LINE] = bits;
    }
}

#define MATRIX_OF_A coopmat<float16_t, gl_ScopeSubgroup, MATRIX_M, MATRIX_K, gl_MatrixUseA>
#define MATRIX_OF_B coopmat<float16_t, gl_ScopeSubgroup, MATRIX_K, MATRIX_N, gl_MatrixUseB>
#define MATRIX_OF_SUMS coopmat<float, gl_ScopeSubgroup, MATRIX_M, MATRIX_N, gl_MatrixUseAccumulator>

void main() {
    const uint tiles_m = (M + TILE_M - 1u) / TILE_M;
    const uint tiles_n = (N + TILE_N - 1u) / TILE_N;
    uint group = workgroup_index();
    uint tile = group % (tiles_m * tiles_n), matrix = group / (tiles_m * tiles_n);
    // Tiles go in bands of BAND rows, so that those under way together share what they read.
    uint band = tile / (BAND * tiles_n), in_band = tile % (BAND * tiles_n), high = min(BAND, tiles_m - band * BAND);
    uint m0 = (band * BAND + in_band % high) * TILE_M, n0 = in_band / high * TILE_N;
    uint batch = matrix % BATCH, begin = matrix / BATCH * K_PART;
    if (begin >= K) return;  // the whole workgroup
    uint end = min(K, begin + K_PART);
    uint at[RANK];
    coordinates(batch, at);
    uint a0 = a_batch(at), b0 = b_batch(at);
    uint own_m = gl_SubgroupID / SUBGROUPS_N * SUB_M, own_n = gl_SubgroupID % SUBGROUPS_N * SUB_N;

    MATRIX_OF_SUMS sums[MATRICES_M][MATRICES_N];
    [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
        [[unroll]] for (uint n = 0u; n < MATRICES_N; ++n) sums[m][n] = MATRIX_OF_SUMS(0.0);
    }
    uvec4 raw_a[VECTORS_OF_A], raw_b[VECTORS_OF_B];
    load_a(a0, m0, begin, end, raw_a);
    load_b(b0, n0, begin, end, raw_b);
    keep_a(0u, begin, end, raw_a);
    keep_b(0u, begin, end, raw_b);
    barrier();
    uint buffer_ = 0u;
    for (uint k0 = begin; k0 < end; k0 += TILE_K) {
        // (Behind the last slab this reads its end again, which nobody adds.)
        load_a(a0, m0, k0 + TILE_K, end, raw_a);
        load_b(b0, n0, k0 + TILE_K, end, raw_b);
        [[unroll]] for (uint k = 0u; k < TILE_K; k += MATRIX_K) {
            MATRIX_OF_A a[MATRICES_M];
            [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
                uint down = own_m + m * MATRIX_M;
#if A_ALONG == COLUMN
                uint from = (buffer_ * A_LINES + k) * A_STEP + down / PER;
                coopMatLoad(a[m], tile_a, from, A_STEP, gl_CooperativeMatrixLayoutColumnMajor);
#else
                uint from = (buffer_ * A_LINES + down) * A_STEP + k / PER;
                coopMatLoad(a[m], tile_a, from, A_STEP, gl_CooperativeMatrixLayoutRowMajor);
#endif
            }
            [[unroll]] for (uint n = 0u; n < MATRICES_N; ++n) {
                MATRIX_OF_B b;
                uint across = own_n + n * MATRIX_N;
#if B_ALONG == COLUMN
                uint from = (buffer_ * B_LINES + across) * B_STEP + k / PER;
                coopMatLoad(b, tile_b, from, B_STEP, gl_CooperativeMatrixLayoutColumnMajor);
#else
                uint from = (buffer_ * B_LINES + k) * B_STEP + across / PER;
                coopMatLoad(b, tile_b, from, B_STEP, gl_CooperativeMatrixLayoutRowMajor);
#endif
                [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) sums[m][n] = coopMatMulAdd(a[m], b, sums[m][n]);
            }
        }
#if BUFFERS == 1
        barrier();
#else
        buffer_ ^= 1u;
#endif
        keep_a(buffer_, k0 + TILE_K, end, raw_a);
        keep_b(buffer_, k0 + TILE_K, end, raw_b);
        barrier();
    }

    // One matrix after another in a loop that stays one, and picks its matrix by constant indices: NVIDIA's compiler does
    // not unroll loops of long bodies, and keeps what they index in memory from the start.
    const uint FOURS = MATRIX_M * MATRIX_N / 4u;
    uint first = result_batch(at) + begin / K_PART * K_PART_STRIDE, own = gl_SubgroupID * FOURS;
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
            if (m < M && n < N) {
#if HAS_C
                uint c_row = c_batch(at) + m * C_ROW;
#else
                const uint c_row = 0u;
#endif
                store_four(first + m * RESULT_ROW, c_row, n, staged[own + four]);
            }
        }
        subgroupBarrier();
    }
}
