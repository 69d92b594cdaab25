// Each of these makes an output coordinate x the input's, along a dimension with `start` elements of padding before
// `size` elements of input, and returns false where the padding value belongs.
bool place_constant(inout uint x, uint start, uint size) {
    x -= start;
    return x < size;
}

bool place_edge(inout uint x, uint start, uint size) {
    x = x < start ? 0u : min(x - start, size - 1u);
    return true;
}

// x - start modulo the period, from 0 to period - 1. Unsigned all the way: x - start may be negative.
uint phase(uint x, uint start, uint period) {
    uint back = start % period;
    x %= period;
    return x >= back ? x - back : x + (period - back);
}

bool place_reflection(inout uint x, uint start, uint size) {
    uint period = 2u * max(size - 1u, 1u);
    x = phase(x, start, period);
    x = size == 1u ? 0u : min(x, period - x);
    return true;
}

bool place_symmetric(inout uint x, uint start, uint size) {
    x = phase(x, start, 2u * size);
    x = min(x, 2u * size - 1u - x);
    return true;
}

bool place_wrap(inout uint x, uint start, uint size) {
    x = phase(x, start, size);
    return true;
}
