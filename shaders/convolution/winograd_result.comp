#version 450
#extension GL_EXT_control_flow_attributes : require
// The result {batch, channel, depth, height, width} from the products {point, tile, channel} at Winograd's points, with
// the bias added and finish() applied. A slice has TILES_Y x TILES_X tiles of 4 x 4, whose elements are GAP_0 rows and
// GAP_1 columns apart; tiles that interleave within a gap are numbered consecutively. RESULT_ROWS: GAP_1 is 1, and four
// elements of a result row begin at a multiple of four and are stored at once. An invocation computes a tile of a
// channel.
#include "prelude.glsl"
#include "convolution/winograd.glsl"

void main() {
    uint i = global_index();
    if (i >= COUNT) return;
    uint c[RANK];
    coordinates(i, c);
    uint tile = c[0], channel = c[1];
    uint rest = tile, tile_x = take_coordinate(rest, TILES_X_DIVISOR), tile_y = take_coordinate(rest, TILES_Y_DIVISOR);
    uint z = take_coordinate(rest, result_SIZE_2_DIVISOR);
    uint phase_y = take_coordinate(tile_y, GAP_0_DIVISOR), phase_x = take_coordinate(tile_x, GAP_1_DIVISOR);
    uint y0 = tile_y * 4u * GAP_0 + phase_y, x0 = tile_x * 4u * GAP_1 + phase_x;
    uint corner[5] = uint[5](rest, channel, z, y0, x0);
    uint from = products_BASE + tile * products_STRIDE_1 + channel * products_STRIDE_2;

    vec4 rows[6];
    [[unroll]] for (uint y = 0u; y < 6u; ++y) {
        float p[6];
        [[unroll]] for (uint x = 0u; x < 6u; ++x) p[x] = products_load(from + (6u * y + x) * products_STRIDE_0);
        rows[y] = results(p[0], p[1], p[2], p[3], p[4], p[5]);
    }
    float bias = 0.0;
#if HAS_BIAS
    bias = bias_load(bias_BASE + channel * bias_STRIDE_1);
#endif
    float sums[4][4];
    [[unroll]] for (uint x = 0u; x < 4u; ++x) {
        vec4 column = results(rows[0][x], rows[1][x], rows[2][x], rows[3][x], rows[4][x], rows[5][x]);
        [[unroll]] for (uint y = 0u; y < 4u; ++y) sums[y][x] = finish(column[y] + bias);
    }
    uint to = result_at(corner);
    [[unroll]] for (uint y = 0u; y < 4u; ++y) {
        if (y0 + y * GAP_0 < result_SIZE_3) {
#if RESULT_ROWS
            uvec4 four;
            uint at = to + y * GAP_0 * result_STRIDE_3;
            [[unroll]] for (uint x = 0u; x < 4u; ++x) four[x] = result_encode_at(at + x, sums[y][x]);
#if RESULT_WIDE
            result_vector_store(at >> 2, four);
#else
            result_word_store(at >> 1, four.x | four.y << 16);
            result_word_store((at >> 1) + 1u, four.z | four.w << 16);
#endif
#else
            [[unroll]] for (uint x = 0u; x < 4u; ++x) {
                if (x0 + x * GAP_1 < result_SIZE_4) {
                    result_store(to + y * GAP_0 * result_STRIDE_3 + x * GAP_1 * result_STRIDE_4, sums[y][x]);
                }
            }
#endif
        }
    }
}
