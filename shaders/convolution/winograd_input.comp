#version 450
#extension GL_EXT_control_flow_attributes : require
// Evaluates x {batch, channel, depth, height, width} at Winograd's points: result {point, tile, channel}. A tile is the
// input of 4 x 4 results that are GAP_0 rows and GAP_1 columns apart, the windows' dilation; a slice has TILES_Y x
// TILES_X tiles; tiles that interleave within a gap are numbered consecutively. PADDING_0 rows and PADDING_1 columns
// precede x; negative numbers skip its beginning. An invocation takes a tile of a channel.
#include "prelude.glsl"
#include "convolution/winograd.glsl"

void main() {
    uint i = global_index();
    if (i >= COUNT) return;
    uint c[RANK];
    coordinates(i, c);
    uint tile = c[0], channel = c[1];
    uint rest = tile, tile_x = take_coordinate(rest, TILES_X_DIVISOR), tile_y = take_coordinate(rest, TILES_Y_DIVISOR);
    uint z = take_coordinate(rest, x_SIZE_2_DIVISOR);
    uint corner[5] = uint[5](rest, channel, z, 0u, 0u);
    // Coordinates before the beginning wrap around to large numbers, which are past the end.
    uint phase_y = take_coordinate(tile_y, GAP_0_DIVISOR), phase_x = take_coordinate(tile_x, GAP_1_DIVISOR);
    uint y0 = tile_y * 4u * GAP_0 + phase_y - uint(PADDING_0), x0 = tile_x * 4u * GAP_1 + phase_x - uint(PADDING_1);
    uint from = x_at(corner);

    float d[6][6];
    [[unroll]] for (uint y = 0u; y < 6u; ++y) {
        [[unroll]] for (uint x = 0u; x < 6u; ++x) {
            uint down = y0 + y * GAP_0, across = x0 + x * GAP_1;
            bool inside = down < x_SIZE_3 && across < x_SIZE_4;
            uint at = from + down * x_STRIDE_3 + across * x_STRIDE_4;
            float v = x_load(inside ? at : x_BASE);
            d[y][x] = inside ? v : 0.0;
        }
    }
    [[unroll]] for (uint x = 0u; x < 6u; ++x) input_points(d[0][x], d[1][x], d[2][x], d[3][x], d[4][x], d[5][x]);
    uint to = result_BASE + tile * result_STRIDE_1 + channel * result_STRIDE_2;
    [[unroll]] for (uint y = 0u; y < 6u; ++y) {
        input_points(d[y][0], d[y][1], d[y][2], d[y][3], d[y][4], d[y][5]);
        [[unroll]] for (uint x = 0u; x < 6u; ++x) result_store(to + (6u * y + x) * result_STRIDE_0, d[y][x]);
    }
}
