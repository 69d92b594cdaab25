// Division by a number that is the same for all invocations, and known when the kernel is dispatched: a multiplication by
// what the host made of it (divisor_words in dml/compiler/kernels/prelude.py). A CPU has no division of vectors, and a GPU
// takes some twenty instructions for one.
struct Divisor {
    uint by, factor, shifts;
};

uint divided(uint x, Divisor d) {
    uint high, low;
    umulExtended(x, d.factor, high, low);
    return (((x - high) >> (d.shifts & 1u)) + high) >> (d.shifts >> 1);
}

uint remainder(uint x, Divisor d) {
    return x - divided(x, d) * d.by;
}

// The innermost of the coordinates counted by x along an axis of this size; x becomes what counts the others.
uint take_coordinate(inout uint x, Divisor size) {
    uint others = divided(x, size), own = x - others * size.by;
    x = others;
    return own;
}
