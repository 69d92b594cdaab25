// keep(block, rank, e) stores entry e, number `rank` of its block's first KEEP entries: as a result if a line is one
// block (FINAL), else for "merge_runs.comp".
void keep(uint block, uint rank, Entry e) {
#if FINAL
    uint c[x_RANK];
    line_coordinates(block, c);
    c[x_RANK - 1u] = e.place;
    x_VALUE v = x_load(x_at(c));
    c[x_RANK - 1u] = rank;
    values_store(values_at(c), v);
    indices_store(indices_at(c), index_of(e.place));
#else
    uint at = (block * KEEP + rank) * ENTRY_WORDS;
#if KEY64
    entries_store(at, e.key.x);
    entries_store(at + 1u, e.key.y);
#else
    entries_store(at, e.key);
#endif
    entries_store(at + KEY_WORDS, e.place);
#endif
}
