#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#pragma use_vulkan_memory_model
// FLOAT16 attention on matrix units, by tiles as in "tiles.comp". Each subgroup has SUB_ROWS queries, in matrices of
// MATRIX_M x MATRIX_N with sums in float32, against the KEYS_TILE keys and values in its workgroup's shared memory,
// while the next tile is loaded to registers. A weight is the sum of two FLOAT16 numbers, the second being the rounding
// error of the first: this is as precise as float32 weights. HALF_WEIGHTS: a weight is rounded to one FLOAT16 number.
#include "prelude.glsl"
#include "lib/math.glsl"
#include "lib/reduce.glsl"
#include "attention/mask.glsl"
#include "attention/part.glsl"

const uint PER = 8u, SUBGROUPS = ROWS_TILE / SUB_ROWS;
// Row lengths in vectors of eight, and row pitches: odd, so that rows begin in different banks.
const uint KEY_LINE = DEPTH / PER, KEY_STEP = KEY_LINE | 1u, VALUE_LINE = COLUMNS / PER, VALUE_STEP = VALUE_LINE | 1u;
const uint SCORES_STEP = KEYS_TILE / 4u | 1u, WEIGHTS_STEP = KEYS_TILE / PER | 1u;
const uint MATRICES_M = SUB_ROWS / MATRIX_M, DEPTHS = DEPTH / MATRIX_K, KEYS_N = KEYS_TILE / MATRIX_N;
const uint COLUMNS_N = COLUMNS / MATRIX_N;
// Lanes that share a row's scores.
const uint LANES_OF_ROW = SUBGROUP / SUB_ROWS, MY_KEYS = KEYS_TILE / LANES_OF_ROW;
const uint VECTORS_OF_K = (KEYS_TILE * KEY_LINE + WORKGROUP - 1u) / WORKGROUP;
const uint VECTORS_OF_V = (KEYS_TILE * VALUE_LINE + WORKGROUP - 1u) / WORKGROUP;
const uint FACTORS = SUB_ROWS * MATRIX_N / 4u;
// Scale of the weights, which keeps small ones precise in FLOAT16.
const float LARGEST_WEIGHT = 4096.0;

shared uvec4 tiles[TILES];
// Per subgroup: its scores, later its weights; and the factors of its rows, as a matrix.
shared uvec4 own[SUBGROUPS * OWN];
shared vec4 factors[SUBGROUPS * FACTORS];
shared float exchanged[WORKGROUP];
shared vec2 outcomes[ROWS_TILE];

#define MATRIX_OF_A coopmat<float16_t, gl_ScopeSubgroup, MATRIX_M, MATRIX_K, gl_MatrixUseA>
#define MATRIX_OF_B coopmat<float16_t, gl_ScopeSubgroup, MATRIX_K, MATRIX_N, gl_MatrixUseB>
#define MATRIX_OF_SUMS coopmat<float, gl_ScopeSubgroup, MATRIX_M, MATRIX_N, gl_MatrixUseAccumulator>

void load_keys(uint from, uint tile, uint stop, out uvec4 raw[VECTORS_OF_K]) {
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_K; ++l) {
        uint i = l * WORKGROUP + gl_LocalInvocationIndex, key = tile + i / KEY_LINE, at = i % KEY_LINE * PER;
        raw[l] = uvec4(0u);
        if (i < KEYS_TILE * KEY_LINE && key < stop && at < SIZE) raw[l] = k_vector((from + key * k_STRIDE_2 + at) / PER);
    }
}

void load_values(uint from, uint tile, uint stop, out uvec4 raw[VECTORS_OF_V]) {
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_V; ++l) {
        uint i = l * WORKGROUP + gl_LocalInvocationIndex, key = tile + i / VALUE_LINE, at = i % VALUE_LINE * PER;
        raw[l] = uvec4(0u);
        if (i < KEYS_TILE * VALUE_LINE && key < stop && at < VALUE_SIZE) {
            raw[l] = v_vector((from + key * v_STRIDE_2 + at) / PER);
        }
    }
}

// The sum or maximum over the lanes of a row, which are SUB_ROWS apart in a subgroup.
float over_row(float value, uint first, uint row, bool sum) {
    if (LANES_OF_ROW == 1u) return value;
    exchanged[first + gl_SubgroupInvocationID] = value;
    subgroupBarrier();
    float result = exchanged[first + row];
    [[unroll]] for (uint l = 1u; l < LANES_OF_ROW; ++l) {
        float other = exchanged[first + row + l * SUB_ROWS];
        result = sum ? result + other : reduce_max(result, other);
    }
    subgroupBarrier();
    return result;
}

