#version 450
// The filter {group, output channel, input channel, window} in the direct kernel's layout: {tile of output channels,
// input channel, window, output channel in the tile}. Tap j along axis d is the filter's element FIRST_d + j * STEP_d.
// The space counts {tile, input channel, plane of the window, row, output channel}: an invocation takes a row of TAPS.
#include "prelude.glsl"

void main() {
    uint i = global_index();
    if (i >= COUNT) return;
    uint c[RANK];
    coordinates(i, c);
    uint group = c[0], tile = take_coordinate(group, TILES_DIVISOR);
    uint channel = tile * SIZE_4 + c[4];
    bool inside = channel < filter_SIZE_1;
    uint row[6] = uint[6](group, inside ? channel : 0u, c[1], uint(FIRST_0 + int(c[2]) * STEP_0),
                          uint(FIRST_1 + int(c[3]) * STEP_1), uint(FIRST_2));
    uint corner[6] = uint[6](c[0], c[1], c[2], c[3], 0u, c[4]);
    uint from = filter_at(row), to = result_at(corner);
    for (uint tap = 0u; tap < TAPS; ++tap, from += uint(STEP_2) * filter_STRIDE_5, to += result_STRIDE_4) {
        filter_VALUE v = filter_load(from);
        result_store(to, inside ? v : result_VALUE(0));
    }
}
