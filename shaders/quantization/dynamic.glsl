#include "lib/math.glsl"
// The scale and zero point that map a range {least, greatest}, which includes 0, to 256 integers.
float dynamic_scale(vec2 range) {
    precise float span = range.y - range.x;
    if (span == 0.0) return 1.0;
    // The difference of two finite floats may overflow; the difference of their quotients does not.
    if (is_inf(span) && !is_inf(range.x) && !is_inf(range.y)) {
        return divide_nearest(range.y, 255.0) - divide_nearest(range.x, 255.0);
    }
    return divide_nearest(span, 255.0);
}

int dynamic_zero_point(vec2 range, float low, float high) {
    precise float place = low - divide_nearest(range.x, dynamic_scale(range));
    return is_nan(place) ? int(low) : int(clamp(roundEven(place), low, high));
}
