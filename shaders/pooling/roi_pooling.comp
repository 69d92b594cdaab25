#version 450
// The maximum of each cell of a region's grid. Regions are {batch, x1, y1, x2, y2}, both corners inside the region;
// scaled corners are rounded, halves away from zero. A cell outside the input is 0.
#include "prelude.glsl"
#include "lib/reduce.glsl"

#define LOWEST uintBitsToFloat(0xff800000u)
#if WIDE
WORKGROUP_REDUCTION(max_all, float, reduce_max)
#endif

int round_away(float x) {
    float magnitude = abs(x);
    float whole = floor(magnitude);
    if (magnitude - whole >= 0.5) whole += 1.0;
    return int(sign(x) * min(whole, 268435456.0));  // 2^28 is outside any image, and sums of corners do not overflow
}

// Returns cell o of `cells` between two corners, clamped to `size`: [first component, second component).
uvec2 cell(float low, float high, uint o, uint cells, uint size) {
    int first = round_away(low * SPATIAL_SCALE);
    uint length = uint(max(round_away(high * SPATIAL_SCALE) - first + 1, 1));
    // o * length / cells, and the next cell's rounded up, in two parts so that no product overflows.
    uint whole = length / cells, rest = length % cells;
    int from = int(o * whole + o * rest / cells) + first;
    int to = int((o + 1u) * whole + ((o + 1u) * rest + cells - 1u) / cells) + first;
    return uvec2(clamp(from, 0, int(size)), clamp(to, 0, int(size)));
}

float value(uint c[RANK]) {
    uint r[2] = uint[2](c[0], 0u);
    float region[5];
    for (uint k = 0u; k < 5u; ++k) {
        r[1] = k;
        region[k] = regions_load(regions_at(r));
    }
    uvec2 x = cell(region[1], region[3], c[3], result_SIZE_3, source_SIZE_3);
    uvec2 y = cell(region[2], region[4], c[2], result_SIZE_2, source_SIZE_2);
#ifdef IN_PARTS
    // `source` has some of IMAGES, from FIRST_IMAGE on; other regions keep their results.
    uint image = uint(clamp(region[0], 0.0, float(IMAGES - 1u))) - FIRST_IMAGE;
    if (image >= source_SIZE_0) return result_load(result_at(c));
#else
    uint image = uint(clamp(region[0], 0.0, float(source_SIZE_0 - 1u)));
#endif
    uint p[4] = uint[4](image, c[1], 0u, 0u);
    uint width = x.y > x.x ? x.y - x.x : 0u;
    uint area = y.y > y.x ? (y.y - y.x) * width : 0u;
    float best = LOWEST;
#if WIDE
    for (uint k = gl_LocalInvocationIndex; k < area; k += WORKGROUP) {
#else
    for (uint k = 0u; k < area; ++k) {
#endif
        p[2] = y.x + k / width;
        p[3] = x.x + k % width;
        best = reduce_max(best, source_load(source_at(p)));
    }
#if WIDE
    best = max_all(best, gl_LocalInvocationIndex, WORKGROUP);
#endif
    return area == 0u ? 0.0 : best;
}

#include "pooling/store.glsl"
