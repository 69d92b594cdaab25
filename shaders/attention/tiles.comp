#version 450
#extension GL_EXT_control_flow_attributes : require
// Attention by tiles of ROWS_TILE queries and KEYS_TILE keys, whose scores stay in the workgroup: each row keeps its
// largest score so far, and rescales earlier sums when a larger score comes. Queries and keys are staged in shared
// memory DEPTH elements at a time (AT_ONCE: all elements; WHOLE: these divide a row), values VALUES_TILE keys at a
// time, while the next ones are loaded to registers. ACROSS adjacent invocations share the same rows: each takes every
// ACROSS-th key of a tile, and four columns of the result. The prelude ends with q_unit(), k_unit() and v_unit():
// adjacent elements, which q_four(), k_four() and v_four() decode.
#include "prelude.glsl"
#include "lib/math.glsl"
#include "lib/reduce.glsl"
#include "attention/mask.glsl"
#include "attention/part.glsl"

const uint DOWN = WORKGROUP / ACROSS, SHARES = ACROSS / 4u;
const uint MY_ROWS = ROWS_TILE / DOWN, MY_KEYS = KEYS_TILE / ACROSS, MY_FOURS = COLUMNS / (4u * ACROSS);
// Row pitches in vectors: odd, so that adjacent rows begin in different banks.
const uint STAGED_ROW = DEPTH / 4u + 1u, WEIGHTS_ROW = KEYS_TILE / 4u + 1u;

shared vec4 staged[STAGED];
shared vec4 weights[ROWS_TILE * WEIGHTS_ROW];
shared vec4 exchanged[ROWS_TILE * SHARES];
shared uint row_begins[ROWS_TILE];

// A workgroup stages COUNT rows of WIDTH elements in units. MINE: the number of an invocation's units. PLACE: the row
// of an invocation's n-th unit, and the unit's index in that row. The index is the same for all units of an invocation
// if the units of a row divide the workgroup.
#define UNITS(T, WIDTH) ((WIDTH) / T##_UNIT)
#define MINE(T, COUNT, WIDTH) (((COUNT) * UNITS(T, WIDTH) + WORKGROUP - 1u) / WORKGROUP)
#define PLACE(T, WIDTH, n) \
    const uint units = UNITS(T, WIDTH); \
    const bool divides = WORKGROUP % units == 0u; \
    uint i = gl_LocalInvocationIndex + n * WORKGROUP; \
    uint row = divides ? gl_LocalInvocationIndex / units + n * (WORKGROUP / units) : i / units; \
    uint unit = divides ? gl_LocalInvocationIndex % units : i % units;
#define IS_STAGED(T, COUNT, WIDTH) ((COUNT) * UNITS(T, WIDTH) % WORKGROUP == 0u || row < (COUNT))

// Loads these units, starting at column COLUMN, into RAW. BEGINS: start of row `row` in T; END: the row's length; WHOLE:
// all columns exist.
#define FETCH(T, RAW, COUNT, WIDTH, COLUMN, BEGINS, END, WHOLE) \
    [[unroll]] for (uint n = 0u; n < MINE(T, COUNT, WIDTH); ++n) { \
        PLACE(T, WIDTH, n) \
        T##_RAW raw; \
        if (IS_STAGED(T, COUNT, WIDTH)) raw = T##_unit(BEGINS, (COLUMN) + unit * T##_UNIT, END, WHOLE); \
        RAW[n] = raw; \
    }

