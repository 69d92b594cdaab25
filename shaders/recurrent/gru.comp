#version 450
// z = f(...), r = f(...), h~ = g(...), h = (1 - z) h~ + z h. With RESET_FIRST the reset gate multiplies the state
// before the product, which therefore waits for the reset gates of all units; else it multiplies the product.
#include "prelude.glsl"
#include "recurrent/recurrence.glsl"

#if RESET_FIRST
// State copy 0 holds h, copy 1 holds r * h.
void phase_0(uint step, uint tile) {
    multiply(0u, 2u, 0u, tile);
    EACH_CELL for (uint u = 0u; u < UNITS; ++u) {
        uint unit = unit_of(tile, u);
        EACH_CELL for (uint row = 0u; row < ROWS; ++row) {
            float z = activation_f(direction, projected(step, row, 0u, unit) + product(0u, u, row));
            float r = activation_f(direction, projected(step, row, 1u, unit) + product(1u, u, row));
            kept_set(tile, u, row, z);
            state_set(1u, row, unit, r * state_get(0u, row, unit));
        }
    }
}

void phase_1(uint step, uint tile) {
    multiply(2u, 3u, 1u, tile);
    EACH_CELL for (uint u = 0u; u < UNITS; ++u) {
        uint unit = unit_of(tile, u);
        EACH_CELL for (uint row = 0u; row < ROWS; ++row) {
            float h = state_get(0u, row, unit);
            float z = kept_get(tile, u, row);
            float candidate = activation_g(direction, projected(step, row, 2u, unit) + product(2u, u, row));
            advance(step, row, unit, 0u, h, (1.0 - z) * candidate + z * h);
        }
    }
}
#else
// h is in state copy step & 1; the new h is written to the other copy.
void phase_0(uint step, uint tile) {
    uint now = step & 1u;
    multiply(0u, 3u, now, tile);
    EACH_CELL for (uint u = 0u; u < UNITS; ++u) {
        uint unit = unit_of(tile, u);
        float candidate_bias = 0.0;
#ifdef bias_RANK
        candidate_bias = bias_load(bias_at(uint[2](direction, 5u * HIDDEN + min(unit, HIDDEN - 1u))));
#endif
        EACH_CELL for (uint row = 0u; row < ROWS; ++row) {
            float h = state_get(now, row, unit);
            float z = activation_f(direction, projected(step, row, 0u, unit) + product(0u, u, row));
            float r = activation_f(direction, projected(step, row, 1u, unit) + product(1u, u, row));
            float linear = product(2u, u, row) + candidate_bias;
            float candidate = activation_g(direction, projected(step, row, 2u, unit) + r * linear);
            advance(step, row, unit, 1u - now, h, (1.0 - z) * candidate + z * h);
        }
    }
}
#endif
