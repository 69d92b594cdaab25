#version 450
// Greedy suppression of overlapping boxes: visits boxes BEGIN to END in the order of their ranks. A workgroup takes a
// line, which is a class of an image. Each round keeps a box unless it overlaps one kept before, and then finds the
// next box: the highest rank among the remaining boxes of the same group (2^SHIFT adjacent boxes) and the first ones of
// the other groups (see tops.comp). An invocation handles the groups lane, lane + LANES, ..., and the kept boxes lane,
// lane + LANES, ...
#include "prelude.glsl"
#include "detection/overlap.glsl"
#include "detection/rank.glsl"
#include "lib/reduce_lanes.glsl"

struct Found { uvec2 in_group, in_others; bool overlaps; };

Found joined(Found a, Found b) {
    return Found(earlier(a.in_group, b.in_group), earlier(a.in_others, b.in_others), a.overlaps || b.overlaps);
}

LANES_REDUCTION(all_found, Found, joined)

void main() {
    uint line = workgroup_index(), lane = gl_LocalInvocationIndex;
    if (line >= LINES) return;
    uint most = kept_most();
    uint found = BEGIN > 0u ? found_load(line) : 0u;
    uint image = divided(line, CLASSES_DIVISOR);
    uint scores_from = scores_start(line, image);
    float overlap = overlap_most();
    uint least = least_rank();
    uvec2 box = uvec2(0u);
    uint group = GROUPS;
    for (uint r = 0u; r <= END - BEGIN && found < most; ++r) {
        Found own = Found(uvec2(0u), uvec2(0u), false);
        for (uint g = lane; g < GROUPS; g += LANES) {
            uint top = 2u * (line * GROUPS + g);
            if (g != group) own.in_others = earlier(own.in_others, uvec2(tops_load(top), tops_load(top + 1u)));
        }
        if (r > 0u) {
            uint end = min((group + 1u) << SHIFT, BOXES);
            for (uint place = (group << SHIFT) + lane; place < end; place += LANES) {
                uvec2 other = uvec2(rank_of(scores_load(scores_from + place * scores_STRIDE_2), least), place);
                if (earlier(box, other) == box && place != box.y) own.in_group = earlier(own.in_group, other);
            }
            Box tested = box_at(image, box.y);
            for (uint k = lane; k < found && !own.overlaps; k += LANES) {
                own.overlaps = overlap_is_large(tested, box_at(image, kept_load(line * MOST + k)), overlap);
            }
        }
        Found all = all_found(own, lane);
        barrier(); // all have read the others' boxes before the next round
        if (r > 0u) {
            if (lane == group % LANES) {
                tops_store(2u * (line * GROUPS + group), all.in_group.x);
                tops_store(2u * (line * GROUPS + group) + 1u, all.in_group.y);
            }
            if (!all.overlaps) {
                if (lane == found % LANES) kept_store(line * MOST + found, box.y);
                ++found;
            }
        }
        box = earlier(all.in_group, all.in_others);
        if (box.x == 0u) break;
        group = box.y >> SHIFT;
    }
    if (lane == 0u) found_store(line, found);
}
