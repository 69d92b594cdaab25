#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#pragma use_vulkan_memory_model
// result = finish(ALPHA * a x b + BETA * c) in FLOAT16 on matrix units, for results of few rows, bound by reading b.
// The columns of b are the rows of the matrices' first factor, and the rows of a the columns of the second, at most
// MATRIX_N. Elements of a are contiguous along k, those of b along k or across it, read in vectors of eight. A
// workgroup computes MATRICES * MATRIX_M columns; its subgroups alternate along k, SLAB steps each, through their own
// shared memory, while the next slab is loaded to registers. Their sums are then added in a fixed order. K_PART,
// K_PART_STRIDE: as in shared.comp.
#include "prelude.glsl"
#include "gemm/matrix.glsl"
#include "gemm/first_halves.glsl"

const uint PER = 8u;
const uint SUBGROUP_SIZE = WORKGROUP / SUBGROUPS;
const uint COLUMNS = MATRICES * MATRIX_M;
// Row lengths in vectors of a subgroup's slab, and row pitches: odd, so that rows begin in different banks.
const uint A_LINES = MATRIX_N, A_LINE = SLAB / PER, A_STEP = A_LINE | 1u;
#if B_ALONG == COLUMN
const uint B_LINES = COLUMNS, B_LINE = SLAB / PER;
#else
const uint B_LINES = SLAB, B_LINE = COLUMNS / PER;
#endif
const uint B_STEP = B_LINE | 1u;
const uint VECTORS_OF_A = (A_LINES * A_LINE + SUBGROUP_SIZE - 1u) / SUBGROUP_SIZE;
const uint VECTORS_OF_B = (B_LINES * B_LINE + SUBGROUP_SIZE - 1u) / SUBGROUP_SIZE;

shared uvec4 slab_a[SUBGROUPS * A_LINES * A_STEP];
shared uvec4 slab_b[SUBGROUPS * B_LINES * B_STEP];
// The sums of each subgroup: rows of the result.
shared vec4 staged[SUBGROUPS * MATRICES * MATRIX_N * MATRIX_M / 4u];

// Loads a subgroup's slab, without branches: beyond the edges the last existing element is read.
void load_slab(uint a0, uint b0, uint m0, uint n0, uint k0, uint end, out uvec4 a[VECTORS_OF_A],
               out uvec4 b[VECTORS_OF_B]) {
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_B; ++l) {
        uint i = l * SUBGROUP_SIZE + gl_SubgroupInvocationID;
#if B_ALONG == COLUMN
        uint n = min(n0 + i / B_LINE, N - 1u), k = min(k0 + i % B_LINE * PER, (end - 1u) & ~(PER - 1u));
        b[l] = b_vector((b0 + n * B_COLUMN + k) / PER);
#else
        uint k = min(k0 + i / B_LINE, end - 1u), n = min(n0 + i % B_LINE * PER, (N - 1u) & ~(PER - 1u));
        b[l] = b_vector((b0 + n + k * B_ROW) / PER);
#endif
    }
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_A; ++l) {
        uint i = l * SUBGROUP_SIZE + gl_SubgroupInvocationID;
        uint m = min(m0 + i / A_LINE, M - 1u), k = min(k0 + i % A_LINE * PER, (end - 1u) & ~(PER - 1u));
        a[l] = a_vector((a0 + m * A_ROW + k) / PER);
    }
}

// Stores a slab to shared memory; the steps of k starting at end are zero.
void keep_slab(uint k0, uint end, uvec4 a[VECTORS_OF_A], uvec4 b[VECTORS_OF_B]) {
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_B; ++l) {
        uint i = l * SUBGROUP_SIZE + gl_SubgroupInvocationID;
        uvec4 bits = b[l];
#if B_ALONG == COLUMN
        uint k = k0 + i % B_LINE * PER;
        if (k0 + SLAB > end) bits = first_halves(bits, max(end, k) - k);
#else
        if (k0 + SLAB > end && k0 + i / B_LINE >= end) bits = uvec4(0u);
#endif
        bool is_mine = B_LINES * B_LINE % SUBGROUP_SIZE == 0u || i < B_LINES * B_LINE;
        if (is_mine) slab_b[(gl_SubgroupID * B_LINES + i / B_LINE) * B_STEP + i % B_LINE] = bits;
    }
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_A; ++l) {
        uint i = l * SUBGROUP_SIZE + gl_SubgroupInvocationID, k = k0 + i % A_LINE * PER;
        uvec4 bits = a[l];
        if (k0 + SLAB > end) bits = first_halves(bits, max(end, k) - k);
        bool is_mine = A_LINES * A_LINE % SUBGROUP_SIZE == 0u || i < A_LINES * A_LINE;
        if (is_mine) slab_a[(gl_SubgroupID * A_LINES + i / A_LINE) * A_STEP + i % A_LINE] = bits;
    }
}

