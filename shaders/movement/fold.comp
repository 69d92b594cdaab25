#version 450
// The sum of what the windows hold for an element; gathered, in the generated prelude, loops over the window.
#include "prelude.glsl"

float value(uint c[RANK]) { return gathered(c); }

#include "lib/for_each.glsl"
