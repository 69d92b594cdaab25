#version 450
// Any expression over any strides. value(c), at the end of the generated prelude, computes it at coordinates c.
#include "prelude.glsl"
#include "lib/for_each.glsl"
