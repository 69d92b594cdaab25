#version 450
#extension GL_EXT_control_flow_attributes : require
// result = finish(ALPHA * a x b + BETA * c) for results of few rows, with b as numbers of 4 bits, in blocks of
// 2^BLOCK_SHIFT (32 or more) steps of k with a scale and a zero point each: (number - zero) * scale. b is {n, k}, bound
// as vectors of 32 numbers, and is never stored dequantized. A workgroup computes TILE_M rows of LANES * COLUMNS
// columns; SLICES invocations share the products of each column, ADJACENT_SLICES of which are adjacent along k; their
// sums are then added in pairs, in a fixed order. UNROLL: vectors of a column in flight at once. IS_SIGNED: the numbers
// are INT4. A_EIGHTS: rows of a are FLOAT16, read in vectors of eight.
#include "prelude.glsl"
#include "gemm/matrix.glsl"

shared FOUR partial[SLICES][LANES * COLUMNS / 4u];

// Loads eight adjacent steps of k of a row of a.
void eight_of_a(uint at, out FOUR low, out FOUR high) {
#if A_EIGHTS
    uvec4 bits = a_vector(at / 8u);
    low = FOUR(half_pair(bits.x), half_pair(bits.y));
    high = FOUR(half_pair(bits.z), half_pair(bits.w));
#else
    low = a_four(at);
    high = a_four(at + 4u);
#endif
}

// Returns every second of a word's numbers from `first` on, each as 1 + number / 16: its bits become the upper bits of
// a float's mantissa, without a conversion.
vec4 four_numbers(uint word, uint first) {
    uvec4 bits;
    [[unroll]] for (uint q = 0u; q < 4u; ++q) {
        uint from = 4u * (first + 2u * q);
        bits[q] = (from < 19u ? word << (19u - min(from, 19u)) : word >> (max(from, 19u) - 19u)) & 0x780000u | 0x3f800000u;
    }
    return uintBitsToFloat(bits);
}

SUM with_products(SUM sum, FOUR a, FOUR b) {
    [[unroll]] for (uint q = 0u; q < 4u; ++q) sum += a[q] * b[q];
    return sum;
}

void main() {
    const uint tiles_m = (M + TILE_M - 1u) / TILE_M;
    const uint groups_n = (N + LANES * COLUMNS - 1u) / (LANES * COLUMNS);
    uint group = workgroup_index();
    uint lane = gl_LocalInvocationIndex / ADJACENT_SLICES % LANES;
    uint slice = gl_LocalInvocationIndex / (ADJACENT_SLICES * LANES) * ADJACENT_SLICES
        + gl_LocalInvocationIndex % ADJACENT_SLICES;
    uint n0 = group % groups_n * (LANES * COLUMNS), m0 = group / groups_n * TILE_M;
    if (group >= groups_n * tiles_m) return;  // the whole workgroup
    uint at[RANK];
    coordinates(0u, at);

    // Rows and columns beyond the edges repeat the last ones; their sums are not stored.
    uint rows[TILE_M], columns[COLUMNS];
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) rows[m] = a_batch(at) + min(m0 + m, M - 1u) * A_ROW;
    [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) columns[c] = min(n0 + lane * COLUMNS + c, N - 1u);
    SUM sums[TILE_M][COLUMNS];
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
        [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) sums[m][c] = 0.0;
    }
    for (uint first_k = slice * 32u; first_k < K; first_k += UNROLL * SLICES * 32u) {
        uvec4 b[UNROLL][COLUMNS];
        SUM scale[UNROLL][COLUMNS], zero[UNROLL][COLUMNS];
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) {
            // Past the last block, that block is read again and not added.
            uint k = min(first_k + u * (SLICES * 32u), K - 32u), block = k >> BLOCK_SHIFT;
            [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) {
                b[u][c] = b_vector((b_BASE + columns[c] * b_STRIDE_0 + k) / 32u);
                scale[u][c] = scales_load(scales_BASE + columns[c] * scales_STRIDE_0 + block * scales_STRIDE_1);
#if HAS_ZEROS
                zero[u][c] = float(zeros_load(zeros_BASE + columns[c] * zeros_STRIDE_0 + block * zeros_STRIDE_1));
#else
                zero[u][c] = 0.0;
#endif
#if IS_SIGNED
                // Make the numbers unsigned, each larger by eight.
                b[u][c] ^= uvec4(0x88888888u);
                zero[u][c] += 8.0;
#endif
            }
        }
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) {
            uint k = first_k + u * (SLICES * 32u);
            if (u > 0u && k >= K) break;
            // Zero points and the implicit 1 of each number are subtracted using the sums of a.
            SUM products[TILE_M][COLUMNS], ones[TILE_M];
            [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
                ones[m] = 0.0;
                [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) products[m][c] = 0.0;
            }
            [[unroll]] for (uint w = 0u; w < 4u; ++w) {
                vec4 even[COLUMNS], odd[COLUMNS];
                [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) {
                    even[c] = four_numbers(b[u][c][w], 0u);
                    odd[c] = four_numbers(b[u][c][w], 1u);
                }
                [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
                    FOUR low, high;
                    eight_of_a(rows[m] + k + 8u * w, low, high);
                    FOUR of_even = FOUR(low.xz, high.xz), of_odd = FOUR(low.yw, high.yw);
                    ones[m] = with_products(with_products(ones[m], of_even, FOUR(1.0)), of_odd, FOUR(1.0));
                    [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) {
                        products[m][c] = with_products(products[m][c], of_even, even[c]);
                        products[m][c] = with_products(products[m][c], of_odd, odd[c]);
                    }
                }
            }
            [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
                [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) {
                    sums[m][c] += scale[u][c] * (16.0 * products[m][c] - (16.0 + zero[u][c]) * ones[m]);
                }
            }
        }
    }

    // (Not unrolled, as in shared.comp.)
    [[dont_unroll]] for (uint m = 0u; m < TILE_M; ++m) {
        if (m > 0u) barrier();  // the previous row's sums have been read
        [[unroll]] for (uint p = 0u; p < TILE_M; ++p) {
            if (m == p) {
                [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) {
                    uint own = lane * COLUMNS + c;
                    partial[slice][own / 4u][own % 4u] = sums[p][c];
                }
            }
        }
        barrier();
        for (uint half_of = SLICES / 2u; half_of > 0u; half_of /= 2u) {
            for (uint i = gl_LocalInvocationIndex; i < half_of * (LANES * COLUMNS / 4u); i += WORKGROUP) {
                uint at_slice = i / (LANES * COLUMNS / 4u), own = i % (LANES * COLUMNS / 4u);
                partial[at_slice][own] += partial[at_slice + half_of][own];
            }
            barrier();
        }
        for (uint own = gl_LocalInvocationIndex; own < LANES * COLUMNS / 4u; own += WORKGROUP) {
            uint n = n0 + own * 4u;
            if (m0 + m < M && n < N) {
                uint row = result_batch(at) + (m0 + m) * RESULT_ROW;
#if HAS_C
                uint c_row = c_batch(at) + (m0 + m) * C_ROW;
#else
                const uint c_row = 0u;
#endif
                store_four(row, c_row, n, partial[0][own]);
            }
        }
    }
}
