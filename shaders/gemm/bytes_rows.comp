#version 450
#extension GL_EXT_control_flow_attributes : require
// Products of 8-bit integers (see bytes.glsl) for results of few rows, bound by reading b. A workgroup computes TILE_M
// rows of LANES columns; SLICES adjacent invocations take adjacent vectors of a column, and their sums are then added
// in pairs.
#include "prelude.glsl"
#include "gemm/packed_dot.glsl"
#include "gemm/bytes.glsl"

shared uint partial[TILE_M][LANES][SLICES];

void main() {
    const uint groups_n = (N + LANES - 1u) / LANES;
    uint group = workgroup_index();
    uint n0 = group % groups_n * LANES, batch = group / groups_n;
    if (batch >= BATCH) return;  // the whole workgroup returns
    uint at[RANK];
    coordinates(batch, at);
    uint a0 = a_batch(at);
    uint slice = gl_LocalInvocationIndex % SLICES, lane = gl_LocalInvocationIndex / SLICES;
    LINE line = line_of_b(at, min(n0 + lane, N - 1u));
    uint sums[TILE_M];
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) sums[m] = 0u;
    for (uint k = slice * PER; k < K; k += SLICES * PER) {
        uvec4 b = vector_of_b(line, k);
        [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
            uvec4 a = vector_of_a(a0, min(m, M - 1u), k);
            [[unroll]] for (uint q = 0u; q < 4u; ++q) sums[m] += packed_dot(a[q], b[q]);
        }
    }
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) partial[m][lane][slice] = sums[m];
    barrier();
    [[unroll]] for (uint others = SLICES / 2u; others > 0u; others /= 2u) {
        if (slice < others) {
            [[unroll]] for (uint m = 0u; m < TILE_M; ++m) partial[m][lane][slice] += partial[m][lane][slice + others];
        }
        barrier();
    }
    // Each invocation finishes four elements of a row
    for (uint i = gl_LocalInvocationIndex; i < TILE_M * LANES / 4u; i += WORKGROUP) {
        uint m = i / (LANES / 4u), n = i % (LANES / 4u) * 4u;
        if (m < M && n0 + n < N) {
            store_four(at, m, n0 + n, uvec4(partial[m][n][0], partial[m][n + 1u][0], partial[m][n + 2u][0],
                                            partial[m][n + 3u][0]));
        }
    }
}
