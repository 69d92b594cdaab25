#version 450
#extension GL_EXT_control_flow_attributes : require
// For each row of a matrix of bytes that bytes.glsl multiplies: its zero point, and the sum of its bytes minus LESS
// zero points. With signed products (DOT_SIGNED), 128 is subtracted from the zero point and from each byte. FLIP
// converts signed bytes to unsigned ones. A workgroup takes ROWS rows, with WORKGROUP / ROWS invocations each.
#include "prelude.glsl"

const uint LANES = WORKGROUP / ROWS;
const uint ORIGIN = DOT_SIGNED == 1 ? 128u : 0u;

shared uint partial[ROWS][LANES];

// Returns the sum of a vector's bytes in two parts, one in each half of a word.
uint halves_of(uvec4 bits) {
    uvec4 pairs = (bits & 0x00ff00ffu) + (bits >> 8 & 0x00ff00ffu);
    return pairs.x + pairs.y + pairs.z + pairs.w;
}

#if WINDOWS
#include "convolution/byte_windows.glsl"
#endif

void main() {
    uint row = workgroup_index() * ROWS + gl_LocalInvocationIndex / LANES, lane = gl_LocalInvocationIndex % LANES;
    uint at[RANK];
    coordinates(min(row, COUNT - 1u), at);
    uint sum = 0u;
#if WINDOWS
    LINE line = line_of_b(at, at[RANK - 1u]);
    for (uint word = lane; word < WORDS; word += LANES) {
        uint bits = word_of_b(line, word) ^ FLIP;
        uint pairs = (bits & 0x00ff00ffu) + (bits >> 8 & 0x00ff00ffu);
        sum += (pairs & 0xffffu) + (pairs >> 16) - 4u * ORIGIN;
    }
#else
    uint first = x_at(at);
    for (uint k = lane * 16u; k < K; k += LANES * 16u) {
        uint pairs = halves_of(x_vector((first + k) / 16u) ^ FLIP);
        sum += (pairs & 0xffffu) + (pairs >> 16) - 16u * ORIGIN;
    }
#endif
    partial[gl_LocalInvocationIndex / LANES][lane] = sum;
    barrier();
    if (lane == 0u && row < COUNT) {
        [[unroll]] for (uint l = 1u; l < LANES; ++l) sum += partial[gl_LocalInvocationIndex / LANES][l];
#if HAS_ZERO
        uint point = uint(zero_load(zero_at(at)));
#else
        uint point = 0u;
#endif
        // An unsigned zero point is shifted with the bytes; a signed one is not.
        point -= POINT_ORIGIN;
        result_word_store(result_BASE + 2u * row, point);
        result_word_store(result_BASE + 2u * row + 1u, sum - LESS * point);
    }
}
