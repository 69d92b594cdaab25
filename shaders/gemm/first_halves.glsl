// Keeps the first `count` of a vector's eight elements and zeroes the others.
uvec4 first_halves(uvec4 bits, uint count) {
    uvec4 counts = uvec4(count);
    uvec4 low = mix(uvec4(0u), uvec4(0xffffu), greaterThan(counts, uvec4(0u, 2u, 4u, 6u)));
    uvec4 high = mix(uvec4(0u), uvec4(0xffff0000u), greaterThan(counts, uvec4(1u, 3u, 5u, 7u)));
    return bits & (low | high);
}
