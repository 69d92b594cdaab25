#version 450
// The second pass of split-k: result = finish(ALPHA * sum + BETA * c), with the sum, in order, of PARTS matrices
// PARTS_STRIDE elements apart.
#include "prelude.glsl"
#include "lib/sum.glsl"

result_VALUE value(uint at[RANK]) {
    uint i = parts_at(at);
    SUM sum = SUM(0);
    for (uint p = 0u; p < PARTS; ++p) sum += parts_load(i + p * PARTS_STRIDE);
#if SUM_IS_INT
    return sum;
#elif HAS_C
    return finish(ALPHA * sum + BETA * c_load(c_at(at)));
#else
    return finish(ALPHA * sum);
#endif
}

#include "lib/for_each.glsl"
