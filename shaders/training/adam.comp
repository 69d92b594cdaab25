#version 450
// One step of Adam for each element. All inputs of an element are read before its outputs are written, since an output
// may be bound where the input is. VECTORS: all tensors are contiguous, and an invocation takes UNIT elements, a
// uvec4 of each tensor.
#include "prelude.glsl"
#include "lib/math.glsl"

struct Parameter {
    float x, m, v;
};

Parameter stepped(Parameter p, float g, float rate) {
    p.m = BETA1 * p.m + REST1 * g;
    p.v = BETA2 * p.v + REST2 * g * g;
    p.x -= divide(rate * p.m, sqrt_accurate(p.v) + EPSILON);
    return p;
}

void one(uint i, float rate) {
    uint c[RANK];
    coordinates(i, c);
    Parameter p = Parameter(x_load(x_at(c)), m_load(m_at(c)), v_load(v_at(c)));
    p = stepped(p, gradient_load(gradient_at(c)), rate);
    new_x_store(new_x_at(c), p.x);
    new_m_store(new_m_at(c), p.m);
    new_v_store(new_v_at(c), p.v);
}

void main() {
    uint id = global_index();
    uint first = id * UNIT;
    if (first >= COUNT) return;
    float rate = LEARNING_RATE * alpha_load(alpha_BASE);
#if VECTORS
    if (first + UNIT <= COUNT) {
        uvec4 xs = x_vector(x_BASE / UNIT + id), ms = m_vector(m_BASE / UNIT + id);
        uvec4 vs = v_vector(v_BASE / UNIT + id), gs = gradient_vector(gradient_BASE / UNIT + id);
        uvec4 to_x = uvec4(0u), to_m = uvec4(0u), to_v = uvec4(0u);
        for (uint k = 0u; k < UNIT; ++k) {
            uint word = k / x_PER_WORD, shift = k % x_PER_WORD * x_BITS;
            Parameter p = Parameter(x_decode(xs[word] >> shift), m_decode(ms[word] >> shift), v_decode(vs[word] >> shift));
            p = stepped(p, gradient_decode(gs[word] >> shift), rate);
            to_x[word] |= new_x_encode(p.x) << shift;
            to_m[word] |= new_m_encode(p.m) << shift;
            to_v[word] |= new_v_encode(p.v) << shift;
        }
        new_x_vector_store(new_x_BASE / UNIT + id, to_x);
        new_m_vector_store(new_m_BASE / UNIT + id, to_m);
        new_v_vector_store(new_v_BASE / UNIT + id, to_v);
        return;
    }
#endif
    for (uint i = first; i < min(first + UNIT, COUNT); ++i) one(i, rate);
}
