#version 450
// As weights.comp, for a filter whose elements per output channel are contiguous and in the kernel's order: {tile of
// output channels, element, output channel in the tile}. An invocation takes four elements of a channel.
#include "prelude.glsl"

void main() {
    uint i = global_index();
    if (i >= COUNT) return;
    uint c[RANK];
    coordinates(i, c);
    uint group = c[0], tile = take_coordinate(group, TILES_DIVISOR);
    uint channel = tile * SIZE_2 + c[2], first = 4u * c[1];
    bool inside = channel < filter_SIZE_1;
    uint row[3] = uint[3](group, inside ? channel : 0u, first);
    uint from = filter_at(row), to = (c[0] * LENGTH + first) * SIZE_2 + c[2];
    uvec4 bits = uvec4(0u);
    if (ALIGNED) {
        bits = filter_vector(from >> 2);
    } else {
        for (uint k = 0u; k < min(4u, LENGTH - first); ++k) bits[k] = filter_word(from + k);
    }
    if (!inside) bits = uvec4(0u);
    for (uint k = 0u; k < min(4u, LENGTH - first); ++k) result_word_store(to + k * SIZE_2, bits[k]);
}
