// The boxes of a class, how far they may overlap, and how many of them are kept.
#include "lib/math.glsl"

struct Box { vec2 low, high; };

Box box_at(uint image, uint place) {
    uint at = boxes_BASE + image * boxes_STRIDE_0 + place * boxes_STRIDE_1;
    vec2 a = vec2(boxes_load(at), boxes_load(at + boxes_STRIDE_2));
    vec2 b = vec2(boxes_load(at + 2u * boxes_STRIDE_2), boxes_load(at + 3u * boxes_STRIDE_2));
#if CENTERS
    precise vec2 low = a - 0.5 * b;
    precise vec2 high = a + 0.5 * b;
    return Box(low, high);
#else
    return Box(min(a, b), max(a, b));
#endif
}

// Returns whether intersection over union exceeds the threshold, computed in onnxruntime's order. Boxes without area
// and boxes with NaN overlap no other box. INCLUSIVE: returns whether it reaches the threshold, as in OpenVINO, where
// the quotient is undefined only for two boxes without area.
bool overlap_is_large(Box box, Box other, float most) {
    precise vec2 both = min(box.high, other.high) - max(box.low, other.low);
    precise vec2 own = box.high - box.low;
    precise vec2 others = other.high - other.low;
#if INCLUSIVE
    both = max(both, 0.0);
#endif
    precise float shared_area = both.x * both.y;
    precise float area = own.x * own.y;
    precise float other_area = others.x * others.y;
    precise float sum = area + other_area;
    precise float all = sum - shared_area;
#if INCLUSIVE
    if (!(shared_area > 0.0)) return all > 0.0 && most <= 0.0;
#else
    if (!(both.x > 0.0 && both.y > 0.0 && shared_area > 0.0 && area > 0.0 && other_area > 0.0 && all > 0.0)) return false;
#endif
    precise float ratio = shared_area / all;
    // Vulkan's quotients may be off by 2.5 ulp: near the threshold, use the correctly rounded quotient.
    if (!(abs(ratio - most) > 1e-6 * ratio)) ratio = quotient_nearest(shared_area, all);
#if INCLUSIVE
    return ratio >= most;
#else
    return ratio > most;
#endif
}

uint kept_most() {
#if HAS_LIMIT
    uvec2 limit = limit_load(limit_BASE);
    if ((limit.y & 0x80000000u) != 0u) return 0u;
    return limit.y != 0u ? MOST : min(MOST, limit.x);
#else
    return MOST;
#endif
}

float overlap_most() {
#if HAS_OVERLAP
    return overlap_load(overlap_BASE);
#else
    return 0.0;
#endif
}
