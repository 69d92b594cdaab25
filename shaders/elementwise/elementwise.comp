#version 450
// Any expression over any strides: value(c) stands at the end of the generated prelude.
#include "prelude.glsl"
#include "lib/for_each.glsl"
