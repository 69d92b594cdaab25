#version 450
#extension GL_EXT_control_flow_attributes : require
#if SHARES_ROWS
#extension GL_KHR_shader_subgroup_ballot : require
#endif
// result = finish(ALPHA * a x b + BETA * c) without shared memory. An invocation keeps TILE_M x TILE_N sums in
// registers and takes four steps of k at a time. A workgroup's invocations compute adjacent columns, so that they read
// the same rows of a. SHARES_ROWS: they are a subgroup of eight; each reads every eighth row and broadcasts it.
// B_IN_PARTS: the bound part of b lacks the matrices of some batch elements, which other dispatches compute.
#include "prelude.glsl"
#include "gemm/matrix.glsl"
#include "lib/sums.glsl"

#if A_ALONG == COLUMN
const uint ROWS = 4u;
#else
const uint ROWS = 1u;
#endif

// Offset of column n of an invocation's tile: adjacent invocations have adjacent blocks of four columns.
#define COLUMN_OFFSET(n) ((n) / 4u * (4u * WORKGROUP) + (n) % 4u)

void main() {
    // Adjacent workgroups take the same columns of b, which stay in the cache.
    const uint tiles_m = (M + TILE_M - 1u) / TILE_M;
    const uint groups_n = (N + WORKGROUP * TILE_N - 1u) / (WORKGROUP * TILE_N);
    uint group = workgroup_index();
    uint m0 = group % tiles_m * TILE_M;
    uint n0 = group / tiles_m % groups_n * (WORKGROUP * TILE_N) + 4u * gl_LocalInvocationIndex;
    uint batch = group / (groups_n * tiles_m);
    // Invocations outside do not return, since after a return lavapipe masks every write: they compute sums without
    // storing them, and workgroups outside compute none.
    uint at[RANK];
    coordinates(min(batch, BATCH - 1u), at);
    bool works = batch < BATCH;
#if B_IN_PARTS
    works = works && b_is_bound(at);
#endif
    uint depth = works ? K : 0u, tile_rows = works && n0 < N ? min(TILE_M, M - m0) : 0u;

    // Rows and columns beyond the edges repeat the last ones; their sums are not stored.
    uint rows[TILE_M], columns[TILE_N];
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) rows[m] = a_batch(at) + min(m0 + m, (M - 1u) / ROWS * ROWS) * A_ROW;
    [[unroll]] for (uint n = 0u; n < TILE_N; ++n) {
#if B_ALONG == ROW
        columns[n] = b_batch(at) + min(n0 + COLUMN_OFFSET(n), (N - 1u) & ~3u);
#else
        columns[n] = b_batch(at) + min(n0 + COLUMN_OFFSET(n), N - 1u) * B_COLUMN;
#endif
    }
#if SHARES_ROWS
    uint own[(TILE_M + 7u) / 8u];
    [[unroll]] for (uint m = 0u; m < TILE_M; m += 8u) {
        own[m / 8u] = a_batch(at) + min(m0 + m + gl_SubgroupInvocationID, M - 1u) * A_ROW;
    }
