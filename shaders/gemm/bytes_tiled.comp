#version 450
#extension GL_EXT_control_flow_attributes : require
// Products of 8-bit integers (see bytes.glsl) without shared memory, for CPU drivers. An invocation keeps TILE_M rows of
// OWN_N sums and takes sixteen steps of k at a time. The bytes that it multiplies are unsigned: LLVM, which then knows
// that both factors fit sixteen bits, multiplies and adds by one instruction.
#include "prelude.glsl"
#include "gemm/bytes.glsl"

// Offset of column n of an invocation's tile: adjacent invocations have adjacent blocks of four columns.
#define COLUMN_OFFSET(n) ((n) / 4u * (4u * WORKGROUP) + (n) % 4u)

uvec4 bytes_of(uint word) {
    return uvec4(word, word >> 8u, word >> 16u, word >> 24u) & 255u;
}

void main() {
    // Adjacent workgroups take the same columns of b, which stay in the cache.
    const uint tiles_m = (M + TILE_M - 1u) / TILE_M;
    const uint tiles_n = (N + TILE_N - 1u) / TILE_N;
    uint group = workgroup_index();
    uint m0 = group % tiles_m * TILE_M;
    uint n0 = group / tiles_m % tiles_n * TILE_N + 4u * gl_LocalInvocationIndex;
    uint batch = group / (tiles_n * tiles_m);
    // Invocations outside do not return, since after a return llvmpipe masks every write.
    uint at[RANK];
    coordinates(min(batch, BATCH - 1u), at);
    uint a0 = a_batch(at);
    bool works = batch < BATCH;
    uint depth = works ? K : 0u, tile_rows = works && n0 < N ? min(TILE_M, M - m0) : 0u;

    uint rows[TILE_M], sums[TILE_M][OWN_N];
    LINE columns[OWN_N];
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) rows[m] = a0 + min(m0 + m, M - 1u) * A_ROW;
    [[unroll]] for (uint n = 0u; n < OWN_N; ++n) columns[n] = line_of_b(at, min(n0 + COLUMN_OFFSET(n), N - 1u));
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
        [[unroll]] for (uint n = 0u; n < OWN_N; ++n) sums[m][n] = 0u;
    }
    for (uint k = 0u; k < depth; k += PER) {
        uvec4 b[OWN_N][4];
        [[unroll]] for (uint n = 0u; n < OWN_N; ++n) {
            uvec4 bits = vector_of_b(columns[n], k);
            [[unroll]] for (uint w = 0u; w < 4u; ++w) b[n][w] = bytes_of(bits[w]);
        }
        [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
            uvec4 bits = a_vector((rows[m] + k) / PER) ^ A_FLIP;
            [[unroll]] for (uint w = 0u; w < 4u; ++w) {
                uvec4 a = bytes_of(bits[w]);
                [[unroll]] for (uint n = 0u; n < OWN_N; ++n) {
                    [[unroll]] for (uint q = 0u; q < 4u; ++q) sums[m][n] += a[q] * b[n][w][q];
                }
            }
        }
    }

    // The loop is not unrolled, and selects sums by constant indices, for the reason given in tiled.comp
    [[dont_unroll]] for (uint m = 0u; m < tile_rows; ++m) {
        uvec4 fours[OWN_N / 4u];
        [[unroll]] for (uint j = 0u; j < OWN_N / 4u; ++j) {
            [[unroll]] for (uint p = 0u; p < TILE_M; ++p) {
                uvec4 four = uvec4(sums[p][4u * j], sums[p][4u * j + 1u], sums[p][4u * j + 2u], sums[p][4u * j + 3u]);
                fours[j] = p == 0u ? four : mix(fours[j], four, bvec4(m == p));
            }
        }
        [[dont_unroll]] for (uint n = 0u; n < OWN_N && n0 + COLUMN_OFFSET(n) < N; n += 4u) {
            uvec4 four = fours[0];
            [[unroll]] for (uint p = 4u; p < OWN_N; p += 4u) four = mix(four, fours[p / 4u], bvec4(n == p));
            store_four(at, m0 + m, n0 + COLUMN_OFFSET(n), four);
        }
    }
}
