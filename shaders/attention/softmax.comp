#version 450
#extension GL_EXT_control_flow_attributes : require
// Softmax along the rows of scores [batch, head, query, key], in place, with FILTER added first to the scores that the
// mask closes (MASK: the type of mask, a DML_MULTIHEAD_ATTENTION_MASK_TYPE). A workgroup takes a row, four elements at
// a time. Rows begin at multiples of four elements; what lies between KEYS and the next row counts for nothing and
// becomes zero. MASK_ALONE: the kernel adds the mask and no more, and an invocation takes four elements.
#include "prelude.glsl"
#include "lib/math.glsl"

#define LEAST uintBitsToFloat(0xff800000u)

shared float partial[WORKGROUP];

// Keys before `end` count at all; those from first_open to before end_open are not masked.
uint end, first_open, end_open;

void limits(uint batch) {
    end = KEYS;
    first_open = 0u;
    end_open = KEYS;
#ifdef lengths_RANK
    float past = lengths_load(lengths_at(uint[1](batch)));
    end = NEW + (past >= float(KEYS - NEW) ? KEYS - NEW : past > 0.0 ? uint(past + 0.5) : 0u);
#endif
#if MASK == 1 || MASK == 2
    end_open = uint(max(mask_load(mask_at(uint[2](0u, batch))), 0));
#if MASK == 2
    first_open = uint(max(mask_load(mask_at(uint[2](1u, batch))), 0));
#endif
#elif MASK == 3
    // Starts count positions through the whole batch; the next start ends a sequence.
    int origin = int(batch * KEYS);
    int start = mask_load(mask_at(uint[1](2u * BATCH + 1u + batch))) - origin;
    int next = mask_load(mask_at(uint[1](2u * BATCH + 2u + batch))) - origin;
    next = min(next, start + mask_load(mask_at(uint[1](batch))));
    first_open = uint(max(start, 0));
    end_open = uint(max(next, 0));
#endif
}

float masked(float score, uint c[3], uint key) {
    if (key >= end) return LEAST;
#if MASK == 4
    bool open = mask_load(mask_at(uint[4](c[0], c[1], c[2], key))) != 0;
#else
    bool open = key >= first_open && key < end_open;
#endif
    return open ? score : score + FILTER;
}

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
    uint at = (scores_BASE + row * scores_STRIDE_2) / 4u + f;
    vec4 v = uintBitsToFloat(scores_vector(at));
    [[unroll]] for (uint i = 0u; i < 4u; ++i) v[i] = 4u * f + i < KEYS ? masked(v[i], c, 4u * f + i) : 0.0;
    scores_vector_store(at, floatBitsToUint(v));
}
#else
void main() {
    uint row = workgroup_index();
    if (row >= COUNT) return;
    uint c[3];
    coordinates(row, c);
    limits(c[0]);
    uint first = (scores_BASE + row * scores_STRIDE_2) / 4u;
    float largest = LEAST;
    for (uint f = gl_LocalInvocationIndex; f < FOURS; f += WORKGROUP) {
        vec4 v = uintBitsToFloat(scores_vector(first + f));
        [[unroll]] for (uint i = 0u; i < 4u; ++i) {
            v[i] = masked(v[i], c, 4u * f + i);
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
