#version 450
// Puts the parts of each row of an attention together, in their order (see "attention/part.glsl").
#include "prelude.glsl"
#include "lib/math.glsl"
#include "lib/reduce.glsl"

result_VALUE value(uint c[RANK]) {
    uint from = sums_at(c), told = statistics_at(c);
    float most = uintBitsToFloat(0xff800000u);
    for (uint part = 0u; part < PARTS; ++part) most = reduce_max(most, statistics_load(told + 2u * part));
    float shift = floatBitsToUint(most) == 0xff800000u ? 0.0 : most, sum = 0.0, weight = 0.0;
    for (uint part = 0u; part < PARTS; ++part) {
        float factor = exp_nonpositive(statistics_load(told + 2u * part) - shift);
        weight += factor * statistics_load(told + 2u * part + 1u);
        sum += factor * sums_load(from + part * VALUE_SIZE);
    }
    // A NaN or +infinity among the scores shows in `most`, and makes the row NaN.
    return is_nan(most) || is_inf(most) && most > 0.0 ? NOT_A_NUMBER : sum * reciprocal(weight);
}

#include "lib/for_each.glsl"
