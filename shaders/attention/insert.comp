#version 450
// Writes new rows [batch, head, row, element], with their bias, into a cache [batch, head, position, element] that
// keeps its other rows. A batch element's rows begin at its position; rows past the cache's end are dropped. An
// invocation stores a whole word if rows begin and end at words of the cache (WHOLE_WORDS), else one element.
#include "prelude.glsl"

cache_VALUE value(uint c[4]) {
    cache_VALUE v = cache_VALUE(rows_load(rows_at(c)));
#ifdef bias_RANK
    v += bias_load(bias_at(uint[2](c[1], c[3])));
#endif
    return v;
}

void main() {
    uint unit = global_index();
    if (unit >= COUNT) return;
    uint c[4];
    coordinates(unit, c);
    float begin = float(positions_load(positions_at(uint[1](c[0]))));
    if (begin >= float(cache_SIZE_2)) return;
    uint position = (begin > 0.0 ? uint(begin + 0.5) : 0u) + c[2];
    if (position >= cache_SIZE_2) return;
#if WHOLE_WORDS
    c[3] *= cache_PER_WORD;
    uint at = cache_at(uint[4](c[0], c[1], position, c[3])), word = 0u;
    for (uint k = 0u; k < cache_PER_WORD; ++k) {
        word |= cache_encode_at(at + k, value(uint[4](c[0], c[1], c[2], c[3] + k))) << (k * cache_BITS);
    }
    cache_word_store(at / cache_PER_WORD, word);
#else
    cache_store(cache_at(uint[4](c[0], c[1], position, c[3])), value(c));
#endif
}
