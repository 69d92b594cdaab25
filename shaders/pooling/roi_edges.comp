#version 450
// Each output's contribution to the gradient of its region's corners: {4, ROIs, C, height, width}. A sample is at from
// + along * (to - from), so it moves by scale * (1 - along) per unit of `from`, and by scale * along per unit of `to`.
// The image's slope is that of linear interpolation in both modes, as in the reference, and 0 at samples exactly on
// elements.
#include "prelude.glsl"
#include "pooling/tap.glsl"
#if LARGEST
#include "pooling/roi.glsl"
#else
#include "pooling/places.glsl"
#endif

// Returns a sample's contribution to left, top, right and bottom. down, right: its position in the region, from 0 to 1.
vec4 share_of(uint batch, uint channel, Tap y, Tap x, float down, float right) {
    if (!(x.inside && y.inside)) return vec4(0.0);
    vec4 v = corners(batch, channel, y, x);
    float slope_x = blend(v.y - v.x, v.w - v.z, y.weight) * SCALE_X;
    float slope_y = blend(v.z - v.x, v.w - v.y, x.weight) * SCALE_Y;
    return vec4(slope_x * (1.0 - right), slope_y * (1.0 - down), slope_x * right, slope_y * down);
}

vec4 mean_share(uint c[4]) {
    uint batch = min(batch_of(c[0]), source_SIZE_0 - 1u);
#if LARGEST
    Axis y = region_axis(c[0], 2u), x = region_axis(c[0], 3u);
    uint w = winner_at(uint[5](0u, c[0], c[1], c[2], c[3]));
    uint i = winner_load(w), j = winner_load(w + winner_STRIDE_0);
    Tap tx = tap(coordinate(x, c[3], i), IN_3, false), ty = tap(coordinate(y, c[2], j), IN_2, false);
    return share_of(batch, c[1], ty, tx, along(y, c[2], j), along(x, c[3], i));
#else
    Places y = places_of(c[0], 0u, c[2]), x = places_of(c[0], 1u, c[3]);
    uvec4 part = part_of(y, x);
    vec4 sum = vec4(0.0);
    for (uint i = part.z; i < part.w; ++i) {
        uint at = x.begin + 4u * i;
        Tap across = place_tap(c[0], at);
        vec4 column = vec4(0.0);
        for (uint j = part.x; j < part.y; ++j) {
            uint below = y.begin + 4u * j;
            vec4 one = share_of(
                batch, c[1], place_tap(c[0], below), across, place_along(c[0], below), place_along(c[0], at));
            column += one * place_samples(c[0], below);
        }
        sum += column * place_samples(c[0], at);
    }
    return sum / (x.samples * y.samples);
#endif
}

void main() {
    uint unit = global_index();
    if (unit >= COUNT) return;
    uint c[RANK];
    coordinates(unit, c);
    vec4 share = mean_share(c) * gradient_load(gradient_at(c));
    for (uint k = 0u; k < 4u; ++k) {
        uint at = shares_at(uint[5](k, c[0], c[1], c[2], c[3]));
        shares_store(at, PART == 0u ? share[k] : shares_load(at) + share[k]);
    }
}
