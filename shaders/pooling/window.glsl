// Loops over the sliding window of result element c. Tensors are {N, C, depth, height, width}; spatial axis 0 is depth.
// EACH_ELEMENT { ... } runs for the window's elements in row-major order, with p the coordinates of one in `source`.
// Padding is left out: a position before the start wraps to a large number, so one comparison finds both sides.
#define BOX_0 WINDOW_0
#define BOX_1 WINDOW_1
#define BOX_2 WINDOW_2
#define PLACE(axis, dimension) \
    ((p[dimension] = c[dimension] * STEP_##axis + k##axis * DILATION_##axis - START_##axis) < source_SIZE_##dimension)
#include "pooling/box.glsl"
#include "pooling/inside.glsl"
