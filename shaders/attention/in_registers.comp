#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix2 : require
#pragma use_vulkan_memory_model
// FLOAT16 attention on matrix units, as in "matrices.comp", for devices that reduce and convert matrices
// (NV_cooperative_matrix2): scores become weights in registers. No masks or biases; MATRIX_N equals MATRIX_K.
// HALF_WEIGHTS: weights are rounded to FLOAT16 once, as there.
#include "prelude.glsl"
#include "lib/math.glsl"
#include "lib/reduce.glsl"
#include "attention/mask.glsl"
#include "attention/part.glsl"

const uint PER = 8u, SUBGROUPS = ROWS_TILE / SUB_ROWS;
// Row lengths in vectors of eight, and row pitches: odd, so that rows begin in different banks.
const uint KEY_LINE = DEPTH / PER, KEY_STEP = KEY_LINE | 1u, VALUE_LINE = COLUMNS / PER, VALUE_STEP = VALUE_LINE | 1u;
const uint VALUES_AT = KEYS_TILE * KEY_STEP;
const uint MATRICES_M = SUB_ROWS / MATRIX_M, DEPTHS = DEPTH / MATRIX_K, KEYS_N = KEYS_TILE / MATRIX_N;
const uint COLUMNS_N = COLUMNS / MATRIX_N;
const uint VECTORS_OF_K = (KEYS_TILE * KEY_LINE + WORKGROUP - 1u) / WORKGROUP;
const uint VECTORS_OF_V = (KEYS_TILE * VALUE_LINE + WORKGROUP - 1u) / WORKGROUP;
const uint FOURS = MATRIX_N / 4u, STAGED = MATRIX_M * FOURS;
const float LOG2_E = 1.44269504, LN_2 = 0.693147181;
// Base-2 exponent of the largest weight: the scale keeps small weights precise in FLOAT16.
const float LARGEST_WEIGHT = 12.0;

// Queries, then the keys and values of a tile, and at the end one matrix of results per subgroup.
shared uvec4 tiles[TILES];
shared vec2 outcomes[ROWS_TILE];
// Initial scores of the matrix that contains the last key: 0, or -infinity for columns after it.
shared vec4 last_keys[STAGED];

#define MATRIX_OF_A coopmat<float16_t, gl_ScopeSubgroup, MATRIX_M, MATRIX_K, gl_MatrixUseA>
#define MATRIX_OF_B coopmat<float16_t, gl_ScopeSubgroup, MATRIX_K, MATRIX_N, gl_MatrixUseB>
#define MATRIX_OF_SUMS coopmat<float, gl_ScopeSubgroup, MATRIX_M, MATRIX_N, gl_MatrixUseAccumulator>
#define MATRIX_OF_HALVES coopmat<float16_t, gl_ScopeSubgroup, MATRIX_M, MATRIX_N, gl_MatrixUseAccumulator>

uint first_row, stop;
// This invocation's vectors of the next tile, and the position of each in the row of key 0.
uvec4 next_k[VECTORS_OF_K], next_v[VECTORS_OF_V];
uint from_k[VECTORS_OF_K], from_v[VECTORS_OF_V];

uint vector_of(uint l) { return l * WORKGROUP + gl_LocalInvocationIndex; }

// Vectors beyond a row's end load the row's last vector instead.
void begin_loads(uint keys_begin, uint values_begin) {
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_K; ++l) {
        from_k[l] = (keys_begin + min(vector_of(l) % KEY_LINE * PER, SIZE - PER)) / PER;
    }
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_V; ++l) {
        from_v[l] = (values_begin + min(vector_of(l) % VALUE_LINE * PER, VALUE_SIZE - PER)) / PER;
    }
}

// Loads the next tile, without branches, so that no load waits for another.
void load(uint tile) {
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_K; ++l) {
        next_k[l] = k_vector(from_k[l] + min(tile + vector_of(l) / KEY_LINE, stop - 1u) * (k_STRIDE_2 / PER));
    }
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_V; ++l) {
        next_v[l] = v_vector(from_v[l] + min(tile + vector_of(l) / VALUE_LINE, stop - 1u) * (v_STRIDE_2 / PER));
    }
}

// Zeroes keys after the last one, and the padding of whole matrices.
void cut_off(uint tile) {
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_K; ++l) {
        bool is_there = tile + vector_of(l) / KEY_LINE < stop && vector_of(l) % KEY_LINE * PER < SIZE;
        if (!is_there) next_k[l] = uvec4(0u);
    }
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_V; ++l) {
        bool is_there = tile + vector_of(l) / VALUE_LINE < stop && vector_of(l) % VALUE_LINE * PER < VALUE_SIZE;
        if (!is_there) next_v[l] = uvec4(0u);
    }
}

