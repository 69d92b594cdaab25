#version 450
#extension GL_EXT_control_flow_attributes : require
// Normalizes rows in one dispatch: statistics first, then the result. LANES adjacent invocations of a workgroup share a
// row of SEGMENTS segments of LENGTH elements; a step is UNIT adjacent elements. STAGGER: if not 0, each invocation has
// its own row and starts writing at a different position: invocation i at element i * STAGGER of its row, modulo
// the length. The generated prelude ends with row_coordinates(), segment_coordinates(), step_sums(), start_segment()
// and write_step(), which uses row_mean and row_factor.
#include "prelude.glsl"
#include "lib/compensated.glsl"
#include "lib/math.glsl"
#include "lib/reduce.glsl"

#if LANES > 1
WORKGROUP_REDUCTION(sum_lanes, float, REDUCE_ADD)
#endif

// The sum of x - shift, or of its square, over the lane's share of the row.
float lane_sum(uint c[x_RANK], uint lane, float shift, bool squared) {
    CompensatedSum sum = CompensatedSum(0.0, 0.0);
    for (uint segment = 0u; segment < SEGMENTS; ++segment) {
        segment_coordinates(segment, c);
        uint from = x_at(c);
        for (uint first = lane * UNIT; first < LENGTH; first += 32u * LANES * UNIT) {
            float part = 0.0;
            uint stop = min(first + 32u * LANES * UNIT, LENGTH);
            for (uint at = first; at < stop; at += LANES * UNIT) {
                vec2 sums = step_sums(from, at, shift);
                part += squared ? sums.y : sums.x;
            }
            add_term(sum, part);
        }
    }
    return total_of(sum);
}

// The same sum over the whole row. Invocations beyond the rows skip their loops by a branch, not by bounds of 0: a loop
// that a whole subgroup skips is run once by lavapipe 26.1.6, with no active invocation, and crashes if a buffer's
// address comes from an inner loop.
float row_sum(uint c[x_RANK], uint lane, bool inside, float shift, bool squared) {
    float sum = 0.0;
    if (inside) sum = lane_sum(c, lane, shift, squared);
#if LANES > 1
    sum = sum_lanes(sum, lane, LANES);
#endif
    return sum;
}

#if USE_MEAN && USE_VARIANCE
// Count, mean and sum of squared deviations from the mean, for part of a row. The mean is a compensated sum: far from
// 0, its rounding error would not be small compared with the differences between means, which enter the variance.
struct Moments {
    float count;
    CompensatedSum mean;
    float squares;
};

Moments merge_moments(Moments a, Moments b) {
    if (a.count == 0.0) return b;
    float count = a.count + b.count;
    float share = b.count / count, apart = (b.mean.sum - a.mean.sum) + (b.mean.lost - a.mean.lost);
    CompensatedSum mean = a.mean;
    add_term(mean, apart * share);
    return Moments(count, mean, (a.squares + b.squares) + apart * apart * a.count * share);
}
#if LANES > 1
WORKGROUP_REDUCTION(merge_lanes, Moments, merge_moments)
#endif

// Returns the shift for the first block of a row of `steps` steps: the mean of the first half of the block's steps, at
// most eight. The further a shift is from the block's mean, the more digits cancel. In any order, the mean of a half or
// a quarter of the elements is at most 1 or 1.8 standard deviations from the mean of all; a single element might be an
// outlier.
float first_shift(uint from, uint first, uint steps) {
    uint some = min((steps + 1u) / 2u, 8u);
    float guess = step_sums(from, first, 0.0).x / float(UNIT), sum = 0.0;
    for (uint step = 1u; step < some; ++step) sum += step_sums(from, first + step * LANES * UNIT, guess).x;
    return guess + sum / float(some * UNIT);
}

// Reads the lane's share of the row in blocks of 32 steps. A block sums differences from the mean of the previous
// blocks; its moments are then merged with theirs.
Moments lane_moments(uint c[x_RANK], uint lane) {
    Moments row = Moments(0.0, CompensatedSum(0.0, 0.0), 0.0);
    for (uint segment = 0u; segment < SEGMENTS; ++segment) {
        segment_coordinates(segment, c);
        uint from = x_at(c);
        for (uint first = lane * UNIT; first < LENGTH; first += 32u * LANES * UNIT) {
            uint steps = min((LENGTH - first + LANES * UNIT - 1u) / (LANES * UNIT), 32u);
            float shift = row.count > 0.0 ? row.mean.sum : first_shift(from, first, steps);
            vec2 sums = vec2(0.0);
            uint step = 0u;
#if TOGETHER > 1
            // This loop has TOGETHER loads in flight at the same time.
            for (; step + TOGETHER <= steps; step += TOGETHER) {
                [[unroll]] for (uint k = 0u; k < TOGETHER; ++k) {
                    sums += step_sums(from, first + (step + k) * LANES * UNIT, shift);
                }
            }
#endif
            for (; step < steps; ++step) sums += step_sums(from, first + step * LANES * UNIT, shift);
            float count = float(steps * UNIT);
            float apart = sums.x / count;
            float squares = sums.y - sums.x * apart;
            CompensatedSum mean = CompensatedSum(shift, 0.0);
            add_term(mean, apart);
            row = merge_moments(row, Moments(count, mean, not_negative(squares)));
        }
    }
    return row;
}

Moments row_moments(uint c[x_RANK], uint lane, bool inside) {
    Moments row = Moments(0.0, CompensatedSum(0.0, 0.0), 0.0);
    if (inside) row = lane_moments(c, lane);
#if LANES > 1
    row = merge_lanes(row, lane, LANES);
#endif
    return row;
}
#endif

// Computes the mean and the factor of an invocation's row.
void start_row(uint c[x_RANK], uint lane, bool inside) {
    float count = float(SEGMENTS * LENGTH), mean = 0.0, factor = 1.0;
#if USE_MEAN && USE_VARIANCE
    Moments moments = row_moments(c, lane, inside);
    mean = total_of(moments.mean);
    float variance = divide(moments.squares, count);
    factor = reciprocal(sqrt_accurate(variance + EPSILON));
#elif USE_MEAN
    mean = divide(row_sum(c, lane, inside, 0.0, false), count);
#elif USE_VARIANCE
    float variance = divide(row_sum(c, lane, inside, 0.0, true), count);
    factor = reciprocal(sqrt_accurate(variance + EPSILON));
#endif
#ifdef variance_VALUE
    if (inside && lane == 0u) {
        mean_store(mean_at(c), mean);
        variance_store(variance_at(c), variance);
    }
#endif
    row_mean = mean;
    row_factor = factor;
}

void main() {
    uint slot = workgroup_index() * (WORKGROUP / LANES) + gl_LocalInvocationIndex / LANES;
    uint lane = gl_LocalInvocationIndex % LANES;
    bool inside = slot < ROWS;
    uint c[x_RANK];
    for (uint d = 0u; d < x_RANK; ++d) c[d] = 0u;
    row_coordinates(min(slot, ROWS - 1u), c);
    start_row(c, lane, inside);
    if (!inside) return;
    for (uint segment = 0u; segment < SEGMENTS; ++segment) {
        segment_coordinates(segment, c);
        start_segment(c);
        uint at = STAGGER != 0u ? gl_LocalInvocationIndex * STAGGER % LENGTH : lane * UNIT;
        for (uint done = lane * UNIT; done < LENGTH; done += LANES * UNIT) {
            write_step(at);
            at += LANES * UNIT;
            if (STAGGER != 0u && at >= LENGTH) at = 0u;
        }
    }
}