#endif
    SUMS sums[TILE_M][TILE_N / EACH];
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
        [[unroll]] for (uint n = 0u; n < TILE_N / EACH; ++n) sums[m][n] = SUMS(0);
    }

    for (uint k = 0u; k < depth; k += 4u) {
        // Steps beyond the last one read existing data and count as zero. (No branches: SwiftShader compiles each
        // slowly.)
        uvec4 steps = min(k + uvec4(0u, 1u, 2u, 3u), K - 1u);
        bvec4 counts = lessThan(k + uvec4(0u, 1u, 2u, 3u), uvec4(K));
        SUMS b[TILE_N / EACH][4];
#if B_ALONG == ROW
        [[unroll]] for (uint q = 0u; q < 4u; ++q) {
            [[unroll]] for (uint n = 0u; n < TILE_N; n += 4u) {
                FOUR four = mix(FOUR(0), b_four(columns[n] + steps[q] * B_ROW), bvec4(counts[q]));
#if SUMS_IN_FOURS
                b[n / 4u][q] = four;
#else
                [[unroll]] for (uint p = 0u; p < 4u; ++p) b[n + p][q] = four[p];
#endif
            }
        }
#else
        [[unroll]] for (uint n = 0u; n < TILE_N; ++n) {
#if B_ALONG == COLUMN
            FOUR four = b_four(columns[n] + k);
#else
            FOUR four;
            [[unroll]] for (uint q = 0u; q < 4u; ++q) four[q] = b_load(columns[n] + steps[q] * B_ROW);
#endif
            four = mix(FOUR(0), four, counts);
#if SUMS_IN_FOURS
            [[unroll]] for (uint q = 0u; q < 4u; ++q) b[n / 4u][q][n % 4u] = four[q];
#else
            [[unroll]] for (uint q = 0u; q < 4u; ++q) b[n][q] = four[q];
#endif
        }
#endif
#if SHARES_ROWS
        FOUR every[(TILE_M + 7u) / 8u * 8u];
        [[unroll]] for (uint m = 0u; m < TILE_M; m += 8u) {
#if A_ALONG == ROW
            FOUR four = a_four(own[m / 8u] + k);
#else
            FOUR four;
            [[unroll]] for (uint q = 0u; q < 4u; ++q) four[q] = a_load(own[m / 8u] + steps[q] * A_COLUMN);
#endif
            four = mix(FOUR(0), four, counts);
            every[m] = subgroupBroadcast(four, 0u);  // the lane must be a constant
            every[m + 1u] = subgroupBroadcast(four, 1u);
            every[m + 2u] = subgroupBroadcast(four, 2u);
            every[m + 3u] = subgroupBroadcast(four, 3u);
            every[m + 4u] = subgroupBroadcast(four, 4u);
            every[m + 5u] = subgroupBroadcast(four, 5u);
            every[m + 6u] = subgroupBroadcast(four, 6u);
            every[m + 7u] = subgroupBroadcast(four, 7u);
        }
#endif
        [[unroll]] for (uint m = 0u; m < TILE_M; m += ROWS) {
            FOUR a[ROWS];
#if SHARES_ROWS
            a[0] = every[m];
#elif A_ALONG == COLUMN
            [[unroll]] for (uint q = 0u; q < 4u; ++q) {
                FOUR four = mix(FOUR(0), a_four(rows[m] + steps[q] * A_COLUMN), bvec4(counts[q]));
                [[unroll]] for (uint p = 0u; p < 4u; ++p) a[p][q] = four[p];
            }
#else
#if A_ALONG == ROW
            FOUR four = a_four(rows[m] + k);
#else
            FOUR four;
            [[unroll]] for (uint q = 0u; q < 4u; ++q) four[q] = a_load(rows[m] + steps[q] * A_COLUMN);
#endif
            a[0] = mix(FOUR(0), four, counts);
#endif
            // k is the innermost loop: each sum is read and written once for four steps.
            [[unroll]] for (uint p = 0u; p < ROWS; ++p) {
                [[unroll]] for (uint n = 0u; n < TILE_N / EACH; ++n) {
                    [[unroll]] for (uint q = 0u; q < 4u; ++q) sums[m + p][n] += a[p][q] * b[n][q];
                }
            }
        }
    }

    // A loop, so that drivers compile the code that finishes four sums only once. It selects its row among all rows,
    // which lavapipe compiles faster than arrays indexed by m.
    [[dont_unroll]] for (uint m = 0u; m < tile_rows; ++m) {
        uint row = result_batch(at) + (m0 + m) * RESULT_ROW;
#if HAS_C
        uint c_row = c_batch(at) + (m0 + m) * C_ROW;
#else
        const uint c_row = 0u;
#endif
        FOUR fours[TILE_N / 4u];
        [[unroll]] for (uint j = 0u; j < TILE_N / 4u; ++j) {
            FOUR four = FOUR_OF_SUMS(sums[0], j);
            [[unroll]] for (uint p = 1u; p < TILE_M; ++p) four = mix(four, FOUR_OF_SUMS(sums[p], j), bvec4(m == p));
            fours[j] = four;
        }
        [[dont_unroll]] for (uint n = 0u; n < TILE_N && n0 + COLUMN_OFFSET(n) < N; n += 4u) {
            FOUR four = fours[0];
            [[unroll]] for (uint p = 4u; p < TILE_N; p += 4u) four = mix(four, fours[p / 4u], bvec4(n == p));
            store_four(row, c_row, n0 + COLUMN_OFFSET(n), four);
        }
    }
}
