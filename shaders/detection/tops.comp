#version 450
// The first box that may be selected of each group of 2^SHIFT adjacent boxes of a line, which is a class of an image:
// its rank and its index; rank 0 means that there is none.
#include "prelude.glsl"
#include "detection/rank.glsl"

void main() {
    uint i = global_index();
    if (i >= LINES * GROUPS) return;
    uint line = divided(i, GROUPS_DIVISOR), begin = (i - line * GROUPS) << SHIFT;
    uint image = divided(line, CLASSES_DIVISOR);
    uint scores_from = scores_start(line, image);
    uint least = least_rank(), end = min(begin + (1u << SHIFT), BOXES);
    uvec2 best = uvec2(0u);
    for (uint place = begin; place < end; ++place) {
        best = earlier(best, uvec2(rank_of(scores_load(scores_from + place * scores_STRIDE_2), least), place));
    }
    tops_store(2u * i, best.x);
    tops_store(2u * i + 1u, best.y);
}
