#version 450
#extension GL_EXT_control_flow_attributes : require
// result = finish(ALPHA * a x b + BETA * c) without shared memory. An invocation keeps TILE_M x TILE_N sums in
// registers and takes four steps of k at a time. The invocations of a workgroup make neighbouring columns, so that they
// read the same rows of a.
#include "prelude.glsl"
#include "gemm/matrix.glsl"

#if A_ALONG == COLUMN
const uint ROWS = 4u;
#else
const uint ROWS = 1u;
#endif

void main() {
    // Neighbouring workgroups take the same columns of b, which stay in the cache.
    const uint tiles_m = (M + TILE_M - 1u) / TILE_M;
    const uint groups_n = (N + WORKGROUP * TILE_N - 1u) / (WORKGROUP * TILE_N);
    uint group = workgroup_index();
    uint m0 = group % tiles_m * TILE_M;
    uint n0 = (group / tiles_m % groups_n * WORKGROUP + gl_LocalInvocationIndex) * TILE_N;
    uint batch = group / (groups_n * tiles_m);
    if (batch >= BATCH || n0 >= N) return;
    uint at[RANK];
    coordinates(batch, at);

    // Rows and columns beyond the edges read the last ones again; their sums are not stored.
    uint rows[TILE_M], columns[TILE_N];
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) rows[m] = a_batch(at) + min(m0 + m, (M - 1u) / ROWS * ROWS) * A_ROW;
    [[unroll]] for (uint n = 0u; n < TILE_N; ++n) {
#if B_ALONG == ROW
        columns[n] = b_batch(at) + min(n0 + n, (N - 1u) & ~3u);
#else
        columns[n] = b_batch(at) + min(n0 + n, N - 1u) * B_COLUMN;
#endif
    }
    SUM sums[TILE_M][TILE_N];
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
        [[unroll]] for (uint n = 0u; n < TILE_N; ++n) sums[m][n] = SUM(0);
    }

    for (uint k = 0u; k < K / 4u * 4u; k += 4u) {
        SUM b[TILE_N][4];
#if B_ALONG == ROW
        [[unroll]] for (uint q = 0u; q < 4u; ++q) {
            [[unroll]] for (uint n = 0u; n < TILE_N; n += 4u) {
                FOUR four = b_four(columns[n] + (k + q) * B_ROW);
                [[unroll]] for (uint p = 0u; p < 4u; ++p) b[n + p][q] = four[p];
            }
        }
#else
        [[unroll]] for (uint n = 0u; n < TILE_N; ++n) {
#if B_ALONG == COLUMN
            FOUR four = b_four(columns[n] + k);
            [[unroll]] for (uint q = 0u; q < 4u; ++q) b[n][q] = four[q];
#else
            [[unroll]] for (uint q = 0u; q < 4u; ++q) b[n][q] = b_load(columns[n] + (k + q) * B_ROW);
#endif
        }
#endif
        [[unroll]] for (uint m = 0u; m < TILE_M; m += ROWS) {
            FOUR a[ROWS];
#if A_ALONG == COLUMN
            [[unroll]] for (uint q = 0u; q < 4u; ++q) {
                FOUR four = a_four(rows[m] + (k + q) * A_COLUMN);
                [[unroll]] for (uint p = 0u; p < 4u; ++p) a[p][q] = four[p];
            }
#elif A_ALONG == ROW
            a[0] = a_four(rows[m] + k);
#else
            [[unroll]] for (uint q = 0u; q < 4u; ++q) a[0][q] = a_load(rows[m] + (k + q) * A_COLUMN);
#endif
            // k is the innermost loop: a sum is read and written once for four steps.
            [[unroll]] for (uint p = 0u; p < ROWS; ++p) {
                [[unroll]] for (uint n = 0u; n < TILE_N; ++n) {
                    [[unroll]] for (uint q = 0u; q < 4u; ++q) sums[m + p][n] += a[p][q] * b[n][q];
                }
            }
        }
    }
    for (uint k = K / 4u * 4u; k < K; ++k) {
        SUM b[TILE_N];
        [[unroll]] for (uint n = 0u; n < TILE_N; ++n) {
            b[n] = b_load(b_batch(at) + min(n0 + n, N - 1u) * B_COLUMN + k * B_ROW);
        }
        [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
            SUM a = a_load(a_batch(at) + min(m0 + m, M - 1u) * A_ROW + k * A_COLUMN);
            [[unroll]] for (uint n = 0u; n < TILE_N; ++n) sums[m][n] += a * b[n];
        }
    }

    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
        if (m0 + m < M) {
            uint row = result_batch(at) + (m0 + m) * RESULT_ROW;
#if HAS_C
            uint c_row = c_batch(at) + (m0 + m) * C_ROW;
#else
            const uint c_row = 0u;
#endif
            [[unroll]] for (uint n = 0u; n < TILE_N; n += 4u) {
                if (n0 + n < N) {
                    store_four(row, c_row, n0 + n, FOUR(sums[m][n], sums[m][n + 1], sums[m][n + 2], sums[m][n + 3]));
                }
            }
        }
    }
}
