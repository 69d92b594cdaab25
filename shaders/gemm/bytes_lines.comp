#version 450
// A matrix of bytes with rows contiguous along k, padded with PAD.
#include "prelude.glsl"

result_VALUE value(uint c[RANK]) {
    bool is_there = c[RANK - 1u] < K;
    c[RANK - 1u] = min(c[RANK - 1u], K - 1u);
    uint bits = x_load(x_at(c));
    return is_there ? bits : PAD;
}

#include "lib/for_each.glsl"
