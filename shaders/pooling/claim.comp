#version 450
// Each input element claims the output element that its index addresses. Of several claims the last in row-major order
// wins; an index beyond the output claims nothing. `winner` holds the input element's number plus 1.
// IN_PARTS: `indices` and `winner` are parts of the input's and the output's elements.
#include "prelude.glsl"

void main() {
    uint i = global_index();
    if (i >= COUNT) return;
    uint c[RANK];
    coordinates(i, c);
#ifdef indices_IS_UINT64
    uvec2 wide = indices_load(indices_at(c));
    uint index = wide.y != 0u ? 0xffffffffu : wide.x;
#else
    uint index = indices_load(indices_at(c));
#endif
#ifdef IN_PARTS
    i = NUMBER + c[0] * NUMBER_0 + c[1] * NUMBER_1 + c[2] * NUMBER_2 + c[3] * NUMBER_3;
    uint at = 0u;
    for (uint k = TUPLE; k > 0u; --k) {
        uint coordinate = index % extent(k - 1u) - part_start(k - 1u);
        if (coordinate >= part_size(k - 1u)) return;
        at += coordinate * pitch(k - 1u);
        index /= extent(k - 1u);
    }
    index = index == 0u ? at : 0xffffffffu;  // an index that is not 0 now was beyond the output
#endif
    if (index < winner_SIZE_0) atomicMax(winner_data[push_.winner_OFFSET + index], i + 1u);
}
