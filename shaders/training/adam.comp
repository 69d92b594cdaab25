#version 450
// One step of Adam for each element. An element's inputs are read before its outputs are written: these may be the same
// places. UNIT elements to an invocation make whole words.
#include "prelude.glsl"
#include "lib/math.glsl"

void step_of(uint i, out float x, out float m, out float v) {
    uint c[RANK];
    coordinates(i, c);
    float g = gradient_load(gradient_at(c));
    m = BETA1 * m_load(m_at(c)) + REST1 * g;
    v = BETA2 * v_load(v_at(c)) + REST2 * g * g;
    float rate = LEARNING_RATE * alpha_load(alpha_BASE);
    x = x_load(x_at(c)) - divide(rate * m, sqrt_accurate(v) + EPSILON);
}

void main() {
    uint first = global_index() * UNIT;
    if (first >= COUNT) return;
    float x, m, v;
#if UNIT == 1
    uint c[RANK];
    coordinates(first, c);
    step_of(first, x, m, v);
    new_x_store(new_x_at(c), x);
    new_m_store(new_m_at(c), m);
    new_v_store(new_v_at(c), v);
#else
    uint xs = 0u, ms = 0u, vs = 0u;
    for (uint k = 0u; k < UNIT && first + k < COUNT; ++k) {
        step_of(first + k, x, m, v);
        uint at = k * new_x_BITS;
        xs |= new_x_encode(x) << at;
        ms |= new_m_encode(m) << at;
        vs |= new_v_encode(v) << at;
    }
    uint word = global_index();
    new_x_word_store(new_x_BASE / UNIT + word, xs);
    new_m_word_store(new_m_BASE / UNIT + word, ms);
    new_v_word_store(new_v_BASE / UNIT + word, vs);
#endif
}
