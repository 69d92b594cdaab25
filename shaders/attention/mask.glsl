// The keys to which queries attend. A batch element has KEYS keys, the last NEW of which are new. FILTER is added to
// the scores of masked keys. MASK: the type of mask, a DML_MULTIHEAD_ATTENTION_MASK_TYPE.

#define LEAST uintBitsToFloat(0xff800000u)

// Keys starting at `end` are ignored. Of the others, those with first_open <= key < end_open are unmasked.
uint end, first_open, end_open;

void limits(uint batch) {
    end = KEYS;
    first_open = 0u;
    end_open = KEYS;
#ifdef lengths_RANK
    float past = float(lengths_load(lengths_at(uint[1](batch))));
    end = NEW + (past >= float(KEYS - NEW) ? KEYS - NEW : past > 0.0 ? uint(past + 0.5) : 0u);
#endif
#if MASK == 1 || MASK == 2
    end_open = uint(max(mask_load(mask_at(uint[2](0u, batch))), 0));
#if MASK == 2
    first_open = uint(max(mask_load(mask_at(uint[2](1u, batch))), 0));
#endif
#elif MASK == 3
    // Starts are offsets into the whole batch; a sequence ends at the next start.
    int origin = int(batch * KEYS);
    int start = mask_load(mask_at(uint[1](2u * BATCH + 1u + batch))) - origin;
    int next = mask_load(mask_at(uint[1](2u * BATCH + 2u + batch))) - origin;
    next = min(next, start + mask_load(mask_at(uint[1](batch))));
    first_open = uint(max(start, 0));
    end_open = uint(max(next, 0));
#endif
}

// The index at which a query's row of the mask begins.
uint mask_row(uint batch, uint head, uint query) {
#if MASK == 4
    return mask_at(uint[4](batch, head, query, 0u));
#else
    return 0u;
#endif
}

float masked(float score, uint row, uint key) {
    if (key >= end) return LEAST;
#if MASK == 4
    bool open = mask_load(row + key * mask_STRIDE_3) != 0;
#else
    bool open = key >= first_open && key < end_open;
#endif
    return open ? score : score + FILTER;
}
