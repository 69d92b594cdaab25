#version 450
// The maxima (MAXIMUM) or the sums of windows along one axis, AXIS: windows along several axes are computed one axis
// after the other. An invocation reads each element of UNIT adjacent results once. LENGTH, RESULTS: the sizes of source
// and result along AXIS. MEAN: divides the sums of the last axis by the window's number of elements; WINDOW_d and so on
// describe it along all axes.
#include "prelude.glsl"

#define SPAN ((UNIT - 1) * STEP + WINDOW)
#define SHARED (MAXIMUM && STEP == 1 && WINDOW >= UNIT)
#if MAXIMUM
#include "lib/int64.glsl"
#include "pooling/largest.glsl"
#define NEUTRAL LOWEST
source_VALUE larger(source_VALUE a, source_VALUE b) { return wins(b, a) ? b : a; }
#else
#include "pooling/inside.glsl"
#include "pooling/sum.glsl"
#define NEUTRAL 0.0
#endif

void store_units(uint c[RANK]) {
    uint first = c[AXIS] * UNIT;
    uint p[RANK] = c;
    source_VALUE v[SPAN];
    for (uint k = 0u; k < SPAN; ++k) {
        // A position before the start wraps to a large number.
        uint place = first * STEP + k - START;
        p[AXIS] = min(place, LENGTH - 1u);
        source_VALUE read = source_load(source_at(p));
        v[k] = place < LENGTH ? read : NEUTRAL;
    }
#if SHARED
    // The maximum of the elements that all windows share, of each window's elements before those, and of the elements
    // after them.
    source_VALUE shared_by_all = v[UNIT - 1u], before[UNIT], behind = NEUTRAL;
    for (uint k = UNIT; k < WINDOW; ++k) shared_by_all = larger(shared_by_all, v[k]);
    before[UNIT - 1u] = shared_by_all;
    for (uint k = 2u; k <= UNIT; ++k) before[UNIT - k] = larger(v[UNIT - k], before[UNIT - k + 1u]);
#endif
    for (uint u = 0u; u < UNIT; ++u) {
        c[AXIS] = first + u;
#if SHARED
        if (u > 0u) behind = larger(behind, v[WINDOW - 1u + u]);
        source_VALUE found = larger(before[u], behind);
#elif MAXIMUM
        source_VALUE found = v[u * STEP];
        for (uint k = 1u; k < WINDOW; ++k) found = larger(found, v[u * STEP + k]);
#else
        sum_ = CompensatedSum(v[u * STEP], 0.0);
        for (uint k = 1u; k < WINDOW; ++k) add(v[u * STEP + k]);
        float found = total();
#if MEAN
        uint count = INSIDE(0, c[2], IN_2) * INSIDE(1, c[3], IN_3) * INSIDE(2, c[4], IN_4);
        found = mean(found, INCLUDE_PADDING ? WINDOW_0 * WINDOW_1 * WINDOW_2 : max(count, 1u));
#endif
#endif
        if (c[AXIS] < RESULTS) result_store(result_at(c), found);
    }
}

#define STORE(unit, c) store_units(c)
#include "lib/for_each.glsl"
