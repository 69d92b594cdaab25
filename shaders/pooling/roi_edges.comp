#version 450
// The gradient of the regions, one output's share: {4, ROIs, C, height, width}. A sample lies at
// from + along * (to - from), so moving an edge moves it by the scale and 1 - along, or along. The image's slope is
// that of linear interpolation in both modes, as the reference has it, and 0 at samples on the elements themselves.
#include "prelude.glsl"
#include "pooling/roi.glsl"

void main() {
    uint unit = global_index();
    if (unit >= COUNT) return;
    uint c[RANK];
    coordinates(unit, c);
    Axis y = region_axis(c[0], 2u), x = region_axis(c[0], 3u);
    uint batch = min(batch_of(c[0]), source_SIZE_0 - 1u);
    uint across = x.samples * x.outputs;
    uvec2 count = uvec2(x.samples, y.samples);
    uvec2 start = uvec2(c[3] * x.samples, c[2] * y.samples);
#if LARGEST
    uint winner = winner_load(winner_at(c));
    start = uvec2(winner % across, winner / across);
    count = uvec2(1u);
#endif
    vec4 sum = vec4(0.0);
    for (uint i = 0u; i < count.x; ++i) {
        Tap tx = tap(coordinate(x, start.x + i), source_SIZE_3, false);
        float right = along(x, start.x + i);
        for (uint j = 0u; j < count.y; ++j) {
            Tap ty = tap(coordinate(y, start.y + j), source_SIZE_2, false);
            if (!(tx.inside && ty.inside)) continue;
            vec4 v = corners(batch, c[1], ty, tx);
            float down = along(y, start.y + j);
            float slope_x = blend(v.y - v.x, v.w - v.z, ty.weight) * SCALE_X;
            float slope_y = blend(v.z - v.x, v.w - v.y, tx.weight) * SCALE_Y;
            sum += vec4(slope_x * (1.0 - right), slope_y * (1.0 - down), slope_x * right, slope_y * down);
        }
    }
    sum *= gradient_load(gradient_at(c)) / float(count.x * count.y);
    for (uint k = 0u; k < 4u; ++k) shares_store(shares_at(uint[5](k, c[0], c[1], c[2], c[3])), sum[k]);
}
