#version 450
// Each output is the maximum of its samples of a region. With WINNER, the result is the winning sample instead, {3,
// ROIs, C, height, width}: its x and y numbers among the output's samples, and its bits. Of equal samples the first
// along x wins, then the first along y. Batch indices beyond the input read the last batch.
#include "prelude.glsl"
#include "pooling/tap.glsl"
#include "pooling/places.glsl"

// Finds the largest of the samples in this dispatch's part and of the results of earlier parts.
void largest(uint c[4], inout float best, inout uvec2 winner) {
    Places y = places_of(c[0], 0u, c[2]), x = places_of(c[0], 1u, c[3]);
    uvec4 part = part_of(y, x);
    uint batch = image_of(c[0]);
    bool found = PART > 0u;
    for (uint i = part.z; i < part.w; ++i) {
        uint at = x.begin + 4u * i;
        Tap across = place_tap(c[0], at);
        for (uint j = part.x; j < part.y; ++j) {
            uint down = y.begin + 4u * j;
            float v = sample_at(batch, c[1], place_tap(c[0], down), across);
#if WINNER
            uvec2 here = uvec2(places_word(c[0], at + 2u), places_word(c[0], down + 2u));
            if (found && v == best && here.x < winner.x) winner = here;  // equal to an earlier one, first along x
            if (!found || v > best || (is_nan(v) && !is_nan(best))) winner = here;
#endif
            if (!found || v > best || (is_nan(v) && !is_nan(best))) best = v;
            found = true;
        }
    }
}

#if WINNER
void main() {
    uint unit = global_index();
    if (unit >= COUNT) return;
    uint c[RANK];
    coordinates(unit, c);
    uint at[3];
    for (uint k = 0u; k < 3u; ++k) at[k] = winner_at(uint[5](k, c[0], c[1], c[2], c[3]));
    uvec2 winner = uvec2(0u);
    float best = 0.0;
    if (PART > 0u) {
        winner = uvec2(winner_load(at[0]), winner_load(at[1]));
        best = uintBitsToFloat(winner_load(at[2]));
    }
    largest(c, best, winner);
    winner_store(at[0], winner.x);
    winner_store(at[1], winner.y);
    winner_store(at[2], floatBitsToUint(best));
}
#else
float reduced(uint c[4], float before) {
    uvec2 winner;
    largest(c, before, winner);
    return before;
}

#include "pooling/roi_reduced.glsl"
#endif
