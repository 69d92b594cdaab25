#version 450
#extension GL_EXT_control_flow_attributes : require
// Sorts blocks of BLOCK elements of each line of x, and keeps the first KEEP of each (see sort_blocks.comp). An
// invocation holds a block in registers and orders pairs of its elements in a fixed sequence (a sorting network). Used
// on CPU drivers, where the barriers of a sort by a workgroup are slow.
#include "prelude.glsl"
#include "lib/order.glsl"
#include "lib/sort.glsl"
#include "keep.glsl"

// Puts entries i and j, i < j, in order.
#define ORDER(i, j) { \
    Entry a = entries_[i], b = entries_[j]; \
    bool rises = entry_less(a, b); \
    entries_[i].key = rises ? a.key : b.key; \
    entries_[j].key = rises ? b.key : a.key; \
    entries_[i].place = rises ? a.place : b.place; \
    entries_[j].place = rises ? b.place : a.place; \
}

void main() {
    uint block = global_index();
    if (block >= LINES * BLOCKS) return;
    uint c[x_RANK];
    line_coordinates(divided(block, BLOCKS_DIVISOR), c);
    uint begin = remainder(block, BLOCKS_DIVISOR) * BLOCK;
    uint end = min(begin + BLOCK, LENGTH);
    Entry entries_[BLOCK];
    [[unroll]] for (uint i = 0u; i < BLOCK; ++i) {
        c[x_RANK - 1u] = min(begin + i, end - 1u);
        entries_[i] = Entry(key_of(x_load(x_at(c))), begin + i);
        if (begin + i >= end) entries_[i] = Entry(LAST_KEY, 0xffffffffu);
    }
    NETWORK
    uint count = min(KEEP, end - begin);
    [[unroll]] for (uint rank = 0u; rank < BLOCK; ++rank) {
        if (rank < count) keep(block, rank, entries_[rank]);
    }
}
