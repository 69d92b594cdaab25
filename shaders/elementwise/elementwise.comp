#version 450
// Any expression over any strides. The generated prelude ends with value(c), which computes it at coordinates c.
#include "prelude.glsl"
#include "lib/for_each.glsl"
