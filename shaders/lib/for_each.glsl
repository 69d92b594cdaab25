// main() of kernels that compute `result` element by element. The kernel defines value(c), the element at coordinates
// c, or STORE(unit, c), which stores it. WHOLE_WORDS: `result` is packed and narrower than a word, so an invocation
// assembles one whole word and no two share one. WALKS: an invocation takes WALK units, spaced by the workgroup's size.
#ifndef STORE
#define STORE(unit, c) result_store(result_at(c), value(c))
#endif
#if WHOLE_WORDS
#ifdef LATE_NUMBERS
// Unrolled, the elements of a word would share the numbers, which then stay in registers.
#extension GL_EXT_control_flow_attributes : require
#define ONE_BY_ONE [[dont_unroll]]
#else
#define ONE_BY_ONE
#endif
#define UNITS ((COUNT + result_PER_WORD - 1u) / result_PER_WORD)
void store_unit(uint unit) {
    uint first = unit * result_PER_WORD, word = 0u;
    ONE_BY_ONE for (uint k = 0; k < result_PER_WORD && first + k < COUNT; ++k) {
        uint c[RANK];
        coordinates(first + k, c);
        word |= result_encode_at(result_BASE + first + k, value(c)) << (k * result_BITS);
    }
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