// Decodes and stores RAW to staged[TO...], with a row pitch of SPAN.
#define KEEP(T, RAW, COUNT, WIDTH, SPAN, TO) \
    [[unroll]] for (uint n = 0u; n < MINE(T, COUNT, WIDTH); ++n) { \
        PLACE(T, WIDTH, n) \
        [[unroll]] for (uint k = 0u; k < T##_UNIT / 4u; ++k) \
            if (IS_STAGED(T, COUNT, WIDTH)) { \
                staged[(TO) + row * (SPAN) + unit * (T##_UNIT / 4u) + k] = T##_four(RAW[n], k); \
            } \
    }

// After the last query and key, these are loaded again: their scores are not used. Values after the last key are zeros,
// since their weights are.
#define FETCH_QUERIES_AND_KEYS(TILE, COLUMN) \
    FETCH(q, raw_q, ROWS_TILE, DEPTH, COLUMN, row_begins[row], SIZE, WHOLE == 1) \
    FETCH(k, raw_k, KEYS_TILE, DEPTH, COLUMN, keys_begin + min((TILE) + row, KEYS - 1u) * k_STRIDE_2, SIZE, WHOLE == 1)
#define FETCH_VALUES(TILE) \
    FETCH(v, raw_v, VALUES_TILE, COLUMNS, 0u, values_begin + ((TILE) + row) * v_STRIDE_2, \
          (TILE) + row < stop ? VALUE_SIZE : 0u, false)

void main() {
    uint group = workgroup_index();
    if (group >= COUNT) return;
    uint c[4];
    coordinates(group, c);
    batch = c[0], key_head = c[1], part = c[2];
    limits(batch);
    uint first_row = c[3] * ROWS_TILE, tx = gl_LocalInvocationIndex % ACROSS, ty = gl_LocalInvocationIndex / ACROSS;
    for (uint i = gl_LocalInvocationIndex; i < ROWS_TILE; i += WORKGROUP) {
        row_begins[i] = query_from(min(first_row + i, ROWS - 1u));
    }
    uint mask_rows[MY_ROWS], relative_rows[MY_ROWS];
    [[unroll]] for (uint i = 0u; i < MY_ROWS; ++i) {
        uint row = min(first_row + ty + i * DOWN, ROWS - 1u);
        mask_rows[i] = mask_from(row);
#ifdef relative_RANK
        relative_rows[i] = relative_from(row);
#else
        relative_rows[i] = 0u;
#endif
    }
    uint keys_begin = k_at(uint[4](batch, key_head, 0u, 0u)), values_begin = v_at(uint[4](batch, key_head, 0u, 0u));
    uint first = part * PART_KEYS, stop = min(first + PART_KEYS, end);

    float most[MY_ROWS], total[MY_ROWS];
    vec4 sums[MY_ROWS][MY_FOURS];
    [[unroll]] for (uint i = 0u; i < MY_ROWS; ++i) {
        most[i] = LEAST;
        total[i] = 0.0;
        [[unroll]] for (uint j = 0u; j < MY_FOURS; ++j) sums[i][j] = vec4(0.0);
    }
    q_RAW raw_q[MINE(q, ROWS_TILE, DEPTH)];
    k_RAW raw_k[MINE(k, KEYS_TILE, DEPTH)];
    v_RAW raw_v[MINE(v, VALUES_TILE, COLUMNS)];
    barrier();
    FETCH_QUERIES_AND_KEYS(first, 0u)
    for (uint tile = first; tile < stop; tile += KEYS_TILE) {
        float s[MY_ROWS][MY_KEYS];
        [[unroll]] for (uint i = 0u; i < MY_ROWS; ++i) {
            [[unroll]] for (uint j = 0u; j < MY_KEYS; ++j) s[i][j] = 0.0;
        }
#if AT_ONCE
        {
#else
        for (uint column = 0u; column < SIZE; column += DEPTH) {
#endif
            barrier();
            KEEP(q, raw_q, ROWS_TILE, DEPTH, STAGED_ROW, 0u)
            KEEP(k, raw_k, KEYS_TILE, DEPTH, STAGED_ROW, ROWS_TILE * STAGED_ROW)
            barrier();
#if AT_ONCE
            FETCH_VALUES(tile)
#else
            if (column + DEPTH < SIZE) {
                FETCH_QUERIES_AND_KEYS(tile, column + DEPTH)
            } else {
                FETCH_VALUES(tile)
            }
#endif
            for (uint d = 0u; d < DEPTH / 4u; ++d) {
                vec4 q[MY_ROWS];
                [[unroll]] for (uint i = 0u; i < MY_ROWS; ++i) q[i] = staged[(ty + i * DOWN) * STAGED_ROW + d];
                [[unroll]] for (uint j = 0u; j < MY_KEYS; ++j) {
                    vec4 k = staged[(ROWS_TILE + tx + j * ACROSS) * STAGED_ROW + d];
                    [[unroll]] for (uint i = 0u; i < MY_ROWS; ++i) {
                        s[i][j] += q[i].x * k.x;
                        s[i][j] += q[i].y * k.y;
                        s[i][j] += q[i].z * k.z;
                        s[i][j] += q[i].w * k.w;
                    }
                }
            }
        }
        [[unroll]] for (uint i = 0u; i < MY_ROWS; ++i) {
            float own = LEAST;
            [[unroll]] for (uint j = 0u; j < MY_KEYS; ++j) {
                uint key = tile + tx + j * ACROSS;
                s[i][j] = key < stop ? scored(s[i][j], relative_rows[i], mask_rows[i], key) : LEAST;
                own = reduce_max(own, s[i][j]);
            }
            exchanged[(ty + i * DOWN) * SHARES + tx / 4u][tx & 3u] = own;
        }
        barrier();
        [[unroll]] for (uint i = 0u; i < MY_ROWS; ++i) {
            float larger = most[i];
            [[unroll]] for (uint k = 0u; k < SHARES; ++k) {
                vec4 a = exchanged[(ty + i * DOWN) * SHARES + k];
                larger = reduce_max(larger, reduce_max(reduce_max(a.x, a.y), reduce_max(a.z, a.w)));
            }
            float shift = shift_of(larger), factor = exp_nonpositive(most[i] - shift), sum = 0.0;
            most[i] = larger;
            [[unroll]] for (uint j = 0u; j < MY_KEYS; ++j) {
                float weight = exp_nonpositive(s[i][j] - shift);
                sum += weight;
                weights[(ty + i * DOWN) * WEIGHTS_ROW + (tx + j * ACROSS) / 4u][tx & 3u] = weight;
            }
            total[i] = total[i] * factor + sum;
            [[unroll]] for (uint j = 0u; j < MY_FOURS; ++j) sums[i][j] *= factor;
        }
        for (uint chunk = 0u; chunk < KEYS_TILE; chunk += VALUES_TILE) {
            if (chunk > 0u) barrier();
            KEEP(v, raw_v, VALUES_TILE, COLUMNS, COLUMNS / 4u, 0u)
            barrier();
            if (chunk + VALUES_TILE < KEYS_TILE) {
                FETCH_VALUES(tile + chunk + VALUES_TILE)
            } else if (tile + KEYS_TILE < stop) {
                FETCH_QUERIES_AND_KEYS(tile + KEYS_TILE, 0u)
            }
            for (uint four = 0u; four < VALUES_TILE / 4u; ++four) {
                vec4 w[MY_ROWS];
                [[unroll]] for (uint i = 0u; i < MY_ROWS; ++i) {
                    w[i] = weights[(ty + i * DOWN) * WEIGHTS_ROW + chunk / 4u + four];
                }
                [[unroll]] for (uint k = 0u; k < 4u; ++k) {
                    [[unroll]] for (uint j = 0u; j < MY_FOURS; ++j) {
                        vec4 v = staged[(four * 4u + k) * (COLUMNS / 4u) + tx + j * ACROSS];
                        [[unroll]] for (uint i = 0u; i < MY_ROWS; ++i) sums[i][j] += w[i][k] * v;
                    }
                }
            }
        }
    }
    barrier();
    [[unroll]] for (uint i = 0u; i < MY_ROWS; ++i) exchanged[(ty + i * DOWN) * SHARES + tx / 4u][tx & 3u] = total[i];
    barrier();
    [[unroll]] for (uint i = 0u; i < MY_ROWS; ++i) {
        uint row = first_row + ty + i * DOWN;
        if (row >= ROWS) continue;
        vec4 all = vec4(0.0);
        [[unroll]] for (uint k = 0u; k < SHARES; ++k) all += exchanged[(ty + i * DOWN) * SHARES + k];
        float weight = (all.x + all.y) + (all.z + all.w);
#if IN_PARTS
        if (tx == 0u) store_statistics(row, most[i], weight);
#endif
        [[unroll]] for (uint j = 0u; j < MY_FOURS; ++j) {
            store_sums(row, (tx + j * ACROSS) * 4u, sums[i][j], most[i], weight);
        }
    }
}
