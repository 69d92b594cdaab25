#version 450
// The first KEEP entries of each block of a line of x, found one after the other by a workgroup. The workgroup holds
// the first remaining entry of each group of GROUP elements: the first of these is the next result, and only its group
// is read again. GROUPS: the maximum number of groups of a block. Used on CPU drivers, where the barriers of a sort are
// slow, and a workgroup is one vector.
#include "prelude.glsl"
#include "lib/order.glsl"
#include "lib/sort.glsl"
#include "lib/reduce.glsl"
#include "keep.glsl"

shared KEY keys[GROUPS];
shared uint places[GROUPS];

const Entry NONE = Entry(LAST_KEY, 0xffffffffu);

Entry earlier(Entry a, Entry b) {
    bool second = entry_less(b, a);
    return Entry(second ? b.key : a.key, second ? b.place : a.place);
}
WORKGROUP_REDUCTION(first_of_all, Entry, earlier)

void main() {
    uint block = workgroup_index();
    if (block >= LINES * BLOCKS) return;
    uint lane = gl_LocalInvocationIndex;
    uint c[x_RANK];
    line_coordinates(divided(block, BLOCKS_DIVISOR), c);
    uint begin = remainder(block, BLOCKS_DIVISOR) * BLOCK;
    uint end = min(begin + BLOCK, LENGTH);
    uint groups = (end - begin + GROUP - 1u) / GROUP;
    for (uint group = lane; group < groups; group += WORKGROUP) {
        Entry first = NONE;
        uint from = begin + group * GROUP, stop = min(from + GROUP, end);
        for (uint i = from; i < stop; ++i) {
            c[x_RANK - 1u] = i;
            first = earlier(first, Entry(key_of(x_load(x_at(c))), i));
        }
        keys[group] = first.key;
        places[group] = first.place;
    }
    uint count = min(KEEP, end - begin);
    for (uint rank = 0u; rank < count; ++rank) {
        barrier();  // the last round's result was read, and the new first entry of its group written
        Entry first = NONE;
        for (uint group = lane; group < groups; group += WORKGROUP)
            first = earlier(first, Entry(keys[group], places[group]));
        first = first_of_all(first, lane, WORKGROUP);
        if (lane == 0u) keep(block, rank, first);

        uint group = (first.place - begin) / GROUP;
        uint from = begin + group * GROUP, stop = min(from + GROUP, end);
        Entry next = NONE;
        for (uint i = from + lane; i < stop; i += WORKGROUP) {
            c[x_RANK - 1u] = i;
            Entry e = Entry(key_of(x_load(x_at(c))), i);
            if (entry_less(first, e)) next = earlier(next, e);
        }
        barrier();  // `first` was read
        next = first_of_all(next, lane, WORKGROUP);
        if (lane == 0u) {
            keys[group] = next.key;
            places[group] = next.place;
        }
    }
}
