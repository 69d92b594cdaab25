#version 450
// (|x1|^P + |x2|^P + ...)^(1/P) over the window. For P > 1 the elements are divided by the largest, so that no power
// leaves float's range unless the result does.
#include "prelude.glsl"
#include "lib/math.glsl"
#include "pooling/window.glsl"
#include "pooling/sum.glsl"

float power(float base) {
    float found = 1.0;
    for (uint rest = P; rest != 0u; rest >>= 1) {
        if ((rest & 1u) != 0u) found *= base;
        base *= base;
    }
    return found;
}

#if WIDE
WORKGROUP_REDUCTION(max_all, uint, max)
#endif

float value(uint c[RANK]) {
    uint p[RANK] = c;
    sum_ = CompensatedSum(0.0, 0.0);
    if (P == 1u) {
        EACH_ELEMENT add(abs(source_load(source_at(p))));
        return total();
    }
    uint most = 0u;  // bits sort like the magnitudes, with infinity and NaN last
    EACH_ELEMENT most = max(most, floatBitsToUint(source_load(source_at(p))) & 0x7fffffffu);
#if WIDE
    most = TOGETHER(max_all, most);
#endif
    float largest = uintBitsToFloat(most);
    if (most == 0u || most >= 0x7f800000u) return largest;
    EACH_ELEMENT add(power(divide(abs(source_load(source_at(p))), largest)));
    float sum = total();
    return largest * (P == 2u ? sqrt_accurate(sum) : pow_accurate(sum, 1.0 / float(P)));
}

#include "pooling/store.glsl"
