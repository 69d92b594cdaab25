// Decodes the two FLOAT16 numbers of a word.
vec2 half_pair(uint word) { return vec2(half_decode(word & 0xffffu), half_decode_high(word)); }
