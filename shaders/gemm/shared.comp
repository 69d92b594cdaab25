#version 450
#extension GL_EXT_control_flow_attributes : require
// result = finish(ALPHA * a x b + BETA * c) through shared memory, for devices whose invocations share a cache poorly.
// A workgroup makes TILE_M x TILE_N of result and loads TILE_K steps of k at a time. An invocation keeps 4 * FOURS_M x
// 4 * FOURS_N sums in registers: blocks of 4 x 4 that lie GROUPS_M blocks apart down and GROUPS_N across, so that
// neighbouring invocations read neighbouring words.
#include "prelude.glsl"
#include "gemm/matrix.glsl"

const uint GROUPS_M = TILE_M / (4u * FOURS_M);
const uint GROUPS_N = TILE_N / (4u * FOURS_N);

// [k][m / 4] and [k][n / 4]; rows are a block longer than needed, so that writes along k go to different banks.
shared FOUR tile_a[TILE_K][TILE_M / 4u + 1u];
shared FOUR tile_b[TILE_K][TILE_N / 4u + 1u];

// Unrolled, AMD's compiler begins all steps' integer products before it adds any: 160 registers and more, or spills.
#if SUM_IS_INT
#define STEPS_OF_K [[dont_unroll]]
#else
#define STEPS_OF_K [[unroll]]
#endif

void load_a(uint a0, uint m0, uint k0) {
#if A_ALONG == COLUMN
    for (uint i = gl_LocalInvocationIndex; i < TILE_K * TILE_M / 4u; i += WORKGROUP) {
        uint k = i / (TILE_M / 4u), m = i % (TILE_M / 4u);
        FOUR four = FOUR(0);
        if (k0 + k < K && m0 + 4u * m < M) four = a_four(a0 + (k0 + k) * A_COLUMN + m0 + 4u * m);
        tile_a[k][m] = four;
    }
#elif A_ALONG == ROW
    for (uint i = gl_LocalInvocationIndex; i < TILE_M * TILE_K / 4u; i += WORKGROUP) {
        uint m = i / (TILE_K / 4u), k = i % (TILE_K / 4u) * 4u;
        FOUR four = FOUR(0);
        uint at = a0 + (m0 + m) * A_ROW + k0 + k;
        if (m0 + m < M && k0 + k + 4u <= K) four = a_four(at);
        else if (m0 + m < M) for (uint q = 0u; k0 + k + q < K; ++q) four[q] = a_load(at + q);
        [[unroll]] for (uint q = 0u; q < 4u; ++q) tile_a[k + q][m / 4u][m % 4u] = four[q];
    }
#else
    for (uint i = gl_LocalInvocationIndex; i < TILE_M * TILE_K; i += WORKGROUP) {
        uint m = A_ALONG_M ? i % TILE_M : i / TILE_K, k = A_ALONG_M ? i / TILE_M : i % TILE_K;
        bool inside = m0 + m < M && k0 + k < K;
        tile_a[k][m / 4u][m % 4u] = inside ? a_load(a0 + (m0 + m) * A_ROW + (k0 + k) * A_COLUMN) : SUM(0);
    }
#endif
}

void load_b(uint b0, uint n0, uint k0) {
#if B_ALONG == ROW
    for (uint i = gl_LocalInvocationIndex; i < TILE_K * TILE_N / 4u; i += WORKGROUP) {
        uint k = i / (TILE_N / 4u), n = i % (TILE_N / 4u);
        FOUR four = FOUR(0);
        if (k0 + k < K && n0 + 4u * n < N) four = b_four(b0 + (k0 + k) * B_ROW + n0 + 4u * n);
        tile_b[k][n] = four;
    }
#elif B_ALONG == COLUMN
    for (uint i = gl_LocalInvocationIndex; i < TILE_N * TILE_K / 4u; i += WORKGROUP) {
        uint n = i / (TILE_K / 4u), k = i % (TILE_K / 4u) * 4u;
        FOUR four = FOUR(0);
        uint at = b0 + (n0 + n) * B_COLUMN + k0 + k;
        if (n0 + n < N && k0 + k + 4u <= K) four = b_four(at);
        else if (n0 + n < N) for (uint q = 0u; k0 + k + q < K; ++q) four[q] = b_load(at + q);
        [[unroll]] for (uint q = 0u; q < 4u; ++q) tile_b[k + q][n / 4u][n % 4u] = four[q];
    }
#else
    for (uint i = gl_LocalInvocationIndex; i < TILE_N * TILE_K; i += WORKGROUP) {
        uint n = B_ALONG_N ? i % TILE_N : i / TILE_K, k = B_ALONG_N ? i / TILE_N : i % TILE_K;
        bool inside = n0 + n < N && k0 + k < K;
        tile_b[k][n / 4u][n % 4u] = inside ? b_load(b0 + (n0 + n) * B_COLUMN + (k0 + k) * B_ROW) : SUM(0);
    }
#endif
}

void main() {
    const uint tiles_m = (M + TILE_M - 1u) / TILE_M;
    const uint tiles_n = (N + TILE_N - 1u) / TILE_N;
    uint group = workgroup_index();
    uint n0 = group % tiles_n * TILE_N;
    uint m0 = group / tiles_n % tiles_m * TILE_M;
    uint batch = group / (tiles_n * tiles_m);
    if (batch >= BATCH) return;
    uint at[RANK];
    coordinates(batch, at);
    uint a0 = a_batch(at), b0 = b_batch(at);
    uint own_n = gl_LocalInvocationIndex % GROUPS_N, own_m = gl_LocalInvocationIndex / GROUPS_N;

    FOUR sums[4u * FOURS_M][FOURS_N];
    [[unroll]] for (uint m = 0u; m < 4u * FOURS_M; ++m) {
        [[unroll]] for (uint n = 0u; n < FOURS_N; ++n) sums[m][n] = FOUR(0);
    }
    for (uint k0 = 0u; k0 < K; k0 += TILE_K) {
        load_a(a0, m0, k0);
        load_b(b0, n0, k0);
        barrier();
        STEPS_OF_K for (uint k = 0u; k < TILE_K; ++k) {
            FOUR a[FOURS_M], b[FOURS_N];
            [[unroll]] for (uint m = 0u; m < FOURS_M; ++m) a[m] = tile_a[k][own_m + m * GROUPS_M];
            [[unroll]] for (uint n = 0u; n < FOURS_N; ++n) b[n] = tile_b[k][own_n + n * GROUPS_N];
            [[unroll]] for (uint m = 0u; m < 4u * FOURS_M; ++m) {
                [[unroll]] for (uint n = 0u; n < FOURS_N; ++n) sums[m][n] += a[m / 4u][m % 4u] * b[n];
            }
        }
        barrier();
    }

    [[unroll]] for (uint i = 0u; i < 4u * FOURS_M; ++i) {
        uint m = m0 + (own_m + i / 4u * GROUPS_M) * 4u + i % 4u;
        if (m < M) {
            uint row = result_batch(at) + m * RESULT_ROW;
#if HAS_C
            uint c_row = c_batch(at) + m * C_ROW;
#else
            const uint c_row = 0u;
#endif
            [[unroll]] for (uint j = 0u; j < FOURS_N; ++j) {
                uint n = n0 + (own_n + j * GROUPS_N) * 4u;
                if (n < N) store_four(row, c_row, n, sums[i][j]);
            }
        }
    }
}
