#version 450
// Keys or values [batch, head, position, element]: past ones, then new ones with their bias. With past lengths, a batch
// element has that many past positions, then its new ones, then zeros. Without a bias, elements of
// the result's data type are moved as they are, by vectors if possible.
#include "prelude.glsl"
#include "movement/element.glsl"

ELEMENT value(uint c[RANK]) {
    uint past_length = 0u, at[RANK] = c;
#ifdef past_RANK
    past_length = past_SIZE_2;
#ifdef lengths_RANK
    float given = float(lengths_load(lengths_at(c)));
    past_length = given >= float(past_SIZE_2) ? past_SIZE_2 : given > 0.0 ? uint(given + 0.5) : 0u;
#endif
    if (c[2] < past_length) return past_ELEMENT(past_at(c));
#endif
    at[2] -= past_length;
    if (at[2] >= current_SIZE_2) return ELEMENT(0);
#ifdef bias_RANK
    return current_ELEMENT(current_at(at)) + bias_load(bias_at(c));
#else
    return current_ELEMENT(current_at(at));
#endif
}

#include "movement/move.glsl"
