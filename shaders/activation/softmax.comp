#version 450
// Softmax or its logarithm along rows that are contiguous in memory. LANES adjacent invocations of a workgroup share a
// row; a step is UNIT adjacent elements. STAGGER: if not 0, each invocation has its own row and starts writing at
// a different position: invocation i at element i * STAGGER of its row, modulo the length. RAGGED: rows are contiguous,
// and a step may span the end of one and the start of the next. The generated prelude ends with row_coordinates(),
// load_step() and store_step().
#include "prelude.glsl"
#include "lib/math.glsl"
#include "lib/reduce.glsl"

#if LANES > 1
WORKGROUP_REDUCTION(lanes_max, float, reduce_max)
WORKGROUP_REDUCTION(lanes_sum, float, REDUCE_ADD)
#endif

// Combines a step's elements pairwise. Written without a loop, since some drivers do not unroll loops whose bounds
// halve.
#if UNIT == 1
#define STEP_TREE(F, v) v[0]
#elif UNIT == 4
#define STEP_TREE(F, v) F(F(v[0], v[1]), F(v[2], v[3]))
#elif UNIT == 8
#define STEP_TREE(F, v) F(F(F(v[0], v[1]), F(v[2], v[3])), F(F(v[4], v[5]), F(v[6], v[7])))
#endif

void main() {
    uint slot = workgroup_index() * (WORKGROUP / LANES) + gl_LocalInvocationIndex / LANES;
    uint lane = gl_LocalInvocationIndex % LANES;
    bool inside = slot < ROWS;
    uint c[x_RANK];
    c[x_RANK - 1u] = 0u;
    row_coordinates(min(slot, ROWS - 1u), c);
    uint from = x_at(c), to = y_at(c);
    uint end = inside ? LENGTH : 0u;
#if RAGGED
    // Round down to a whole step, whose first `skip` elements belong to the previous row.
    uint skip = from % UNIT;
    from -= skip;
    to -= skip;
    if (inside) end += skip;
#define OURS(at, k) ((at) + (k) - skip < LENGTH)
#else
#define OURS(at, k) true
#endif

    float v[UNIT];
    // The maximum by comparing bits: among positive floats the largest signed integer; if all are negative, the
    // smallest unsigned integer; NaN is above both infinities. Takes three operations per element, reduce_max() four.
    int positive = int(0x80000000u);
    uint negative = 0xff800000u, largest = 0u;
    for (uint at = lane * UNIT; at < end; at += LANES * UNIT) {
        load_step(from + at, v);
        for (uint k = 0; k < UNIT; ++k) v[k] = OURS(at, k) ? v[k] : uintBitsToFloat(0xff800000u);
        int of_signed[UNIT];
        uint of_unsigned[UNIT];
        for (uint k = 0; k < UNIT; ++k) {
            of_signed[k] = floatBitsToInt(v[k]);
            of_unsigned[k] = floatBitsToUint(v[k]);
        }
        positive = max(positive, STEP_TREE(max, of_signed));
        negative = min(negative, STEP_TREE(min, of_unsigned));
        largest = max(largest, STEP_TREE(max, of_unsigned));
    }
    float most = positive >= 0 ? intBitsToFloat(positive) : uintBitsToFloat(negative);
    if (largest > 0xff800000u) most = NOT_A_NUMBER;
#if LANES > 1
    most = lanes_max(most, lane, LANES);
#endif
    float total = 0.0;
    for (uint first = lane * UNIT; first < end; first += 32 * LANES * UNIT) {
        float part = 0.0;
        uint stop = min(first + 32 * LANES * UNIT, end);
        for (uint at = first; at < stop; at += LANES * UNIT) {
            load_step(from + at, v);
            for (uint k = 0; k < UNIT; ++k) {
                float power = exp_nonpositive(v[k] - most);
                v[k] = OURS(at, k) ? power : 0.0;
            }
            part += STEP_TREE(REDUCE_ADD, v);
        }
        total += part;
    }
#if LANES > 1
    total = lanes_sum(total, lane, LANES);
#endif
    // exp_nonpositive() is undefined for NaN. If the row has a NaN or +infinity, so has `most`, the row's maximum, and
    // every result is NaN.
    bool finite = !is_nan(most) && !is_inf(most);
#if LOG
    float shift = finite ? log_accurate(total) : NOT_A_NUMBER;
#else
    float scale = finite ? reciprocal(total) : NOT_A_NUMBER;
#endif
    uint first = STAGGER != 0u ? gl_LocalInvocationIndex * STAGGER % LENGTH : lane * UNIT;
    uint stop = from + end;
    from += first;
    to += first;
    for (uint at = lane * UNIT; at < end; at += LANES * UNIT) {
        load_step(from, v);
#if LOG
        for (uint k = 0; k < UNIT; ++k) v[k] = (v[k] - most) - shift;
#else
        for (uint k = 0; k < UNIT; ++k) v[k] = exp_nonpositive(v[k] - most) * scale;
#endif
#if RAGGED
        if (OURS(at, 0u) && OURS(at, UNIT - 1u)) store_step(to, v);
        else
            for (uint k = 0; k < UNIT; ++k)
                if (OURS(at, k)) y_word_store(to + k, floatBitsToUint(v[k]));
#else
        store_step(to, v);
#endif
        from += LANES * UNIT;
        to += LANES * UNIT;
        if (STAGGER != 0u && from >= stop) {
            from -= LENGTH;
            to -= LENGTH;
        }
    }
}
