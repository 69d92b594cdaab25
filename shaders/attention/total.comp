#version 450
// Keys or values [batch, head, position, element]: past ones, then new ones with their bias. With past lengths, a batch
// element has that many past positions, then its new ones, then zeros.
#include "prelude.glsl"

result_VALUE value(uint c[RANK]) {
    uint past_length = 0u;
#ifdef past_RANK
    past_length = past_SIZE_2;
#ifdef lengths_RANK
    float given = float(lengths_load(lengths_at(uint[1](c[0]))));
    past_length = given >= float(past_SIZE_2) ? past_SIZE_2 : given > 0.0 ? uint(given + 0.5) : 0u;
#endif
    if (c[2] < past_length) return past_load(past_at(c));
#endif
    c[2] -= past_length;
    if (c[2] >= current_SIZE_2) return 0.0;
    float v = current_load(current_at(c));
#ifdef bias_RANK
    v += bias_load(bias_at(uint[2](c[1], c[3])));
#endif
    return v;
}

#include "lib/for_each.glsl"