void keep(uint tile) {
    if (tile + KEYS_TILE > stop || SIZE < DEPTH || VALUE_SIZE < COLUMNS) cut_off(tile);
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_K; ++l) {
        uint i = vector_of(l);
        bool is_mine = KEYS_TILE * KEY_LINE % WORKGROUP == 0u || i < KEYS_TILE * KEY_LINE;
        if (is_mine) tiles[i / KEY_LINE * KEY_STEP + i % KEY_LINE] = next_k[l];
    }
    [[unroll]] for (uint l = 0u; l < VECTORS_OF_V; ++l) {
        uint i = vector_of(l);
        bool is_mine = KEYS_TILE * VALUE_LINE % WORKGROUP == 0u || i < KEYS_TILE * VALUE_LINE;
        if (is_mine) tiles[VALUES_AT + i / VALUE_LINE * VALUE_STEP + i % VALUE_LINE] = next_v[l];
    }
}

float larger(const in float a, const in float b) { return max(a, b); }

float sum(const in float a, const in float b) { return a + b; }

// Copies per-row values of a matrix, equal in all columns, to per-row variables.
#define TELL(MATRIX, WHAT) \
    coopMatStore(MATRIX, tiles, staged_at, FOURS, gl_CooperativeMatrixLayoutRowMajor); \
    subgroupBarrier(); \
    for (uint row = lane; row < MATRIX_M; row += SUBGROUP) \
        outcomes[own_row + m * MATRIX_M + row].WHAT = uintBitsToFloat(tiles[staged_at + row * FOURS].x); \
    subgroupBarrier();

