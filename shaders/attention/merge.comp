#version 450
#extension GL_EXT_control_flow_attributes : require
// Merges the partial results of each row of an attention, in order (see "attention/part.glsl").
#include "prelude.glsl"
#include "lib/math.glsl"
#include "lib/reduce.glsl"

result_VALUE value(uint c[RANK]) {
    uint from = sums_at(c), told = statistics_at(c);
    float most = uintBitsToFloat(0xff800000u), sum = 0.0, weight = 0.0;
    // Loads of four parts are in flight at once.
    for (uint part = 0u; part < PARTS; part += 4u) {
        float larger[4], more[4], part_sum[4];
        [[unroll]] for (uint k = 0u; k < 4u; ++k) {
            uint at = min(part + k, PARTS - 1u);
            bool there = part + k < PARTS;
            larger[k] = there ? statistics_load(told + 2u * at) : uintBitsToFloat(0xff800000u);
            more[k] = there ? statistics_load(told + 2u * at + 1u) : 0.0;
            part_sum[k] = there ? sums_load(from + at * VALUE_SIZE) : 0.0;
        }
        float before = most;
        [[unroll]] for (uint k = 0u; k < 4u; ++k) most = reduce_max(most, larger[k]);
        float shift = floatBitsToUint(most) == 0xff800000u ? 0.0 : most, factor = exp_nonpositive(before - shift);
        sum *= factor;
        weight *= factor;
        [[unroll]] for (uint k = 0u; k < 4u; ++k) {
            factor = exp_nonpositive(larger[k] - shift);
            sum += factor * part_sum[k];
            weight += factor * more[k];
        }
    }
    // If a score is NaN or +infinity, so is `most`, the largest score, and every result of the row is NaN.
    return is_nan(most) || is_inf(most) && most > 0.0 ? NOT_A_NUMBER : sum * reciprocal(weight);
}

#include "lib/for_each.glsl"
