#version 450
// h = f(input + R h + biases).
#include "prelude.glsl"
#include "recurrent/recurrence.glsl"

void phase_0(uint step, uint tile) {
    uint now = step & 1u;
    multiply(0u, 1u, now, tile);
    EACH_CELL for (uint u = 0u; u < UNITS; ++u) {
        uint unit = unit_of(tile, u);
        EACH_CELL for (uint row = 0u; row < ROWS; ++row) {
            float h = activation_f(direction, projected(step, row, 0u, unit) + product(0u, u, row));
            advance(step, row, unit, 1u - now, state_get(now, row, unit), h);
        }
    }
}