#define MATRIX_OF_B coopmat<float16_t, gl_ScopeSubgroup, MATRIX_M, MATRIX_K, gl_MatrixUseA>
#define MATRIX_OF_A coopmat<float16_t, gl_ScopeSubgroup, MATRIX_K, MATRIX_N, gl_MatrixUseB>
#define MATRIX_OF_SUMS coopmat<float, gl_ScopeSubgroup, MATRIX_M, MATRIX_N, gl_MatrixUseAccumulator>

void main() {
    const uint tiles_m = (M + MATRIX_N - 1u) / MATRIX_N;
    const uint tiles_n = (N + COLUMNS - 1u) / COLUMNS;
    uint group = workgroup_index();
    uint n0 = group % tiles_n * COLUMNS, m0 = group / tiles_n % tiles_m * MATRIX_N;
    uint matrix = group / (tiles_n * tiles_m);
    uint batch = matrix % BATCH, begin = matrix / BATCH * K_PART;
    if (begin >= K) return;  // the whole workgroup returns
    uint end = min(K, begin + K_PART);
    uint at[RANK];
    coordinates(batch, at);
    uint a0 = a_batch(at), b0 = b_batch(at);

    MATRIX_OF_SUMS sums[MATRICES];
    [[unroll]] for (uint i = 0u; i < MATRICES; ++i) sums[i] = MATRIX_OF_SUMS(0.0);
    uvec4 a[VECTORS_OF_A], b[VECTORS_OF_B];
    load_slab(a0, b0, m0, n0, begin + gl_SubgroupID * SLAB, end, a, b);
    // All subgroups run the same number of rounds: lavapipe 26.1.6 runs skipped ones with no active invocation.
    for (uint all_ = begin; all_ < end; all_ += SUBGROUPS * SLAB) {
        uint k0 = all_ + gl_SubgroupID * SLAB;
        subgroupBarrier();  // the previous slab has been read
        keep_slab(k0, end, a, b);
        subgroupBarrier();
        // After the last slab this reads its end again, which is not added.
        load_slab(a0, b0, m0, n0, k0 + SUBGROUPS * SLAB, end, a, b);
        [[unroll]] for (uint k = 0u; k < SLAB; k += MATRIX_K) {
            MATRIX_OF_A rows;
            uint from_a = gl_SubgroupID * A_LINES * A_STEP + k / PER;
            coopMatLoad(rows, slab_a, from_a, A_STEP, gl_CooperativeMatrixLayoutColumnMajor);
            [[unroll]] for (uint i = 0u; i < MATRICES; ++i) {
                MATRIX_OF_B columns;
#if B_ALONG == COLUMN
                uint from_b = (gl_SubgroupID * B_LINES + i * MATRIX_M) * B_STEP + k / PER;
                coopMatLoad(columns, slab_b, from_b, B_STEP, gl_CooperativeMatrixLayoutRowMajor);
#else
                uint from_b = (gl_SubgroupID * B_LINES + k) * B_STEP + i * MATRIX_M / PER;
                coopMatLoad(columns, slab_b, from_b, B_STEP, gl_CooperativeMatrixLayoutColumnMajor);
#endif
                sums[i] = coopMatMulAdd(columns, rows, sums[i]);
            }
        }
    }
    const uint FOURS = COLUMNS / 4u, ALL = FOURS * MATRIX_N;
    [[unroll]] for (uint i = 0u; i < MATRICES; ++i) {
        uint to = gl_SubgroupID * ALL + i * (MATRIX_M / 4u);
        coopMatStore(sums[i], staged, to, FOURS, gl_CooperativeMatrixLayoutColumnMajor);
    }
    barrier();
    uint first = result_batch(at) + begin / K_PART * K_PART_STRIDE;
    for (uint i = gl_LocalInvocationIndex; i < ALL; i += WORKGROUP) {
        uint m = m0 + i / FOURS, n = n0 + i % FOURS * 4u;
        FOUR sum = staged[i];
        [[unroll]] for (uint s = 1u; s < SUBGROUPS; ++s) sum += staged[s * ALL + i];
        if (m < M && n < N) {
#if HAS_C
            uint c_row = c_batch(at) + m * C_ROW;
#else
            const uint c_row = 0u;
#endif
            store_four(first + m * RESULT_ROW, c_row, n, sum);
        }
    }
}
