#version 450
// Reduces any operands over any of their dimensions. The end of the generated prelude holds the coordinates of a result
// and of a reduced element, ACC with combine(), and how elements are accumulated and results stored.
//
// LANES neighbours of a workgroup share WIDE adjacent results; CHUNKS parts of the reduced elements go to different
// lanes, as partial results. UNIT adjacent reduced elements make a step.
#include "prelude.glsl"
#include "lib/reduce.glsl"

#if LANES > 1
WORKGROUP_REDUCTION(reduce_lanes, ACC, combine)
#endif

void main() {
    uint slot = workgroup_index() * (WORKGROUP / LANES) + gl_LocalInvocationIndex / LANES;
    uint lane = gl_LocalInvocationIndex % LANES;
    bool inside = slot < RESULTS * CHUNKS;
    uint chunk = inside ? slot / RESULTS : 0u;
    uint c[x0_RANK];
    kept_coordinates(slot % RESULTS, c);
    load_rows(c);

    uint begin = chunk * CHUNK;
    uint end = inside ? min(begin + CHUNK, STEPS) : begin;
    ACC total[WIDE];
    for (uint j = 0u; j < WIDE; ++j) total[j] = IDENTITY;
    // Sums of sums: the error of a float sum grows with the number of terms in a row.
    for (uint first = begin + lane; first < end; first += BLOCK * LANES) {
        ACC block[WIDE];
        for (uint j = 0u; j < WIDE; ++j) block[j] = IDENTITY;
        uint stop = min(first + BLOCK * LANES, end);
        for (uint at = first; at < stop; at += LANES) {
            reduced_coordinates(at, c);
            accumulate(c, at * UNIT, block);
        }
        for (uint j = 0u; j < WIDE; ++j) total[j] = combine(total[j], block[j]);
    }
#if LANES > 1
    total[0] = reduce_lanes(total[0], lane, LANES);
#endif
    if (inside && lane == 0u) store_results(c, slot % RESULTS, chunk, total);
}
