// Returns the number of the window's positions along one axis that are not padding.
uint inside(uint o, uint window, uint dilation, uint step, uint start, uint size) {
    uint from = o * step;
    uint skipped = from < start ? (start - from + dilation - 1u) / dilation : 0u;
    uint end = start + size > from ? (start + size - from + dilation - 1u) / dilation : 0u;
    return min(end, window) > skipped ? min(end, window) - skipped : 0u;
}
#define INSIDE(axis, o, size) inside(o, WINDOW_##axis, DILATION_##axis, STEP_##axis, START_##axis, size)
