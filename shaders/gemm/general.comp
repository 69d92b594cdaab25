#version 450
#extension GL_EXT_control_flow_attributes : require
// result = finish(ALPHA * a x b + BETA * c) for any strides. An invocation keeps TILE_M x TILE_N sums in registers.
#include "prelude.glsl"
#include "gemm/store.glsl"

void main() {
    const uint tiles_m = (M + TILE_M - 1u) / TILE_M;
    const uint tiles_n = (N + TILE_N - 1u) / TILE_N;
    uint tile = global_index();
    uint n0 = tile % tiles_n * TILE_N;
    uint m0 = tile / tiles_n % tiles_m * TILE_M;
    uint batch = tile / (tiles_n * tiles_m);
    if (batch >= BATCH) return;
    uint at[RANK];
    coordinates(batch, at);

    // Beyond the edges the last elements are read again: what becomes of them is not stored.
    uint rows[TILE_M], columns[TILE_N];
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) rows[m] = a_batch(at) + min(m0 + m, M - 1u) * A_ROW;
    [[unroll]] for (uint n = 0u; n < TILE_N; ++n) columns[n] = b_batch(at) + min(n0 + n, N - 1u) * B_COLUMN;
    float sums[TILE_M][TILE_N];
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
        [[unroll]] for (uint n = 0u; n < TILE_N; ++n) sums[m][n] = 0.0;
    }
    for (uint k = 0u; k < K; ++k) {
        float b[TILE_N];
        [[unroll]] for (uint n = 0u; n < TILE_N; ++n) b[n] = b_load(columns[n] + k * B_ROW);
        [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
            float a = a_load(rows[m] + k * A_COLUMN);
            [[unroll]] for (uint n = 0u; n < TILE_N; ++n) sums[m][n] += a * b[n];
        }
    }
    for (uint m = 0u; m < TILE_M && m0 + m < M; ++m) {
        uint row = result_batch(at) + (m0 + m) * RESULT_ROW;
#if HAS_C
        uint c_row = c_batch(at) + (m0 + m) * C_ROW;
#else
        const uint c_row = 0u;
#endif
        for (uint n = 0u; n < TILE_N && n0 + n < N; ++n) {
            result_store(row + (n0 + n) * RESULT_COLUMN, finished(sums[m][n], c_row, n0 + n));
        }
    }
}
