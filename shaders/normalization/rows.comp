#version 450
// Normalizes rows, statistics and all: LANES neighbours of a workgroup share a row, which is SEGMENTS stretches of
// LENGTH elements; UNIT adjacent elements make a step. The end of the generated prelude holds the coordinates of rows
// and segments, step_sum(), start_segment() and write_step(), which uses row_mean and row_factor.
#include "prelude.glsl"
#include "lib/compensated.glsl"
#include "lib/reduce.glsl"

#if LANES > 1
WORKGROUP_REDUCTION(sum_lanes, float, REDUCE_ADD)
#endif

// The sum of x - shift, or of its square, over the row.
float row_sum(uint c[x_RANK], uint lane, uint segments, float shift, bool squared) {
    CompensatedSum sum = CompensatedSum(0.0, 0.0);
    for (uint segment = 0u; segment < segments; ++segment) {
        segment_coordinates(segment, c);
        uint from = x_at(c);
        for (uint first = lane * UNIT; first < LENGTH; first += 32u * LANES * UNIT) {
            float part = 0.0;
            uint stop = min(first + 32u * LANES * UNIT, LENGTH);
            for (uint at = first; at < stop; at += LANES * UNIT) part += step_sum(from, at, shift, squared);
            add_term(sum, part);
        }
    }
#if LANES > 1
    return sum_lanes(total_of(sum), lane, LANES);
#else
    return total_of(sum);
#endif
}

void main() {
    uint slot = workgroup_index() * (WORKGROUP / LANES) + gl_LocalInvocationIndex / LANES;
    uint lane = gl_LocalInvocationIndex % LANES;
    bool inside = slot < ROWS;
    uint segments = inside ? SEGMENTS : 0u;
    uint c[x_RANK];
    for (uint d = 0u; d < x_RANK; ++d) c[d] = 0u;
    row_coordinates(min(slot, ROWS - 1u), c);

    float count = float(SEGMENTS * LENGTH);
#if USE_MEAN
    row_mean = divide(row_sum(c, lane, segments, 0.0, false), count);
#endif
#if USE_VARIANCE
    float variance = divide(row_sum(c, lane, segments, row_mean, true), count);
    row_factor = reciprocal(sqrt_accurate(variance + EPSILON));
#endif
#ifdef variance_VALUE
    if (inside && lane == 0u) {
        mean_store(mean_at(c), row_mean);
        variance_store(variance_at(c), variance);
    }
#endif
    for (uint segment = 0u; segment < segments; ++segment) {
        segment_coordinates(segment, c);
        start_segment(c);
        for (uint at = lane * UNIT; at < LENGTH; at += LANES * UNIT) write_step(at);
    }
}
