#version 450
// The value at ON in `values` if the coordinate along AXIS equals the one in `indices`, else the one at OFF.
#include "prelude.glsl"
#include "movement/index.glsl"

result_VALUE value(uint c[RANK]) {
    uint hot;
    bool valid = resolve(indices_at(c), AXIS_SIZE, hot);
    return values_load(valid && c[AXIS] == hot ? ON : OFF);
}

#include "lib/for_each.glsl"
