#version 450
#extension GL_EXT_control_flow_attributes : require
// Softmax along the rows of scores [batch, head, query, key], in place, after adding FILTER to masked scores (MASK: the
// type of mask, a DML_MULTIHEAD_ATTENTION_MASK_TYPE). A workgroup takes a row, four elements at a time. Rows begin at
// multiples of four elements; padding between KEYS and the next row is ignored and zeroed. MASK_ALONE: only mask, four
// elements per invocation, into a second tensor, where padding is -infinity.
#include "prelude.glsl"
#include "lib/math.glsl"
#include "attention/mask.glsl"

shared float partial[WORKGROUP];

float combined(float a, float b, bool maximum) {
    return maximum ? (a < b ? b : a) : a + b;
}

float reduced(float own, bool maximum) {
    uint lane = gl_LocalInvocationIndex;
    partial[lane] = own;
    barrier();
    for (uint width = WORKGROUP / 2u; width > 0u; width /= 2u) {
        if (lane < width) partial[lane] = combined(partial[lane], partial[lane + width], maximum);
        barrier();
    }
    float all = partial[0];
    barrier();
    return all;
}

#if MASK_ALONE
void main() {
    uint row = global_index(), f = take_coordinate(row, FOURS_DIVISOR);
    if (row >= COUNT) return;
    uint c[3];
    coordinates(row, c);
    limits(c[0]);
    uint row_of_mask = mask_row(c[0], c[1], c[2]);
    uint at = (scores_BASE + row * scores_STRIDE_2) / 4u + f;
    vec4 v = uintBitsToFloat(scores_vector(at));
    [[unroll]] for (uint i = 0u; i < 4u; ++i) v[i] = 4u * f + i < KEYS ? masked(v[i], row_of_mask, 4u * f + i) : LEAST;
    masked_vector_store((masked_BASE + row * masked_STRIDE_2) / 4u + f, floatBitsToUint(v));
}
#else
void main() {
    uint row = workgroup_index();
    if (row >= COUNT) return;
    uint c[3];
    coordinates(row, c);
    limits(c[0]);
    uint row_of_mask = mask_row(c[0], c[1], c[2]);
    uint first = (scores_BASE + row * scores_STRIDE_2) / 4u;
    float largest = LEAST;
    for (uint f = gl_LocalInvocationIndex; f < FOURS; f += WORKGROUP) {
        vec4 v = uintBitsToFloat(scores_vector(first + f));
        [[unroll]] for (uint i = 0u; i < 4u; ++i) {
            v[i] = masked(v[i], row_of_mask, 4u * f + i);
            largest = combined(largest, v[i], true);
        }
        scores_vector_store(first + f, floatBitsToUint(v));
    }
    largest = reduced(largest, true);
    float sum = 0.0;
    for (uint f = gl_LocalInvocationIndex; f < FOURS; f += WORKGROUP) {
        vec4 v = uintBitsToFloat(scores_vector(first + f));
        [[unroll]] for (uint i = 0u; i < 4u; ++i) {
            v[i] = exp_accurate(v[i] - largest);
            sum += v[i];
        }
        scores_vector_store(first + f, floatBitsToUint(v));
    }
    float scale = divide(1.0, reduced(sum, false));
    for (uint f = gl_LocalInvocationIndex; f < FOURS; f += WORKGROUP) {
        vec4 v = uintBitsToFloat(scores_vector(first + f)) * scale;
        scores_vector_store(first + f, floatBitsToUint(v));
    }
}
#endif
