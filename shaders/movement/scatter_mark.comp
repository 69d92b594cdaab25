#version 450
// Marks each position with 1 + the highest index of its updates. An update with an index out of range is dropped.
#include "prelude.glsl"
#include "movement/index.glsl"

void main() {
    uint i = global_index();
    if (i >= COUNT) return;
    uint c[RANK];
    coordinates(i, c);
    uint tuple = indices_at(c);
    uint at = winners_at(c);
    for (uint k = 0u; k < TUPLE; ++k) {
        uint index;
        if (!resolve(tuple + k * STEP, extent(k), index)) return;
#ifdef IN_PARTS
        // `winners` has a part of the positions.
        index -= part_start(k);
        if (index >= part_size(k)) return;
#endif
        at += index * pitch(k);
    }
    atomicMax(winners_data[push_.winners_OFFSET + at], number(c) + 1u);
}
