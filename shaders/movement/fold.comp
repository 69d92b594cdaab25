#version 450
// The sum of an element's values in all windows that cover it. gathered(c), in the generated prelude, loops over the
// window's positions.
#include "prelude.glsl"

float value(uint c[RANK]) { return gathered(c); }

#include "lib/for_each.glsl"
