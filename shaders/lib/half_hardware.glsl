// FLOAT16 <-> float as lib/half.glsl has it, by the device's own conversions, in a kernel that demands what makes them the
// same (float_modes): subnormals, signed zeros, infinities and NaN are kept, and the nearest is chosen, halves to even.
// The payload of a NaN may be another.
//
// NVIDIA's compiler (580) takes a number that is packed and then unpacked by these instructions as it was, not rounded,
// whatever the modes. So between them stands a word that is zero, since no dispatch is so large, and unknown to it.
float half_unpacked(uint h) { return unpackHalf2x16(h).x; }
#define half_rounded(v) half_unpacked(packHalf2x16(vec2(v, 0.0)) ^ (gl_NumWorkGroups.x >> 31))
#define half_decode(h) unpackHalf2x16(h).x
#define half_encode(v) packHalf2x16(vec2(v, 0.0))
#define half_decode_high(word) unpackHalf2x16(word).y
