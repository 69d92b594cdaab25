#version 450
// The weight of each input element in each output along AXIS (0 is y, 1 is x), as {ROIs, outputs, elements}. An output
// is the mean of its samples.
#include "prelude.glsl"
#include "pooling/tap.glsl"
#include "pooling/places.glsl"

float value(uint c[RANK]) {
    Places p = places_of(c[0], AXIS, c[1]);
    float sum = 0.0;
    for (uint i = 0u; i < p.count; ++i) {
        uint at = p.begin + 4u * i;
        Tap t = place_tap(c[0], at);
        if (t.inside) sum += weight_of(t, c[2]) * place_samples(c[0], at);
    }
    return sum / p.samples;
}

#include "lib/for_each.glsl"
