#version 450
// i = f(...), o = f(...), forget = f(...), c~ = g(...), c = forget * c + i * c~, h = o * h(c). COUPLED: forget = 1 - i.
// Peepholes add p * c to the arguments of i and forget, and p * (the new c) to that of o. CLIP bounds the arguments of
// f and g but not of h, as in ONNX Runtime, whose description of LSTM DirectML's reference repeats.
#include "prelude.glsl"
#include "recurrent/recurrence.glsl"

float clipped(float x) {
#if CLIPS
    // NaN stays NaN.
    return x < -CLIP ? -CLIP : x > CLIP ? CLIP : x;
#else
    return x;
#endif
}

float peephole(uint which, uint unit, float cell) {
#ifdef peepholes_RANK
    return peepholes_load(peepholes_at(uint[2](direction, which * HIDDEN + min(unit, HIDDEN - 1u)))) * cell;
#else
    return 0.0;
#endif
}

void phase_0(uint step, uint tile) {
    uint now = step & 1u;
    multiply(0u, 4u, now, tile);
    EACH_CELL for (uint u = 0u; u < UNITS; ++u) {
        uint unit = unit_of(tile, u);
        EACH_CELL for (uint row = 0u; row < ROWS; ++row) {
            float old = kept_get(tile, u, row);
            float i = projected(step, row, 0u, unit) + product(0u, u, row) + peephole(0u, unit, old);
            i = activation_f(direction, clipped(i));
#if COUPLED
            float forget = 1.0 - i;
#else
            float forget = projected(step, row, 2u, unit) + product(2u, u, row) + peephole(2u, unit, old);
            forget = activation_f(direction, clipped(forget));
#endif
            float candidate = projected(step, row, 3u, unit) + product(3u, u, row);
            candidate = activation_g(direction, clipped(candidate));
            float cell = forget * old + i * candidate;
            float o = projected(step, row, 1u, unit) + product(1u, u, row) + peephole(1u, unit, cell);
            o = activation_f(direction, clipped(o));
            kept_set(tile, u, row, step < lengths_of_rows[row] ? cell : old);
            advance(step, row, unit, 1u - now, state_get(now, row, unit), o * activation_h(direction, cell));
        }
    }
}
