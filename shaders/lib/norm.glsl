// Sums of squares within float32's range, in three parts: magnitudes above 2^40 are scaled by 2^-80, those below 2^-40
// by 2^75, and the others are not scaled.
#include "lib/math.glsl"

vec3 norm_terms(float x) {
    float large = x * 8.271806e-25, small = x * 3.777893e22;
    bool above = abs(x) > 1.0995116e12, below = abs(x) < 9.094947e-13;
    return vec3(above ? large * large : 0.0, above || below ? 0.0 : x * x, below ? small * small : 0.0);
}

// The root of the sum of all squares and of `more`, from the first nonzero part plus the next one in the same scale;
// later parts are negligible. The scale's factor is applied twice, since its square is too small for a float.
float norm_of(vec3 sums, float more) {
    precise float medium = sums.y + more;
    precise float into_large = medium * 8.271806e-25;
    into_large *= 8.271806e-25;
    precise float into_medium = sums.z * 2.646978e-23;
    into_medium *= 2.646978e-23;
    if (sums.x > 0.0) return sqrt_accurate(sums.x + into_large) * 1.2089258e24;
    if (floatBitsToUint(medium) << 1 != 0u) return sqrt_accurate(medium + into_medium);
    return sqrt_accurate(sums.z) * 2.646978e-23;
}
