#version 450
#extension GL_EXT_control_flow_attributes : require
#if SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
// Normalizes rows as "rows.comp" does, but holds them in registers, so that each element is read once and written once.
// LANES adjacent invocations of a workgroup share a row, each with up to STEPS steps of UNIT elements. SEGMENTED: a row
// is several segments of LENGTH elements. The variance is the mean of squared deviations from the mean. The generated
// prelude ends with row_coordinates(), segment_coordinates(), start_segment(), read_held() and write_held().
//
// PACKED: registers hold vectors of FLOAT16, VECTORS per step, which elements_of() converts: half the registers, and
// twice as many rows in flight.
#include "prelude.glsl"
#include "lib/math.glsl"
#include "lib/reduce.glsl"
#include "lib/reduce_lanes.glsl"

#if LANES > 1
LANES_REDUCTION(sum_lanes, float, REDUCE_ADD)
LANES_REDUCTION(sum_both, vec2, REDUCE_ADD)
#endif

#if PACKED
uvec4 v[STEPS][VECTORS];
// Each of the three rounds adds a different term that is always zero (no dispatch is so large), unknown to the
// compiler. If all rounds converted the same bits, it would keep the converted values in registers.
void take(uint step, uint round, out float e[UNIT]) {
    uvec4 w[VECTORS];
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k) w[k] = v[step][k] ^ (gl_NumWorkGroups[round] >> 31);
    elements_of(w, e);
}
#else
float v[STEPS][UNIT];
void take(uint step, uint round, out float e[UNIT]) { e = v[step]; }
#endif

// Sums over the row: the elements minus `shift`, and the squares of these differences.
vec2 row_sums(uint lane, uint end, float shift, uint round) {
    vec2 sums = vec2(0.0);
    [[unroll]] for (uint step = 0u; step < STEPS; ++step) {
        vec2 part = vec2(0.0);
        float e[UNIT];
        take(step, round, e);
        [[unroll]] for (uint k = 0u; k < UNIT; ++k) {
            float apart = e[k] - shift;
            part += vec2(apart, apart * apart);
        }
        if ((step * LANES + lane) * UNIT < end) sums += part;
    }
    return sums;
}

// Starts the segment that contains a step of the row, and returns the step's position in the segment.
uint start_step(uint at, inout uint c[x_RANK]) {
#if SEGMENTED
    uint segment = divided(at, LENGTH_DIVISOR);
    segment_coordinates(segment, c);
    start_segment(c);
    return at - segment * LENGTH;
#else
    return at;
#endif
}

void main() {
    uint slot = workgroup_index() * (WORKGROUP / LANES) + place() / LANES;
    uint lane = place() % LANES;
    bool inside = slot < ROWS;
    uint c[x_RANK], length = SEGMENTS * LENGTH, end = inside ? length : 0u;
    for (uint d = 0u; d < x_RANK; ++d) c[d] = 0u;
    row_coordinates(min(slot, ROWS - 1u), c);
#if !SEGMENTED
    start_segment(c);
#endif
    [[unroll]] for (uint step = 0u; step < STEPS; ++step) {
        uint at = (step * LANES + lane) * UNIT;
#if PACKED
        [[unroll]] for (uint k = 0u; k < VECTORS; ++k) v[step][k] = uvec4(0u);
#else
        [[unroll]] for (uint k = 0u; k < UNIT; ++k) v[step][k] = 0.0;
#endif
        if (at < end) read_held(start_step(at, c), v[step]);
    }
    float count = float(length), mean = 0.0, variance = 0.0, factor = 1.0;
#if USE_MEAN
    float sum = row_sums(lane, end, 0.0, 0u).x;
#if LANES > 1
    sum = sum_lanes(sum, lane);
#endif
    mean = divide(sum, count);
#endif
#if USE_VARIANCE || USE_MEAN
    // Subtracting the mean of the deviations from the mean corrects the mean's rounding error, however far the mean is
    // from 0.
    vec2 apart = row_sums(lane, end, mean, 1u);
#if LANES > 1
    apart = sum_both(apart, lane);
#endif
#if USE_MEAN
    float rest = apart.x / count;
    if (!is_inf(mean)) mean += rest;
    variance = divide(apart.y - apart.x * rest, count);
    variance = not_negative(variance);
#else
    variance = divide(apart.y, count);
#endif
#endif
#if USE_VARIANCE
    factor = reciprocal(sqrt_accurate(variance + EPSILON));
#endif
#ifdef variance_VALUE
    if (inside && lane == 0u) {
        for (uint d = 0u; d < x_RANK; ++d) c[d] = 0u;
        row_coordinates(slot, c);
        mean_store(mean_at(c), mean);
        variance_store(variance_at(c), variance);
    }
#endif
    row_mean = mean;
    row_factor = factor;
    [[unroll]] for (uint step = 0u; step < STEPS; ++step) {
        uint at = (step * LANES + lane) * UNIT;
        if (at < end) {
            at = start_step(at, c);
            float e[UNIT];
            take(step, 2u, e);
            write_held(at, e);
        }
    }
}
