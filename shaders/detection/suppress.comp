#version 450
// Greedy suppression of overlapping boxes, rounds BEGIN to END: a workgroup per line, which is a class of an image.
// Each round drops the boxes that overlap the one selected last, and selects the remaining one with the highest score.
// An invocation handles the boxes place, place + LANES, ...; `left` is its list of those that remain, in order.
// `lengths`: the lists' lengths, kept between dispatches.
#include "prelude.glsl"
#include "detection/overlap.glsl"
#include "detection/rank.glsl"
#include "lib/reduce_lanes.glsl"

LANES_REDUCTION(earliest, uvec2, earlier)

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
    uint scores_from = scores_start(line, image);
    uint own = line * BOXES + lane;
    float overlap = overlap_most();
    uint least = least_rank();
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
