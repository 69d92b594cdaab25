#version 450
// Reduces each update of a column into the row that its index names, in the updates' order. An index that is no row of
// this part of the result is skipped.
#include "prelude.glsl"

void main() {
    uint column = global_index();
    if (column >= COUNT) return;
    for (uint k = 0u; k < UPDATES; ++k) {
        uint row = uint(indices_load(indices_at(uint[2](k, column)))) - FIRST;
        if (row >= ROWS) continue;
        uint at = result_at(uint[2](row, column));
        result_store(at, combine(result_load(at), updates_load(updates_at(uint[2](k, column)))));
    }
}