void main() {
    uint group = workgroup_index();
    if (group >= COUNT) return;
    uint c[4];
    coordinates(group, c);
    batch = c[0], key_head = c[1], part = c[2];
    limits(batch);
    first_row = c[3] * ROWS_TILE;
    uint own_row = gl_SubgroupID * SUB_ROWS, lane = gl_SubgroupInvocationID, staged_at = gl_SubgroupID * STAGED;

    for (uint i = gl_LocalInvocationIndex; i < ROWS_TILE * KEY_LINE; i += WORKGROUP) {
        uint line = i / KEY_LINE, at = i % KEY_LINE * PER;
        uvec4 bits = uvec4(0u);
        if (first_row + line < ROWS && at < SIZE) bits = q_vector((query_from(first_row + line) + at) / PER);
        // The factor of the scores below must be positive, so a negative SCALE negates the queries instead.
        if (SCALE < 0.0) bits ^= 0x80008000u;
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
    // A scale of 0 is replaced by a tiny one: the scaled scores are equal with either, but infinity * 0 would be NaN.
    float scale = (SCALE == 0.0 ? 1e-30 : abs(SCALE)) * LOG2_E;

    uint keys_begin = k_at(uint[4](batch, key_head, 0u, 0u)), values_begin = v_at(uint[4](batch, key_head, 0u, 0u));
    uint first = part * PART_KEYS;
    stop = min(first + PART_KEYS, end);
    // The largest score of each row, times log2(e).
    MATRIX_OF_SUMS most[MATRICES_M];
    MATRIX_OF_SUMS total[MATRICES_M];
    MATRIX_OF_SUMS sums[MATRICES_M][COLUMNS_N];
    [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
        most[m] = MATRIX_OF_SUMS(LEAST);
        total[m] = MATRIX_OF_SUMS(0.0);
        [[unroll]] for (uint n = 0u; n < COLUMNS_N; ++n) sums[m][n] = MATRIX_OF_SUMS(0.0);
    }
    for (uint f = gl_LocalInvocationIndex; f < STAGED; f += WORKGROUP) {
        uint key = f % FOURS * 4u, there = stop % MATRIX_N;
        last_keys[f] = mix(vec4(LEAST), vec4(0.0), lessThan(uvec4(key, key + 1u, key + 2u, key + 3u), uvec4(there)));
    }
    begin_loads(keys_begin, values_begin);
    if (first < stop) load(first);
    for (uint tile = first; tile < stop; tile += KEYS_TILE) {
        keep(tile);
        barrier();
        load(tile + KEYS_TILE);
        MATRIX_OF_SUMS s[MATRICES_M][KEYS_N];
        [[unroll]] for (uint n = 0u; n < KEYS_N; ++n) {
            MATRIX_OF_SUMS begin = MATRIX_OF_SUMS(0.0);
            uint key = tile + n * MATRIX_N;
            if (key >= stop) {
                begin = MATRIX_OF_SUMS(LEAST);
            } else if (key + MATRIX_N > stop) {
                coopMatLoad(begin, last_keys, 0u, FOURS, gl_CooperativeMatrixLayoutRowMajor);
            }
            [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) s[m][n] = begin;
            [[unroll]] for (uint d = 0u; d < DEPTHS; ++d) {
                MATRIX_OF_B k;
                coopMatLoad(k, tiles, n * MATRIX_N * KEY_STEP + d * MATRIX_K / PER, KEY_STEP,
                            gl_CooperativeMatrixLayoutColumnMajor);
                [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) s[m][n] = coopMatMulAdd(q[m][d], k, s[m][n]);
            }
        }
        MATRIX_OF_SUMS shift[MATRICES_M];
        [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
            MATRIX_OF_SUMS now = s[m][0], top, factor;
            [[unroll]] for (uint n = 1u; n < KEYS_N; ++n) {
                [[unroll]] for (uint i = 0u; i < now.length(); ++i) now[i] = max(now[i], s[m][n][i]);
            }
            coopMatReduceNV(top, now, gl_CooperativeMatrixReduceRowNV, larger);
            [[unroll]] for (uint i = 0u; i < top.length(); ++i) {
                float larger_one = max(top[i] * scale, most[m][i]), from = larger_one == LEAST ? 0.0 : larger_one;
                factor[i] = exp2(most[m][i] - from);
                shift[m][i] = LARGEST_WEIGHT - from;
                most[m][i] = larger_one;
            }
            total[m] = total[m] * factor;
            [[unroll]] for (uint n = 0u; n < COLUMNS_N; ++n) sums[m][n] = sums[m][n] * factor;
        }
        [[unroll]] for (uint k = 0u; k < KEYS_N; ++k) {
            MATRIX_OF_A high[MATRICES_M];
            MATRIX_OF_A low[MATRICES_M];
            [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
#if HALF_WEIGHTS
                MATRIX_OF_SUMS weights;
                [[unroll]] for (uint i = 0u; i < weights.length(); ++i) {
                    weights[i] = exp2(fma(s[m][k][i], scale, shift[m][i]));
                }
                total[m] = total[m] + weights;
                high[m] = MATRIX_OF_A(MATRIX_OF_HALVES(weights));
#else
                MATRIX_OF_SUMS weights;
                MATRIX_OF_SUMS first_bits;
                [[unroll]] for (uint i = 0u; i < weights.length(); ++i) {
                    weights[i] = exp2(fma(s[m][k][i], scale, shift[m][i]));
                    // Keep the upper ten bits of the mantissa, so that the conversion is exact. (NVIDIA's compiler
                    // removes a conversion to FLOAT16 and back.)
                    first_bits[i] = uintBitsToFloat(floatBitsToUint(weights[i]) & 0xffffe000u);
                }
                total[m] = total[m] + weights;
                high[m] = MATRIX_OF_A(MATRIX_OF_HALVES(first_bits));
                low[m] = MATRIX_OF_A(MATRIX_OF_HALVES(weights - first_bits));
#endif
            }
            [[unroll]] for (uint n = 0u; n < COLUMNS_N; ++n) {
                MATRIX_OF_B v;
                coopMatLoad(v, tiles, VALUES_AT + k * MATRIX_K * VALUE_STEP + n * MATRIX_N / PER, VALUE_STEP,
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
    [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
        MATRIX_OF_SUMS weight;
        coopMatReduceNV(weight, total[m], gl_CooperativeMatrixReduceRowNV, sum);
        TELL(most[m], x)
        TELL(weight, y)
#if IN_PARTS
        for (uint row = lane; row < MATRIX_M; row += SUBGROUP) {
            uint line = own_row + m * MATRIX_M + row;
            vec2 outcome = outcomes[line];
            if (first_row + line < ROWS) store_statistics(first_row + line, outcome.x * LN_2, outcome.y);
        }
#endif
        [[unroll]] for (uint n = 0u; n < COLUMNS_N; ++n) {
            coopMatStore(sums[m][n], tiles, staged_at, FOURS, gl_CooperativeMatrixLayoutRowMajor);
            subgroupBarrier();
            for (uint f = lane; f < STAGED; f += SUBGROUP) {
                uint line = own_row + m * MATRIX_M + f / FOURS;
                vec2 outcome = outcomes[line];
                if (first_row + line < ROWS) {
                    vec4 four = uintBitsToFloat(tiles[staged_at + f]);
                    store_sums(first_row + line, n * MATRIX_N + f % FOURS * 4u, four, outcome.x, outcome.y);
                }
            }
            subgroupBarrier();
        }
    }
}
