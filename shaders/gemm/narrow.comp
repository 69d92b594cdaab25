#version 450
#extension GL_EXT_control_flow_attributes : require
// result = finish(ALPHA * a x b + BETA * c) for results of few rows. A workgroup computes TILE_M rows of LANES columns.
// SLICES invocations share the products of each column; their sums are then added in pairs, in a fixed order. K_FIRST:
// adjacent invocations take adjacent k, else adjacent columns.
#include "prelude.glsl"
#include "gemm/matrix.glsl"

// Load four steps of k, 4 * k4 to 4 * k4 + 3, of a row of a or of a column of b that begins at element `first`.
// (Loops move what depends on `first` alone out.)
FOUR steps_of_a(uint first, uint k4) {
#if A_ALONG == ROW && A_WIDE
    return FOUR_OF_BITS(a_vector(first / 4u + k4));
#elif A_ALONG == ROW
    return a_four(first + k4 * 4u);
#else
    uint i = first + k4 * 4u * A_COLUMN;
    return FOUR(a_load(i), a_load(i + A_COLUMN), a_load(i + 2u * A_COLUMN), a_load(i + 3u * A_COLUMN));
#endif
}

FOUR steps_of_b(uint first, uint k4) {
#if B_ALONG == COLUMN && B_WIDE
    return FOUR_OF_BITS(b_vector(first / 4u + k4));
#elif B_ALONG == COLUMN
    return b_four(first + k4 * 4u);
#else
    uint i = first + k4 * 4u * B_ROW;
    return FOUR(b_load(i), b_load(i + B_ROW), b_load(i + 2u * B_ROW), b_load(i + 3u * B_ROW));
#endif
}

shared SUM partial[TILE_M][SLICES][LANES];

void main() {
    const uint tiles_m = (M + TILE_M - 1u) / TILE_M;
    const uint groups_n = (N + LANES - 1u) / LANES;
    uint group = workgroup_index();
    uint lane = K_FIRST ? gl_LocalInvocationIndex / SLICES : gl_LocalInvocationIndex % LANES;
    uint slice = K_FIRST ? gl_LocalInvocationIndex % SLICES : gl_LocalInvocationIndex / LANES;
    uint n = group % groups_n * LANES + lane;
    uint m0 = group / groups_n % tiles_m * TILE_M;
    uint batch = group / (groups_n * tiles_m);
    if (batch >= BATCH) return;  // the whole workgroup returns
    uint at[RANK];
    coordinates(batch, at);

    uint rows[TILE_M], column = b_batch(at) + min(n, N - 1u) * B_COLUMN;
    SUM sums[TILE_M];
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
        rows[m] = a_batch(at) + min(m0 + m, M - 1u) * A_ROW;
        sums[m] = SUM(0);
    }
#if A_ALONG == ROW || B_ALONG == COLUMN
    uint k4 = slice;
    for (; k4 < K / 4u; k4 += SLICES) {
        FOUR b = steps_of_b(column, k4);
        [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
            FOUR a = steps_of_a(rows[m], k4);
            [[unroll]] for (uint q = 0u; q < 4u; ++q) sums[m] += a[q] * b[q];
        }
    }
    // One slice has the last K % 4 steps.
    for (uint k = k4 * 4u; k < K; ++k) {
#else
    for (uint k = slice; k < K; k += SLICES) {
#endif
        SUM b = b_load(column + k * B_ROW);
        [[unroll]] for (uint m = 0u; m < TILE_M; ++m) sums[m] += a_load(rows[m] + k * A_COLUMN) * b;
    }
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) partial[m][slice][lane] = sums[m];
    for (uint half_of = SLICES / 2u; half_of > 0u; half_of /= 2u) {
        barrier();
        if (slice < half_of) {
            [[unroll]] for (uint m = 0u; m < TILE_M; ++m) partial[m][slice][lane] += partial[m][slice + half_of][lane];
        }
    }
    // The first slice added the last pairs itself, so it needs no barrier to read them.
    if (slice != 0u || n >= N) return;
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
        if (m0 + m < M) {
#if HAS_C
            uint c_row = c_batch(at) + (m0 + m) * C_ROW;
#else
            const uint c_row = 0u;
#endif
            uint i = result_batch(at) + (m0 + m) * RESULT_ROW + n * RESULT_COLUMN;
            result_store(i, finished(partial[m][0][lane], c_row, n));
        }
    }
}
