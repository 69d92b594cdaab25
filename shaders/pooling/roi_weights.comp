#version 450
// {ROIs, outputs, elements} along one axis, DIMENSION: what an element of the input weighs in an output, the mean of
// the output's samples.
#include "prelude.glsl"
#include "pooling/roi.glsl"

float value(uint c[RANK]) {
    Axis a = region_axis(c[0], DIMENSION);
    float sum = 0.0;
    for (uint i = 0u; i < a.samples; ++i) {
        Tap t = tap(coordinate(a, c[1] * a.samples + i), result_SIZE_2, NEAREST);
        if (t.inside) sum += weight_of(t, c[2]);
    }
    return sum / float(a.samples);
}

#include "lib/for_each.glsl"
