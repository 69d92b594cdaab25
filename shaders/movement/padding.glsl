// Each of these functions converts the output coordinate x to the input's, along a dimension with `start` elements of
// padding before `size` elements of input; it returns false in the padding.
bool place_constant(inout uint x, uint start, uint size) {
    x -= start;
    return x < size;
}

bool place_edge(inout uint x, uint start, uint size) {
    x = x < start ? 0u : min(x - start, size - 1u);
    return true;
}

// x - back modulo the period, for back from 0 to period - 1, in unsigned arithmetic: x - back may be negative.
uint phase(uint x, uint back, Divisor period) {
    x = remainder(x, period);
    return x >= back ? x - back : x + (period.by - back);
}

// back: the padding before the input modulo the period.
bool place_reflection(inout uint x, uint back, uint size, Divisor period) {
    x = phase(x, back, period);
    x = size == 1u ? 0u : min(x, period.by - x);
    return true;
}

bool place_symmetric(inout uint x, uint back, uint size, Divisor period) {
    x = phase(x, back, period);
    x = min(x, period.by - 1u - x);
    return true;
}

bool place_wrap(inout uint x, uint back, uint size, Divisor period) {
    x = phase(x, back, period);
    return true;
}
