#version 450
// fill_value() on a band of diagonals; elsewhere the source's element, or zero without a source.
#include "prelude.glsl"

result_VALUE value(uint c[RANK]) {
    int distance = int(c[COLUMN] + FIRST_COLUMN) - int(c[ROW] + FIRST_ROW);
    if ((END >= BEGIN) != ((distance >= BEGIN) != (distance < END))) return fill_value();
#if HAS_SOURCE
    return source_load(source_at(c));
#else
    return result_VALUE(0u);
#endif
}

#include "lib/for_each.glsl"
