#version 450
// Writes the rows (image, class, box) of the selected boxes: a line's rows follow those of earlier lines. A line is a
// class of an image.
#include "prelude.glsl"

void main() {
    uint i = global_index();
    if (i >= LINES * MOST) return;
    uint line = i / MOST, place = i - line * MOST;
    uint found = found_load(line), before = before_load(line);
    if (line == LINES - 1u && place == 0u) count_store(count_BASE, before + found);
    if (place >= found) return;
    uint image = divided(line, CLASSES_DIVISOR);
    uint row = before + place, at = rows_BASE + row * rows_STRIDE_0, box = kept_load(i);
    rows_store(at, image);
    rows_store(at + rows_STRIDE_1, line - image * CLASSES);
    rows_store(at + 2u * rows_STRIDE_1, box);
#if HAS_SCORES
    uint from = scores_BASE + image * scores_STRIDE_0 + (line - image * CLASSES) * scores_STRIDE_1;
    values_store(values_BASE + row * values_STRIDE_0, scores_load(from + box * scores_STRIDE_2));
#endif
}
