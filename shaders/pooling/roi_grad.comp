#version 450
// The gradient of the input: each element gathers, in a fixed order, the gradients of the outputs that read it,
// weighted. A dispatch covers regions FROM_0 to TO_0, rows FROM_2 to TO_2 and columns FROM_3 to TO_3 of their outputs
// (TO excluded); `carry` holds the earlier dispatches' sum.
#include "prelude.glsl"
#if LARGEST
#include "pooling/roi.glsl"
#endif
#include "pooling/tap.glsl"

float value(uint c[RANK]) {
    float sum = 0.0;
#ifdef carry_VALUE
    sum = carry_load(carry_at(c));
#endif
    uint p[4];
    p[1] = c[1];
    for (p[0] = FROM_0; p[0] < TO_0; ++p[0]) {
        if (batch_of(p[0]) != c[0]) continue;
#if LARGEST
        Axis y = region_axis(p[0], 2u), x = region_axis(p[0], 3u);
#endif
        for (p[2] = FROM_2; p[2] < TO_2; ++p[2]) {
#if !LARGEST
            float row = rows_load(rows_at(uint[3](p[0], p[2], c[2])));
            if (row == 0.0) continue;
#endif
            for (p[3] = FROM_3; p[3] < TO_3; ++p[3]) {
#if LARGEST
                uint w = winner_at(uint[5](0u, p[0], p[1], p[2], p[3]));
                Tap tx = tap(coordinate(x, p[3], winner_load(w)), IN_3, NEAREST);
                Tap ty = tap(coordinate(y, p[2], winner_load(w + winner_STRIDE_0)), IN_2, NEAREST);
                float weight = ty.inside && tx.inside ? weight_of(ty, c[2]) * weight_of(tx, c[3]) : 0.0;
#else
                float weight = row * columns_load(columns_at(uint[3](p[0], p[3], c[3])));
#endif
                if (weight != 0.0) sum += gradient_load(gradient_at(p)) * weight;
            }
        }
    }
    return sum;
}

#include "lib/for_each.glsl"
