#version 450
#extension GL_EXT_control_flow_attributes : require
#if SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
// Reduces any operands over any of their dimensions. The generated prelude ends with the functions that depend on them:
// kept_coordinates() of a result and reduced_coordinates() of a reduced element, combine() over accumulators of type
// ACC, load_rows(), accumulate() and store_results().
//
// LANES adjacent invocations of a workgroup share WIDE adjacent results. The reduced elements are cut into CHUNKS,
// each with its own partial results. A step takes UNIT adjacent reduced elements of each of the WIDE results.
//
// STRIDED_LANES: the LANES of a result are not adjacent; adjacent invocations have adjacent results, and so read
// adjacent elements. SUBGROUP: as in "lib/reduce_lanes.glsl".
#include "prelude.glsl"
#include "lib/reduce.glsl"

const uint SLOTS = WORKGROUP / LANES;

#if STRIDED_LANES
shared ACC of_others[WIDE][WORKGROUP / 2u];

// Reduces the lanes' values into the first lane, by halves: the order never changes.
void reduce_strided(inout ACC total[WIDE], uint lane, uint slot) {
    [[dont_unroll]] for (uint half_ = LANES / 2u; half_ > 0u; half_ /= 2u) {
        if (lane >= half_ && lane < 2u * half_) {
            for (uint j = 0u; j < WIDE; ++j) of_others[j][(lane - half_) * SLOTS + slot] = total[j];
        }
        barrier();
        if (lane < half_) {
            for (uint j = 0u; j < WIDE; ++j) total[j] = combine(total[j], of_others[j][lane * SLOTS + slot]);
        }
        barrier();
    }
}
#elif SUBGROUP
#include "lib/reduce_lanes.glsl"
LANES_REDUCTION(reduce_adjacent, ACC, combine)
#elif LANES > 1
WORKGROUP_REDUCTION(reduce_lanes, ACC, combine)
#endif

void main() {
#if STRIDED_LANES
    uint own = gl_LocalInvocationIndex % SLOTS, lane = gl_LocalInvocationIndex / SLOTS;
#elif SUBGROUP
    uint own = place() / LANES, lane = place() % LANES;
#else
    uint own = gl_LocalInvocationIndex / LANES, lane = gl_LocalInvocationIndex % LANES;
#endif
    uint slot = workgroup_index() * SLOTS + own;
    bool inside = slot < RESULTS * CHUNKS;
    uint chunk = inside ? divided(slot, RESULTS_DIVISOR) : 0u;
    uint result = inside ? slot - chunk * RESULTS : 0u;
    uint c[x0_RANK];
    kept_coordinates(result, c);
    load_rows(c);

    uint begin = chunk * CHUNK;
    uint end = inside ? min(begin + CHUNK, STEPS) : begin;
    ACC total[WIDE];
    for (uint j = 0u; j < WIDE; ++j) total[j] = IDENTITY;
    // Accumulate block by block: the error of a float sum grows with the number of terms added in sequence.
    for (uint first = begin + lane; first < end; first += BLOCK * LANES) {
        ACC block[WIDE];
        for (uint j = 0u; j < WIDE; ++j) block[j] = IDENTITY;
        uint stop = min(first + BLOCK * LANES, end);
        uint at = first;
#if TOGETHER > 1
        // This loop has TOGETHER loads in flight at the same time.
        for (; at + (TOGETHER - 1u) * LANES < stop; at += TOGETHER * LANES) {
            [[unroll]] for (uint k = 0u; k < TOGETHER; ++k) {
                reduced_coordinates(at + k * LANES, c);
                accumulate(c, (at + k * LANES) * UNIT, block);
            }
        }
#endif
        for (; at < stop; at += LANES) {
            reduced_coordinates(at, c);
            accumulate(c, at * UNIT, block);
        }
        for (uint j = 0u; j < WIDE; ++j) total[j] = combine(total[j], block[j]);
    }
#if STRIDED_LANES
    reduce_strided(total, lane, own);
#elif SUBGROUP
    total[0] = reduce_adjacent(total[0], lane);
#elif LANES > 1
    total[0] = reduce_lanes(total[0], lane, LANES);
#endif
    if (inside && lane == 0u) store_results(c, result, chunk, total);
}
