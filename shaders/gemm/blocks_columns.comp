#version 450
#extension GL_EXT_control_flow_attributes : require
// result = finish(ALPHA * a x b + BETA * c) without shared memory, for results of few rows, with b as numbers of BITS
// (2, 4 or 8) bits, in blocks of 2^BLOCK_SHIFT steps of k with a scale and a zero point each: (number - zero) * scale.
// b is {n, k}, bound as vectors that each lie in one block, or, if a vector has PARTS > 1 blocks, as words. An
// invocation computes TILE_M rows of COLUMNS (4) adjacent columns; adjacent invocations take adjacent columns, so that a
// workgroup reads the same elements of a. IS_SIGNED: the numbers are INT4 or INT8. BATCHED: there are BATCH products, each
// with a matrix of a stack. B_IN_PARTS: as in tiled.comp.
#include "prelude.glsl"
#include "gemm/matrix.glsl"
#include "gemm/signs.glsl"

// WORDS of a column are read at a time.
const uint PER_WORD = 32u / BITS, WORDS = 4u / PARTS;

// Number q of a word, times 2^(BITS * q) except for the last: this takes a mask and a conversion, but no shift.
float scaled_number(uint word, uint q) {
    const uint mask = (1u << BITS) - 1u;
    return q == PER_WORD - 1u ? float(int(word >> (32u - BITS))) : float(int(word & (mask << (BITS * q))));
}

// Scale for a's elements that undoes the 2^(BITS * q) of scaled_number().
float number_scale(uint q) { return q == PER_WORD - 1u ? 1.0 : 1.0 / float(1u << (BITS * q)); }

void main() {
    const uint tiles_m = (M + TILE_M - 1u) / TILE_M;
    const uint groups_n = (N + LANES * COLUMNS - 1u) / (LANES * COLUMNS);
    uint group = workgroup_index();
    uint m0 = group % tiles_m * TILE_M, tile = group / tiles_m;
    uint at[RANK];
#if BATCHED
    uint batch = tile / groups_n;
    coordinates(min(batch, BATCH - 1u), at);
    bool works = batch < BATCH;
    tile %= groups_n;
#else
    coordinates(0u, at);
    bool works = tile < groups_n;
#endif
#if B_IN_PARTS
    works = works && b_is_bound(at);
#endif
    uint n0 = (tile * LANES + gl_LocalInvocationIndex) * COLUMNS;
    // Invocations outside do not return (see tiled.comp): they compute sums without storing them.
    uint depth = works ? K : 0u, tile_rows = works && n0 < N ? min(TILE_M, M - m0) : 0u;

    // Rows and columns beyond the edges repeat the last ones; their sums are not stored.
    uint rows[TILE_M], columns[COLUMNS];
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) rows[m] = a_batch(at) + min(m0 + m, M - 1u) * A_ROW;
    [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) columns[c] = min(n0 + c, N - 1u);
    begin_stored(at);
    float sums[TILE_M][COLUMNS];
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
        [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) sums[m][c] = 0.0;
    }
    for (uint begin = 0u; begin < depth; begin += 1u << BLOCK_SHIFT) {
        float products[TILE_M][COLUMNS], ones[TILE_M];
        [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
            ones[m] = 0.0;
            [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) products[m][c] = 0.0;
        }
        for (uint k = begin; k < begin + (1u << BLOCK_SHIFT); k += WORDS * PER_WORD) {
            uvec4 b[COLUMNS];
            [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) {
                uint first = (numbers_first + columns[c] * B_COLUMN + k) / PER_WORD;
#if PARTS == 1
                b[c] = b_vector(first / 4u);
#else
                [[unroll]] for (uint w = 0u; w < WORDS; ++w) b[c][w] = b_word(first + w);
#endif
                if (IS_SIGNED == 1) b[c] ^= uvec4(SIGNS);
            }
            [[unroll]] for (uint w = 0u; w < WORDS; ++w) {
                [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
                    [[unroll]] for (uint f = 0u; f < PER_WORD; f += 4u) {
                        vec4 four = a_four(rows[m] + k + PER_WORD * w + f);
                        ones[m] += (four.x + four.y) + (four.z + four.w);
                        [[unroll]] for (uint q = 0u; q < 4u; ++q) {
                            float scaled = four[q] * number_scale(f + q);
                            [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) {
                                products[m][c] += scaled * scaled_number(b[c][w], f + q);
                            }
                        }
                    }
                }
            }
        }
        uint block = begin >> BLOCK_SHIFT;
        [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) {
            float scale = scales_load(scales_first + columns[c] * SCALES_ROW + block * SCALES_COLUMN);
            float zero = OFFSET;
#if HAS_ZEROS
            zero += float(zeros_load(zeros_first + columns[c] * ZEROS_ROW + block * ZEROS_COLUMN));
#endif
            [[unroll]] for (uint m = 0u; m < TILE_M; ++m) sums[m][c] += scale * (products[m][c] - zero * ones[m]);
        }
    }

    [[dont_unroll]] for (uint m = 0u; m < tile_rows; ++m) {
        uint row = result_batch(at) + (m0 + m) * RESULT_ROW;
#if HAS_C
        uint c_row = c_batch(at) + (m0 + m) * C_ROW;
#else
        const uint c_row = 0u;
#endif
        vec4 four = vec4(sums[0][0], sums[0][1], sums[0][2], sums[0][3]);
        [[unroll]] for (uint p = 1u; p < TILE_M; ++p) {
            four = mix(four, vec4(sums[p][0], sums[p][1], sums[p][2], sums[p][3]), bvec4(m == p));
        }
        store_four(row, c_row, n0, four);
    }
}
