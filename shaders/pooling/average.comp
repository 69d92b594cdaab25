#version 450
// The mean of the window; padding counts as zeros, or not at all. A window that has only padding has mean 0.
#include "prelude.glsl"
#include "pooling/window.glsl"
#include "pooling/sum.glsl"

float value(uint c[RANK]) {
    uint p[RANK] = c;
    sum_ = CompensatedSum(0.0, 0.0);
#if WIDE
    EACH_ELEMENT add(source_load(source_at(p)));
    uint count = INSIDE(0, c[2], source_SIZE_2) * INSIDE(1, c[3], source_SIZE_3) * INSIDE(2, c[4], source_SIZE_4);
#else
    uint count = 0u;
    EACH_ELEMENT {
        add(source_load(source_at(p)));
        ++count;
    }
#endif
    return mean(total(), INCLUDE_PADDING ? WINDOW_0 * WINDOW_1 * WINDOW_2 : max(count, 1u));
}

#include "pooling/store.glsl"
