#version 450
// Merges neighbouring sorted runs of entries by rank: an entry's place is its own plus the number of entries of the other
// run that come before it. A run stands for SPAN elements of its line and holds the first KEEP of them; a merged one the
// first MERGED. FINAL: what is left is the result.
#include "prelude.glsl"
#include "lib/sort.glsl"

Entry entry_at(uint at) {
    at *= ENTRY_WORDS;
#if KEY64
    return Entry(uvec2(entries_load(at), entries_load(at + 1u)), entries_load(at + 2u));
#else
    return Entry(entries_load(at), entries_load(at + 1u));
#endif
}

// How many entries run r of a line has.
uint held(uint r) { return r < RUNS ? min(KEEP, min((r + 1u) * SPAN, LENGTH) - r * SPAN) : 0u; }

void main() {
    uint id = global_index();
    uint own = id % KEEP, run = id / KEEP % RUNS, line = id / KEEP / RUNS;
    if (line >= LINES || own >= held(run)) return;
    Entry e = entry_at((line * RUNS + run) * KEEP + own);

    uint other = (line * RUNS + (run ^ 1u)) * KEEP;
    uint low = 0u, high = held(run ^ 1u);
    while (low < high) {
        uint middle = (low + high) / 2u;
        if (entry_less(entry_at(other + middle), e)) low = middle + 1u;
        else high = middle;
    }
    uint rank = own + low;
    if (rank >= MERGED) return;
#if FINAL
    uint c[x_RANK];
    line_coordinates(line, c);
    c[x_RANK - 1u] = e.place;
    x_VALUE v = x_load(x_at(c));
    c[x_RANK - 1u] = rank;
    values_store(values_at(c), v);
    indices_store(indices_at(c), index_of(e.place));
#else
    uint at = ((line * ((RUNS + 1u) / 2u) + run / 2u) * MERGED + rank) * ENTRY_WORDS;
#if KEY64
    merged_store(at, e.key.x);
    merged_store(at + 1u, e.key.y);
#else
    merged_store(at, e.key);
#endif
    merged_store(at + KEY_WORDS, e.place);
#endif
}
