#version 450
// Each input element claims the output element that its index addresses. Of several claims the last in row-major order
// wins; an index beyond the output claims nothing. `winner` holds the input element's number plus 1.
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
    if (index < winner_SIZE_0) atomicMax(winner_data[push_.winner_OFFSET + index], i + 1u);
}
