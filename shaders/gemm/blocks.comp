#version 450
#extension GL_EXT_control_flow_attributes : require
// result = finish(ALPHA * a x b + BETA * c) for results of few rows, with b as numbers of BITS (2, 4 or 8) bits, in
// blocks of 2^BLOCK_SHIFT steps of k with a scale and a zero point each: (number - zero) * scale. b is {n, k}, bound as
// vectors, each of PARTS blocks or of part of one, and is never stored dequantized. A workgroup computes TILE_M rows of
// LANES * COLUMNS columns; SLICES invocations share the products of each column, ADJACENT_SLICES of which are adjacent
// along k; their sums are then added in pairs, in a fixed order. UNROLL: vectors of a column in flight at once.
// IS_SIGNED: the numbers are INT4 or INT8. A_EIGHTS: rows of a are FLOAT16, read in vectors of eight. BATCHED,
// B_IN_PARTS: as in blocks_columns.comp.
#include "prelude.glsl"
#include "gemm/matrix.glsl"
#include "gemm/signs.glsl"

const uint PER_WORD = 32u / BITS, PER_VECTOR = 128u / BITS;

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

// Returns four of the eight adjacent numbers with index e in a part of a vector: those at even (parity 0) or at odd
// positions (parity 1). 2^BITS is added to each: its bits become the upper bits of a mantissa, without a conversion.
// Numbers of 4 and 8 bits become halves, two at a time, which devices convert together.
vec4 four_numbers(uvec4 vector, uint part, uint e, uint parity) {
    uint first = part * (4u / PARTS) + 8u * e / PER_WORD, word = vector[first];
    if (BITS == 2u) {
        const uint to = 23u - BITS, mask = ((1u << BITS) - 1u) << to;
        uvec4 bits;
        [[unroll]] for (uint q = 0u; q < 4u; ++q) {
            uint from = BITS * (8u * e % PER_WORD + parity + 2u * q);
            bits[q] = (from < to ? word << (to - min(from, to)) : word >> (max(from, to) - to)) & mask | 0x40800000u;
        }
        return uintBitsToFloat(bits);
    }
    if (BITS == 8u) {
        uvec2 words = uvec2(word, vector[first + 1u]);
        uvec2 pairs = (parity == 0u ? words << 2u : words >> 6u) & 0x03fc03fcu | 0x5c005c00u;
        return vec4(unpackHalf2x16(pairs.x), unpackHalf2x16(pairs.y));
    }
    uvec2 pairs = parity == 0u ? uvec2(word << 6u, word >> 2u) : uvec2(word << 2u, word >> 6u);
    pairs = pairs & 0x03c003c0u | 0x4c004c00u;
    vec2 low = unpackHalf2x16(pairs.x), high = unpackHalf2x16(pairs.y);
    return vec4(low.x, high.x, low.y, high.y);
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
    uint n0 = group % groups_n * (LANES * COLUMNS);
    uint at[RANK];
#if BATCHED
    uint m0 = group / groups_n % tiles_m * TILE_M, batch = group / (groups_n * tiles_m);
    if (batch >= BATCH) return;  // the whole workgroup returns
    coordinates(batch, at);
#else
    uint m0 = group / groups_n * TILE_M;
    if (group >= groups_n * tiles_m) return;  // the whole workgroup returns
    coordinates(0u, at);
#endif
#if B_IN_PARTS
    if (!b_is_bound(at)) return;  // the whole workgroup returns
#endif

    // Rows and columns beyond the edges repeat the last ones; their sums are not stored.
    uint rows[TILE_M], columns[COLUMNS];
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) rows[m] = a_batch(at) + min(m0 + m, M - 1u) * A_ROW;
    [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) columns[c] = min(n0 + lane * COLUMNS + c, N - 1u);
    begin_stored(at);
    SUM sums[TILE_M][COLUMNS];
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
        [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) sums[m][c] = 0.0;
    }
    for (uint first_k = slice * PER_VECTOR; first_k < K; first_k += UNROLL * SLICES * PER_VECTOR) {
        uvec4 b[UNROLL][COLUMNS];
        SUM scale[UNROLL][COLUMNS][PARTS], zero[UNROLL][COLUMNS][PARTS];
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) {
            // Beyond the last block, the last one is read again; it is not added.
            uint k = min(first_k + u * (SLICES * PER_VECTOR), K - PER_VECTOR);
            [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) {
                b[u][c] = b_vector((numbers_first + columns[c] * B_COLUMN + k) / PER_VECTOR);
#if IS_SIGNED
                b[u][c] ^= uvec4(SIGNS);
#endif
                [[unroll]] for (uint p = 0u; p < PARTS; ++p) {
                    uint block = (k >> BLOCK_SHIFT) + p;
                    scale[u][c][p] = scales_load(scales_first + columns[c] * SCALES_ROW + block * SCALES_COLUMN);
                    zero[u][c][p] = OFFSET;
#if HAS_ZEROS
                    zero[u][c][p] += float(zeros_load(zeros_first + columns[c] * ZEROS_ROW + block * ZEROS_COLUMN));
#endif
                }
            }
        }
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) {
            uint k = first_k + u * (SLICES * PER_VECTOR);
            if (u > 0u && k >= K) break;
            [[unroll]] for (uint p = 0u; p < PARTS; ++p) {
                // Zero points, and the offset that four_numbers() adds to each number, are subtracted using the sums of
                // a.
                SUM products[TILE_M][COLUMNS], ones[TILE_M];
                [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
                    ones[m] = 0.0;
                    [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) products[m][c] = 0.0;
                }
                [[unroll]] for (uint e = 0u; e < PER_VECTOR / PARTS / 8u; ++e) {
                    FOUR of_even[TILE_M], of_odd[TILE_M];
                    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
                        FOUR low, high;
                        eight_of_a(rows[m] + k + p * (PER_VECTOR / PARTS) + 8u * e, low, high);
                        of_even[m] = FOUR(low.xz, high.xz);
                        of_odd[m] = FOUR(low.yw, high.yw);
                        ones[m] = with_products(with_products(ones[m], of_even[m], FOUR(1.0)), of_odd[m], FOUR(1.0));
                    }
                    [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) {
                        vec4 even = four_numbers(b[u][c], p, e, 0u), odd = four_numbers(b[u][c], p, e, 1u);
                        [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
                            products[m][c] = with_products(with_products(products[m][c], of_even[m], even), of_odd[m], odd);
                        }
                    }
                }
                const SUM added = SUM(1u << BITS);
                [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
                    [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) {
                        sums[m][c] += scale[u][c][p] * (products[m][c] - (added + zero[u][c][p]) * ones[m]);
                    }
                }
            }
        }
    }

    // Not unrolled, as in shared.comp.
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
