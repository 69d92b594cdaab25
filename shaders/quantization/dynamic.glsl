#include "lib/math.glsl"
// The scale and zero point that map a range {least, greatest}, which holds 0, to 256 integers.
float dynamic_scale(vec2 range) {
    precise float span = range.y - range.x;
    if (span == 0.0) return 1.0;
    // The ends may be further apart than a float can say.
    if (is_inf(span) && !is_inf(range.x) && !is_inf(range.y)) return divide(range.y, 255.0) - divide(range.x, 255.0);
    return divide(span, 255.0);
}

int dynamic_zero_point(vec2 range, float low, float high) {
    precise float place = low - divide(range.x, dynamic_scale(range));
    return is_nan(place) ? int(low) : int(clamp(roundEven(place), low, high));
}

float dynamic_round(float x, float scale) {
    float q = divide(x, scale);
    return is_nan(q) ? 0.0 : roundEven(q);
}
