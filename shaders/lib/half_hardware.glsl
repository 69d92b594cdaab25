// FLOAT16 <-> float as lib/half.glsl has it, by the device's own conversions, in a kernel that demands what makes them the
// same (float_modes): subnormals, signed zeros, infinities and NaN are kept, and the nearest is chosen, halves to even.
// The payload of a NaN may be another.
#define half_decode(h) unpackHalf2x16(h).x
#define half_encode(v) packHalf2x16(vec2(v, 0.0))
