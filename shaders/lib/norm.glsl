// Sums of squares that stay within float32's range, in three parts: elements above 2^40 in magnitude count times 2^-80,
// those from 2^-40 to 2^40 as they are, those below times 2^75.
#include "lib/math.glsl"

vec3 norm_terms(float x) {
    float large = x * 8.271806e-25, small = x * 3.777893e22;
    bool above = abs(x) > 1.0995116e12, below = abs(x) < 9.094947e-13;
    return vec3(above ? large * large : 0.0, above || below ? 0.0 : x * x, below ? small * small : 0.0);
}

// The root of the sum of all squares and of `more`: the first part that is not zero, and with it the next one, scaled
// alike. That takes the factor's square, which is too small for a float: the factor is applied twice. What comes after
// the next part is too small to count.
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
