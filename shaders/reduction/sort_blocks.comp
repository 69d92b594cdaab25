#version 450
// Sorts blocks of BLOCK elements of each line of x in shared memory, SEGMENTS blocks per workgroup, and keeps the first
// KEEP of each: as the results if a line is one block (FINAL), else as entries to merge.
#include "prelude.glsl"
#include "lib/order.glsl"
#include "lib/sort.glsl"
#include "keep.glsl"

shared KEY keys[BLOCK * SEGMENTS];
shared uint places[BLOCK * SEGMENTS];

Entry entry_at(uint i) { return Entry(keys[i], places[i]); }

void main() {
    uint first = workgroup_index() * SEGMENTS;
    uint c[x_RANK];
    for (uint i = gl_LocalInvocationIndex; i < BLOCK * SEGMENTS; i += WORKGROUP) {
        uint block = first + i / BLOCK;
        uint place = remainder(block, BLOCKS_DIVISOR) * BLOCK + i % BLOCK;
        keys[i] = LAST_KEY;
        places[i] = 0xffffffffu;
        if (block < LINES * BLOCKS && place < LENGTH) {
            line_coordinates(divided(block, BLOCKS_DIVISOR), c);
            c[x_RANK - 1u] = place;
            keys[i] = key_of(x_load(x_at(c)));
            places[i] = place;
        }
    }
    // Bitonic sort: sequences of `size` are alternately ascending and descending; the last one is the whole block,
    // ascending.
    for (uint size = 2u; size <= BLOCK; size *= 2u) {
        for (uint apart = size / 2u; apart > 0u; apart /= 2u) {
            barrier();
            for (uint t = gl_LocalInvocationIndex; t < BLOCK * SEGMENTS / 2u; t += WORKGROUP) {
                uint i = t / apart * 2u * apart + t % apart;
                Entry a = entry_at(i), b = entry_at(i + apart);
                bool rises = (i % BLOCK & size) == 0u;
                if (entry_less(b, a) == rises) {
                    keys[i] = b.key;
                    places[i] = b.place;
                    keys[i + apart] = a.key;
                    places[i + apart] = a.place;
                }
            }
        }
    }
    barrier();
    for (uint t = gl_LocalInvocationIndex; t < KEEP * SEGMENTS; t += WORKGROUP) {
        uint entry = t, own = take_coordinate(entry, KEEP_DIVISOR);
        uint block = first + entry;
        Entry e = entry_at(entry * BLOCK + own);
        if (block >= LINES * BLOCKS || e.place == 0xffffffffu) continue;
        keep(block, own, e);
    }
}
