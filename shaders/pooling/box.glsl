// Loops over a box of BOX_0 x BOX_1 x BOX_2 positions: EACH_ELEMENT { ... } runs at those for which PLACE(axis,
// dimension), defined by the kernel, holds on each axis. WIDE: the workgroup shares the box, and TOGETHER(reduction, v)
// reduces its invocations' results. Large boxes are always shared: one invocation would be slow, and llvmpipe ends its
// loops after 65,535 iterations in all.
#if WIDE
#include "lib/reduce.glsl"
#define TOGETHER(reduction, v) reduction(v, gl_LocalInvocationIndex, WORKGROUP)
#define EACH_ELEMENT \
    for (uint k = gl_LocalInvocationIndex, k0, k1, k2; k < BOX_0 * BOX_1 * BOX_2; k += WORKGROUP) \
        if ((k2 = k % BOX_2, k1 = k / BOX_2 % BOX_1, k0 = k / (BOX_1 * BOX_2), PLACE(0, 2) && PLACE(1, 3) && PLACE(2, 4)))
#else
#define EACH(axis, dimension) for (uint k##axis = 0u; k##axis < BOX_##axis; ++k##axis) if (PLACE(axis, dimension))
#define EACH_ELEMENT EACH(0, 2) EACH(1, 3) EACH(2, 4)
#endif
