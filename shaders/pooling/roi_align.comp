#version 450
// Each output is the mean of its samples of a region. The reference does not define a batch index beyond the input:
// here it reads the last batch.
#include "prelude.glsl"
#include "pooling/tap.glsl"
#include "pooling/places.glsl"

float reduced(uint c[4], float before) {
    Places y = places_of(c[0], 0u, c[2]), x = places_of(c[0], 1u, c[3]);
    uvec4 part = part_of(y, x);
    uint batch = image_of(c[0]);
    float sum = 0.0;
    for (uint i = part.z; i < part.w; ++i) {
        uint at = x.begin + 4u * i;
        Tap across = place_tap(c[0], at);
        float column = 0.0;
        for (uint j = part.x; j < part.y; ++j) {
            uint down = y.begin + 4u * j;
            column += sample_at(batch, c[1], place_tap(c[0], down), across) * place_samples(c[0], down);
        }
        sum += column * place_samples(c[0], at);
    }
    return before + sum / (x.samples * y.samples);
}

#include "pooling/roi_reduced.glsl"
