// main() of kernels that compute `result` element by element. The kernel defines value(c), the element at coordinates
// c, or STORE(unit, c), which stores it. WHOLE_WORDS: `result` is packed and narrower than a word, so an invocation
// assembles one whole word and no two share one. WALKS: an invocation takes WALK units, spaced by the workgroup's size.
#ifndef STORE
#define STORE(unit, c) result_store(result_at(c), value(c))
#endif
#if WHOLE_WORDS
#ifdef LATE_NUMBERS
#extension GL_EXT_control_flow_attributes : require
#endif
#define UNITS ((COUNT + result_PER_WORD - 1u) / result_PER_WORD)
uint encoded(uint i) {
    uint c[RANK];
    coordinates(i, c);
    return result_encode_at(result_BASE + i, value(c));
}

void store_unit(uint unit) {
    uint i = unit * result_PER_WORD, word = 0u;
#ifdef LATE_NUMBERS
    // AMD's compilers would keep the dispatch's numbers in registers for all elements of a word if this loop were
    // unrolled, or if it always ran at least once. Like this, only i and the word stay in registers.
    [[dont_unroll]] while (i < COUNT) {
        word |= encoded(i) << (i % result_PER_WORD * result_BITS);
        if (++i % result_PER_WORD == 0u) break;
    }
    unit = (i - 1u) / result_PER_WORD;
#else
    for (uint k = 0; k < result_PER_WORD && i + k < COUNT; ++k) word |= encoded(i + k) << (k * result_BITS);
#endif
    result_word_store(result_BASE / result_PER_WORD + unit, word);
}
#else
#define UNITS COUNT
void store_unit(uint unit) {
    uint c[RANK];
    coordinates(unit, c);
    STORE(unit, c);
}
#endif

void main() {
#if WALKS
    uint unit = workgroup_index() * (WORKGROUP * WALK) + gl_LocalInvocationIndex;
    uint stop = min(unit + WORKGROUP * WALK, UNITS);
#if WHOLE_WORDS
    for (; unit < stop; unit += WORKGROUP) store_unit(unit);
#else
    // On llvmpipe, additions with carries are faster than the quotients in coordinates().
    uint next[RANK], by[RANK];
    coordinates(unit, next);
    coordinates(WORKGROUP, by);
    for (; unit < stop; unit += WORKGROUP) {
        uint c[RANK] = next;
        STORE(unit, c);
        advance(next, by);
    }
#endif
#else
    uint unit = global_index();
    if (unit < UNITS) store_unit(unit);
#endif
}
