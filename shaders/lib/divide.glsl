// Division by a number that is uniform and known at dispatch: a multiplication by the host's precomputed words
// (divisor_words in dml/compiler/kernels/prelude.py). CPUs have no vector division, and a GPU's takes many
// instructions.
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

// Returns the innermost coordinate of index x along an axis of this size; x becomes the index along the other axes.
uint take_coordinate(inout uint x, Divisor size) {
    uint others = divided(x, size), own = x - others * size.by;
    x = others;
    return own;
}
