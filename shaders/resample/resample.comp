#version 450
// A weighted sum of source elements, computed by sampled(c) at the end of the generated prelude.
#include "prelude.glsl"

result_VALUE value(uint c[RANK]) { return sampled(c); }

#include "lib/for_each.glsl"
