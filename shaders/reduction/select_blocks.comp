#version 450
// The first KEEP entries of each block of a line of x, found one after the other: each is the first entry that comes
// after the previous one in the sorting order. An invocation takes a block. Used for a small KEEP on CPU drivers, where
// the barriers of a sort are slow.
#include "prelude.glsl"
#include "lib/order.glsl"
#include "lib/sort.glsl"
#include "keep.glsl"

void main() {
    uint block = global_index();
    if (block >= LINES * BLOCKS) return;
    uint c[x_RANK];
    line_coordinates(divided(block, BLOCKS_DIVISOR), c);
    uint begin = remainder(block, BLOCKS_DIVISOR) * BLOCK;
    uint end = min(begin + BLOCK, LENGTH);
    uint count = min(KEEP, end - begin);
    Entry last = Entry(KEY(0u), 0u);
    for (uint rank = 0u; rank < count; ++rank) {
        Entry first = Entry(LAST_KEY, 0xffffffffu);
        for (uint i = begin; i < end; ++i) {
            c[x_RANK - 1u] = i;
            Entry e = Entry(key_of(x_load(x_at(c))), i);
            if ((rank == 0u || entry_less(last, e)) && entry_less(e, first)) first = e;
        }
        keep(block, rank, first);
        last = first;
    }
}
