#version 450
// x / s^BETA, with s = BIAS + ALPHA * the sum of squares over the element's region. If `gradient` is bound, instead the
// inputs of "local_response_grad.comp": gradient * x / s^(BETA + 1), and 1 / s^BETA in `power`. `x` is bound where `source`
// is a part that begins elsewhere than the result.
#include "prelude.glsl"
#include "lib/math.glsl"
#include "pooling/window.glsl"
#include "pooling/sum.glsl"

float value(uint c[RANK]) {
    uint p[RANK] = c;
    sum_ = CompensatedSum(0.0, 0.0);
    EACH_ELEMENT {
        float v = source_load(source_at(p));
        add(v * v);
    }
    float s = BIAS + ALPHA * total();
#ifdef x_VALUE
    float x = x_load(x_at(c));
#else
    float x = source_load(source_at(c));
#endif
#ifdef gradient_VALUE
    float inverse = reciprocal(pow_accurate(s, BETA));
#if WIDE
    if (gl_LocalInvocationIndex == 0u)
#endif
    power_store(power_at(c), inverse);
    return divide(gradient_load(gradient_at(c)) * x * inverse, s);
#else
    return divide(x, pow_accurate(s, BETA));
#endif
}

#include "pooling/store.glsl"
