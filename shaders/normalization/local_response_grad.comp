#version 450
// The gradient of the input: gradient / s^BETA - 2 ALPHA BETA x * (the sum of `source` over the positions whose regions
// contain the element), with s as in "local_response.comp". "local_response.comp" computes `source` and `power` (1 /
// s^BETA) from the gradient.
#include "prelude.glsl"
#include "pooling/window.glsl"
#include "pooling/sum.glsl"

float value(uint c[RANK]) {
    uint p[RANK] = c;
    sum_ = CompensatedSum(0.0, 0.0);
    EACH_ELEMENT add(source_load(source_at(p)));
    float pull = 2.0 * ALPHA * BETA * x_load(x_at(c)) * total();
    return gradient_load(gradient_at(c)) * power_load(power_at(c)) - pull;
}

#include "pooling/store.glsl"
