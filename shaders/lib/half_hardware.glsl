// FLOAT16 <-> float as in lib/half.glsl, by the device's own conversions, in a kernel that requires the modes that make
// them equal (float_modes): subnormals, signed zeros, infinities and NaN are kept, and rounding is to nearest even. NaN
// payloads may differ.
//
// NVIDIA's compiler (580) removes a pack followed by an unpack, and with them the rounding, in every mode. XOR with a
// word in between prevents it: the word is always zero, since no dispatch is so large, but the compiler does not know.
float half_unpacked(uint h) { return unpackHalf2x16(h).x; }
#define half_rounded(v) half_unpacked(packHalf2x16(vec2(v, 0.0)) ^ (gl_NumWorkGroups.x >> 31))
#define half_decode(h) unpackHalf2x16(h).x
#define half_encode(v) packHalf2x16(vec2(v, 0.0))
#define half_decode_high(word) unpackHalf2x16(word).y
