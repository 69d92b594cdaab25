#version 450
// Greedy suppression of overlapping boxes, rounds BEGIN to END: a workgroup per line, which is a class of an image.
// Each round drops the boxes that overlap the one selected last, and selects the remaining one with the highest score.
// An invocation owns the boxes place, place + LANES, ...; `left` is its private list of remaining boxes, in order.
// `lengths`: the lists' lengths, kept between dispatches.
#include "prelude.glsl"
#include "lib/math.glsl"
#include "lib/order.glsl"
#include "lib/reduce_lanes.glsl"

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
// and boxes with NaN overlap no other box. INCLUSIVE: whether it reaches the threshold, as in OpenVINO, where the
// quotient is undefined only for two boxes without area.
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

// Returns the rank of a score: the highest is selected first; 0 if the score is not above the threshold.
uint rank_of(float score, uint least) {
    uint rank = order_float(score);
#if HAS_LEAST
    return rank == 0xffffffffu || rank <= least ? 0u : rank;
#else
    return rank == 0xffffffffu ? 1u : rank;
#endif
}

// Reduces pairs of rank and index: the highest rank, of equal ranks the first index.
uvec2 earlier(uvec2 a, uvec2 b) { return a.x > b.x || (a.x == b.x && a.y < b.y) ? a : b; }

LANES_REDUCTION(earliest, uvec2, earlier)

uint kept_most() {
#if HAS_LIMIT
    uvec2 limit = limit_load(limit_BASE);
    if ((limit.y & 0x80000000u) != 0u) return 0u;
    return limit.y != 0u ? MOST : min(MOST, limit.x);
#else
    return MOST;
#endif
}

void main() {
    uint line = workgroup_index(), lane = gl_LocalInvocationIndex;
    if (line >= LINES) return;
    uint most = kept_most();
    uint found = BEGIN > 0u ? found_load(line) : 0u;
    if (found < BEGIN || found >= most) {
        if (BEGIN == 0u && lane == 0u) found_store(line, 0u);
        return;
    }
    uint image = divided(line, CLASSES_DIVISOR);
    uint scores_from = scores_BASE + image * scores_STRIDE_0 + (line - image * CLASSES) * scores_STRIDE_1;
    uint own = line * BOXES + lane;
    float overlap = 0.0;
#if HAS_OVERLAP
    overlap = overlap_load(overlap_BASE);
#endif
    uint least = 0u;
#if HAS_LEAST
    least = order_float(least_load(least_BASE));
#endif
    uint length = lane < BOXES ? (BOXES - lane + LANES - 1u) / LANES : 0u;
    uint last_place = 0u;
    if (BEGIN > 0u) {
        length = lengths_load(line * LANES + lane);
        last_place = kept_load(line * MOST + BEGIN - 1u);
    }
    Box last = box_at(image, last_place);
    uint end = min(END, most);
    for (uint r = BEGIN; r < end; ++r) {
        uvec2 best = uvec2(0u);
        uint stay = 0u;
        for (uint i = 0u; i < length; ++i) {
            uint place = r == 0u ? lane + i * LANES : left_load(own + i * LANES);
            uint rank = rank_of(scores_load(scores_from + place * scores_STRIDE_2), least);
            if (r == 0u ? rank == 0u : place == last_place || overlap_is_large(box_at(image, place), last, overlap)) {
                continue;
            }
            left_store(own + stay * LANES, place);
            ++stay;
            best = earlier(best, uvec2(rank, place));
        }
        length = stay;
        best = earliest(best, lane);
        barrier(); // all have read the others' candidates before the next round
        if (best.x == 0u) break;
        last_place = best.y;
        last = box_at(image, last_place);
        if (lane == 0u) kept_store(line * MOST + r, last_place);
        found = r + 1u;
    }
    lengths_store(line * LANES + lane, length);
    if (lane == 0u) found_store(line, found);
}
