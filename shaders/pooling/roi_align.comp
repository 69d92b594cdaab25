#version 450
// The mean or the maximum of an output's samples of its region; WINNER: the number of the first largest of all samples
// in the region's grid, row-major. Batches beyond the input are undefined in the reference: they read the last one.
#include "prelude.glsl"
#include "pooling/roi.glsl"

result_VALUE value(uint c[RANK]) {
    Axis y = region_axis(c[0], 2u), x = region_axis(c[0], 3u);
    uint batch = min(batch_of(c[0]), source_SIZE_0 - 1u);
    float sum = 0.0, best = 0.0;
    uint winner = 0u;
    bool found = false;
    for (uint i = 0u; i < x.samples; ++i) {
        uint sx = c[3] * x.samples + i;
        Tap across = tap(coordinate(x, sx), source_SIZE_3, NEAREST);
        float column = 0.0;
        for (uint j = 0u; j < y.samples; ++j) {
            uint sy = c[2] * y.samples + j;
            float v = sample_at(batch, c[1], tap(coordinate(y, sy), source_SIZE_2, NEAREST), across);
            column += v;
            if (!found || v > best || (is_nan(v) && !is_nan(best))) {
                best = v;
                winner = sy * x.samples * x.outputs + sx;
            }
            found = true;
        }
        sum += column;
    }
#if WINNER
    return winner;
#else
    return LARGEST ? best : sum / float(x.samples * y.samples);
#endif
}

#include "lib/for_each.glsl"
