#version 450
#extension GL_EXT_control_flow_attributes : require
// Evaluates the filter {output channel, input channel, 3, 3} at Winograd's points: result {point, input channel, output
// channel}, with rows padded by the last output channel. Tap j along axis d of height, width is the filter's element
// FIRST_d + j * STEP_d. An invocation takes one pair of channels.
#include "prelude.glsl"
#include "convolution/winograd.glsl"

void main() {
    uint i = global_index();
    if (i >= COUNT) return;
    uint c[RANK];
    coordinates(i, c);
    float g[3][3], rows[6][3];
    [[unroll]] for (uint y = 0u; y < 3u; ++y) {
        [[unroll]] for (uint x = 0u; x < 3u; ++x) {
            uint at[4] = uint[4](min(c[1], filter_SIZE_0 - 1u), c[0], uint(FIRST_0 + int(y) * STEP_0),
                                 uint(FIRST_1 + int(x) * STEP_1));
            g[y][x] = filter_load(filter_at(at));
        }
    }
    [[unroll]] for (uint x = 0u; x < 3u; ++x) {
        float points[6] = window_points(g[0][x], g[1][x], g[2][x]);
        [[unroll]] for (uint y = 0u; y < 6u; ++y) rows[y][x] = points[y];
    }
    uint to = result_BASE + c[0] * result_STRIDE_1 + c[1] * result_STRIDE_2;
    [[unroll]] for (uint y = 0u; y < 6u; ++y) {
        float points[6] = window_points(rows[y][0], rows[y][1], rows[y][2]);
        [[unroll]] for (uint x = 0u; x < 6u; ++x) result_store(to + (6u * y + x) * result_STRIDE_0, points[x]);
    }
}
