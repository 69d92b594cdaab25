// One element of `result` per call of value(c), which the kernel defines. WHOLE_WORDS: `result` is packed and narrower
// than a word, so an invocation puts one whole word together and no two share one.
void main() {
    uint unit = global_index();
#if WHOLE_WORDS
    uint first = unit * result_PER_WORD;
    if (first >= COUNT) return;
    uint word = 0u;
    for (uint k = 0u; k < result_PER_WORD && first + k < COUNT; ++k) {
        uint c[RANK];
        coordinates(first + k, c);
        word |= result_encode_at(result_BASE + first + k, value(c)) << (k * result_BITS);
    }
    result_word_store(result_BASE / result_PER_WORD + unit, word);
#else
    if (unit >= COUNT) return;
    uint c[RANK];
    coordinates(unit, c);
    result_store(result_at(c), value(c));
#endif
}
