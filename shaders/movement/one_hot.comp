#version 450
// The value at ON in `values` where the coordinate along AXIS equals the index in `indices`, else the value at OFF.
#include "prelude.glsl"
#include "movement/index.glsl"

result_VALUE value(uint c[RANK]) {
    uint hot;
    bool valid = resolve(indices_at(c), AXIS_SIZE, hot);
    return values_load(valid && c[AXIS] == hot ? ON : OFF);
}

#include "lib/for_each.glsl"
