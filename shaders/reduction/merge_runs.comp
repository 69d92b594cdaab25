#version 450
// Merges adjacent sorted runs of entries by rank: an entry's place in the merged run is its place in its own run plus
// the number of entries of the other run that come before it. A run covers SPAN elements of its line and holds the
// first KEEP of them; a merged run holds the first MERGED. FINAL: one run is left, and goes to the results.
#include "prelude.glsl"
#include "lib/sort.glsl"

KEY key_at(uint at) {
    at *= ENTRY_WORDS;
#if KEY64
    return uvec2(entries_load(at), entries_load(at + 1u));
#else
    return entries_load(at);
#endif
}

Entry entry_at(uint at) { return Entry(key_at(at), entries_load(at * ENTRY_WORDS + KEY_WORDS)); }

// Returns the number of entries that run r of a line holds.
uint entries_in(uint r) { return r < RUNS ? min(KEEP, min((r + 1u) * SPAN, LENGTH) - r * SPAN) : 0u; }

void main() {
    uint line = global_index();
    uint own = take_coordinate(line, KEEP_DIVISOR), run = take_coordinate(line, RUNS_DIVISOR);
    if (line >= LINES || own >= entries_in(run)) return;
    Entry e = entry_at((line * RUNS + run) * KEEP + own);

    // Equal keys come in the order of their places, and all places of a run precede those of the next run.
    bool ties = (run & 1u) == 1u;
    uint other = (line * RUNS + (run ^ 1u)) * KEEP;
    uint low = 0u, high = entries_in(run ^ 1u);
    while (low < high) {
        uint middle = (low + high) / 2u;
        KEY k = key_at(other + middle);
        if (key_less(k, e.key) || (ties && k == e.key)) low = middle + 1u;
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
