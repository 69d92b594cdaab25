#version 450
#extension GL_EXT_control_flow_attributes : require
// result = finish(ALPHA * a x b + BETA * c) for results of few rows. A workgroup computes TILE_M rows of LANES columns.
// SLICES invocations share the products of each column; their sums are then added in pairs, in a fixed order. K_FIRST:
// adjacent invocations take adjacent k, else adjacent columns. A_EIGHTS, B_EIGHTS: rows of a or columns of b are FLOAT16
// and read in vectors of eight.
#include "prelude.glsl"
#include "gemm/matrix.glsl"

// Steps of k in a vector of a and of b, 1 if they are read one by one, and in a round of the loop.
#if A_EIGHTS
const uint A_PER = 8u;
#elif A_WIDE && A_ALONG == ROW
const uint A_PER = 4u;
#else
const uint A_PER = 1u;
#endif
#if B_EIGHTS
const uint B_PER = 8u;
#elif B_WIDE && B_ALONG == COLUMN
const uint B_PER = 4u;
#else
const uint B_PER = 1u;
#endif
const uint STEPS = max(A_PER, B_PER);

#if A_EIGHTS || B_EIGHTS
float[8] eight_of(uvec4 bits) {
    float eight[8];
    [[unroll]] for (uint p = 0u; p < 4u; ++p) {
        vec2 pair = half_pair(bits[p]);
        eight[2u * p] = pair.x;
        eight[2u * p + 1u] = pair.y;
    }
    return eight;
}
#endif

// Loads STEPS steps, from k on, of the row of a (or the column of b) that begins at `first`.
SUM[STEPS] steps_of_a(uint first, uint k) {
#if A_EIGHTS
    return eight_of(a_vector(first + k / A_PER));
#else
    SUM steps[STEPS];
#if A_WIDE && A_ALONG == ROW
    [[unroll]] for (uint i = 0u; i < STEPS; i += 4u) {
        FOUR four = FOUR_OF_BITS(a_vector(first + k / A_PER + i / 4u));
        [[unroll]] for (uint q = 0u; q < 4u; ++q) steps[i + q] = four[q];
    }
#else
    [[unroll]] for (uint i = 0u; i < STEPS; ++i) steps[i] = a_load(first + (k + i) * A_COLUMN);
#endif
    return steps;
#endif
}

SUM[STEPS] steps_of_b(uint first, uint k) {
#if B_EIGHTS
    return eight_of(b_vector(first + k / B_PER));
#else
    SUM steps[STEPS];
#if B_WIDE && B_ALONG == COLUMN
    [[unroll]] for (uint i = 0u; i < STEPS; i += 4u) {
        FOUR four = FOUR_OF_BITS(b_vector(first + k / B_PER + i / 4u));
        [[unroll]] for (uint q = 0u; q < 4u; ++q) steps[i + q] = four[q];
    }
#else
    [[unroll]] for (uint i = 0u; i < STEPS; ++i) steps[i] = b_load(first + (k + i) * B_ROW);
#endif
    return steps;
#endif
}

shared SUM partial[TILE_M][SLICES][LANES];

void main() {
    const uint tiles_m = (M + TILE_M - 1u) / TILE_M;
    const uint groups_n = (N + LANES - 1u) / LANES;
    uint group = workgroup_index();
    uint lane = K_FIRST ? gl_LocalInvocationIndex / SLICES : gl_LocalInvocationIndex % LANES;
    uint slice = K_FIRST ? gl_LocalInvocationIndex % SLICES : gl_LocalInvocationIndex / LANES;
    // Adjacent workgroups take other rows of the same columns.
    uint m0 = group % tiles_m * TILE_M;
    uint n = group / tiles_m % groups_n * LANES + lane;
    uint batch = group / (groups_n * tiles_m);
    if (batch >= BATCH) return;  // the whole workgroup returns
    uint at[RANK];
    coordinates(batch, at);

    uint rows[TILE_M], column = (b_batch(at) + min(n, N - 1u) * B_COLUMN) / B_PER;
    SUM sums[TILE_M];
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
        rows[m] = (a_batch(at) + min(m0 + m, M - 1u) * A_ROW) / A_PER;
        sums[m] = SUM(0);
    }
    uint k = slice * STEPS, whole = K / STEPS * STEPS;
    for (; k < whole; k += SLICES * STEPS) {
        SUM b[STEPS] = steps_of_b(column, k);
        [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
            SUM a[STEPS] = steps_of_a(rows[m], k);
            [[unroll]] for (uint i = 0u; i < STEPS; ++i) sums[m] += a[i] * b[i];
        }
    }
    // The steps of k after the last whole vectors are added by one slice.
    if (STEPS > 1u) {
        for (; k < K; ++k) {
            SUM b = b_load(column * B_PER + k * B_ROW);
            [[unroll]] for (uint m = 0u; m < TILE_M; ++m) sums[m] += a_load(rows[m] * A_PER + k * A_COLUMN) * b;
        }
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