void main() {
    uint group = workgroup_index();
    if (group >= COUNT) return;
    uint c[4];
    coordinates(group, c);
    batch = c[0], key_head = c[1], part = c[2];
    limits(batch);
    uint first_row = c[3] * ROWS_TILE, own_row = gl_SubgroupID * SUB_ROWS, own_at = gl_SubgroupID * OWN;
    uint lane = gl_SubgroupInvocationID, row = lane % SUB_ROWS, share = lane / SUB_ROWS;
    uint lanes_at = gl_SubgroupID * SUBGROUP, factors_at = gl_SubgroupID * FACTORS;

    for (uint i = gl_LocalInvocationIndex; i < ROWS_TILE * KEY_LINE; i += WORKGROUP) {
        uint line = i / KEY_LINE, at = i % KEY_LINE * PER;
        uvec4 bits = uvec4(0u);
        if (first_row + line < ROWS && at < SIZE) bits = q_vector((query_from(first_row + line) + at) / PER);
        tiles[line * KEY_STEP + i % KEY_LINE] = bits;
    }
    barrier();
    MATRIX_OF_A q[MATRICES_M][DEPTHS];
    [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
        [[unroll]] for (uint d = 0u; d < DEPTHS; ++d) {
            coopMatLoad(q[m][d], tiles, (own_row + m * MATRIX_M) * KEY_STEP + d * MATRIX_K / PER, KEY_STEP,
                        gl_CooperativeMatrixLayoutRowMajor);
        }
    }
    barrier();

    uint mask_at_row = mask_from(min(first_row + own_row + row, ROWS - 1u)), relative_at_row = 0u;
#ifdef relative_RANK
    relative_at_row = relative_from(min(first_row + own_row + row, ROWS - 1u));
#endif
    uint keys_begin = k_at(uint[4](batch, key_head, 0u, 0u)), values_begin = v_at(uint[4](batch, key_head, 0u, 0u));
    uint first = part * PART_KEYS, stop = min(first + PART_KEYS, end);
    float most = LEAST, total = 0.0;
    MATRIX_OF_SUMS sums[MATRICES_M][COLUMNS_N];
    [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
        [[unroll]] for (uint n = 0u; n < COLUMNS_N; ++n) sums[m][n] = MATRIX_OF_SUMS(0.0);
    }
    uvec4 raw_k[VECTORS_OF_K], raw_v[VECTORS_OF_V];
    load_keys(keys_begin, first, stop, raw_k);
    load_values(values_begin, first, stop, raw_v);
    for (uint tile = first; tile < stop; tile += KEYS_TILE) {
        [[unroll]] for (uint l = 0u; l < VECTORS_OF_K; ++l) {
            uint i = l * WORKGROUP + gl_LocalInvocationIndex;
            if (i < KEYS_TILE * KEY_LINE) tiles[i / KEY_LINE * KEY_STEP + i % KEY_LINE] = raw_k[l];
        }
        [[unroll]] for (uint l = 0u; l < VECTORS_OF_V; ++l) {
            uint i = l * WORKGROUP + gl_LocalInvocationIndex;
            if (i < KEYS_TILE * VALUE_LINE) {
                tiles[KEYS_TILE * KEY_STEP + i / VALUE_LINE * VALUE_STEP + i % VALUE_LINE] = raw_v[l];
            }
        }
        barrier();
        load_keys(keys_begin, tile + KEYS_TILE, stop, raw_k);
        load_values(values_begin, tile + KEYS_TILE, stop, raw_v);

        [[unroll]] for (uint n = 0u; n < KEYS_N; ++n) {
            MATRIX_OF_SUMS s[MATRICES_M];
            [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) s[m] = MATRIX_OF_SUMS(0.0);
            [[unroll]] for (uint d = 0u; d < DEPTHS; ++d) {
                MATRIX_OF_B k;
                coopMatLoad(k, tiles, n * MATRIX_N * KEY_STEP + d * MATRIX_K / PER, KEY_STEP,
                            gl_CooperativeMatrixLayoutColumnMajor);
                [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) s[m] = coopMatMulAdd(q[m][d], k, s[m]);
            }
            [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
                coopMatStore(s[m], own, own_at + m * MATRIX_M * SCORES_STEP + n * MATRIX_N / 4u, SCORES_STEP,
                             gl_CooperativeMatrixLayoutRowMajor);
            }
        }
        subgroupBarrier();

        vec4 s[MY_KEYS / 4u];
        float larger = LEAST;
        [[unroll]] for (uint f = 0u; f < MY_KEYS / 4u; ++f) {
            uint key = tile + share * MY_KEYS + f * 4u;
            s[f] = uintBitsToFloat(own[own_at + row * SCORES_STEP + share * (MY_KEYS / 4u) + f]);
            [[unroll]] for (uint k = 0u; k < 4u; ++k) {
                s[f][k] = key + k < stop ? scored(s[f][k], relative_at_row, mask_at_row, key + k) : LEAST;
                larger = reduce_max(larger, s[f][k]);
            }
        }
        larger = reduce_max(most, over_row(larger, lanes_at, row, false));
        float shift = shift_of(larger), factor = exp_nonpositive(most - shift);
        most = larger;
        total *= factor;
        // After this barrier all lanes have read the scores, and their memory is reused.
        if (LANES_OF_ROW == 1u) subgroupBarrier();
        [[unroll]] for (uint e = 0u; e < MY_KEYS / PER; ++e) {
            uvec4 high, low;
            [[unroll]] for (uint two = 0u; two < 4u; ++two) {
                vec4 from = s[e * 2u + two / 2u];
                vec2 w = two % 2u == 0u ? from.xy : from.zw;
                w = vec2(exp_nonpositive(w.x - shift), exp_nonpositive(w.y - shift)) * LARGEST_WEIGHT;
                total += w.x + w.y;
#if HALF_WEIGHTS
                high[two] = packFloat2x16(f16vec2(w));
#else
                // keep the upper ten bits of the mantissa, so that the conversion is exact
                vec2 first = uintBitsToFloat(floatBitsToUint(w) & 0xffffe000u);
                high[two] = packFloat2x16(f16vec2(first));
                low[two] = packFloat2x16(f16vec2(w - first));
#endif
            }
            uint to = own_at + row * WEIGHTS_STEP + share * (MY_KEYS / PER) + e;
            own[to] = high;
#if !HALF_WEIGHTS
            own[to + SUB_ROWS * WEIGHTS_STEP] = low;
#endif
        }
        for (uint f = share; f < MATRIX_N / 4u; f += LANES_OF_ROW) {
            factors[factors_at + row * (MATRIX_N / 4u) + f] = vec4(factor);
        }
        subgroupBarrier();
        [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
            MATRIX_OF_SUMS by;
            coopMatLoad(by, factors, factors_at + m * MATRIX_M * (MATRIX_N / 4u), MATRIX_N / 4u,
                        gl_CooperativeMatrixLayoutRowMajor);
            [[unroll]] for (uint n = 0u; n < COLUMNS_N; ++n) sums[m][n] = sums[m][n] * by;
        }
        [[unroll]] for (uint k = 0u; k < KEYS_TILE; k += MATRIX_K) {
            MATRIX_OF_A high[MATRICES_M];
            MATRIX_OF_A low[MATRICES_M];
            [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
                uint from = own_at + m * MATRIX_M * WEIGHTS_STEP + k / PER;
                coopMatLoad(high[m], own, from, WEIGHTS_STEP, gl_CooperativeMatrixLayoutRowMajor);
#if !HALF_WEIGHTS
                coopMatLoad(low[m], own, from + SUB_ROWS * WEIGHTS_STEP, WEIGHTS_STEP,
                            gl_CooperativeMatrixLayoutRowMajor);
#endif
            }
            [[unroll]] for (uint n = 0u; n < COLUMNS_N; ++n) {
                MATRIX_OF_B v;
                coopMatLoad(v, tiles, KEYS_TILE * KEY_STEP + k * VALUE_STEP + n * MATRIX_N / PER, VALUE_STEP,
                            gl_CooperativeMatrixLayoutRowMajor);
                [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
#if !HALF_WEIGHTS
                    sums[m][n] = coopMatMulAdd(low[m], v, sums[m][n]);
#endif
                    sums[m][n] = coopMatMulAdd(high[m], v, sums[m][n]);
                }
            }
        }
        barrier();
    }
    total = over_row(total, lanes_at, row, true);
    if (share == 0u) outcomes[own_row + row] = vec2(most, total);
    subgroupBarrier();
#if IN_PARTS
    if (share == 0u && first_row + own_row + row < ROWS) store_statistics(first_row + own_row + row, most, total);
#endif
    // Stage each matrix of sums in the factors' memory, which is now free.
    [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
        [[unroll]] for (uint n = 0u; n < COLUMNS_N; ++n) {
            coopMatStore(sums[m][n], factors, factors_at, MATRIX_N / 4u, gl_CooperativeMatrixLayoutRowMajor);
            subgroupBarrier();
            for (uint f = lane; f < MATRIX_M * MATRIX_N / 4u; f += SUBGROUP) {
                uint line = own_row + m * MATRIX_M + f / (MATRIX_N / 4u);
                vec2 outcome = outcomes[line];
                if (first_row + line < ROWS) {
                    store_sums(first_row + line, n * MATRIX_N + f % (MATRIX_N / 4u) * 4u, factors[factors_at + f],
                               outcome.x, outcome.y);
                }
            }
            subgroupBarrier();
        }
    }
}
