#version 450
// The gradient of the input: each element adds, in a fixed order, the gradients of windows that contain it. Average
// pooling: all of these gradients, each divided by its window's number of elements. Max pooling: the gradients of the
// windows whose maximum the element is.
#include "prelude.glsl"

// The first window along an axis that may contain the element at i, in padded coordinates.
uint first_window(uint i, uint reach, uint step) { return i < reach ? 0u : (i - reach + step - 1u) / step; }

// Returns whether the window at position o exists and one of its taps is the element at i (padded).
bool holds(uint i, uint o, uint windows, uint dilation, uint step) {
    return o < windows && o * step <= i && (i - o * step) % dilation == 0u;
}

#define PLACE(axis, dimension) \
    (p[dimension] = first_window(c[dimension] + START_##axis, (WINDOW_##axis - 1u) * DILATION_##axis, STEP_##axis) \
                    + k##axis, \
     holds(c[dimension] + START_##axis, p[dimension], gradient_SIZE_##dimension, DILATION_##axis, STEP_##axis))
#include "pooling/inside.glsl"
#include "pooling/box.glsl"
#include "pooling/sum.glsl"

float value(uint c[RANK]) {
    uint p[RANK] = c;
    sum_ = CompensatedSum(0.0, 0.0);
#if MAXIMUM
    uint own = (((c[0] * result_SIZE_1 + c[1]) * result_SIZE_2 + c[2]) * result_SIZE_3 + c[3]) * result_SIZE_4 + c[4];
    EACH_ELEMENT if (winner_load(winner_at(p)) == own) add(gradient_load(gradient_at(p)));
#else
    EACH_ELEMENT {
        uint count = INSIDE(0, p[2], result_SIZE_2) * INSIDE(1, p[3], result_SIZE_3) * INSIDE(2, p[4], result_SIZE_4);
        if (INCLUDE_PADDING) count = WINDOW_0 * WINDOW_1 * WINDOW_2;
        add(mean(gradient_load(gradient_at(p)), count));
    }
#endif
    return total();
}

#include "pooling/store.glsl"
