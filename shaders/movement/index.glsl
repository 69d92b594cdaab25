// Element i of `indices` as an index below `size`: negative ones count from the end. Returns false if there is no such
// element; `index` is then the nearest existing one.
bool resolve(uint i, uint size, out uint index) {
    indices_VALUE given = indices_load(i);
#if defined(indices_IS_UINT)
    bool below = false;
    bool above = given >= size;
    index = given;
#elif defined(indices_IS_INT)
    bool below = given < 0 && 0u - uint(given) > size;
    bool above = given >= 0 && uint(given) >= size;
    index = uint(given) + (given < 0 ? size : 0u);
#elif defined(indices_IS_UINT64)
    bool below = false;
    bool above = given.y != 0u || given.x >= size;
    index = given.x;
#else
    bool negative = int(given.y) < 0;
    // For -2^32 + 1 to -1, the low word alone determines the index; -2^32 has low word 0.
    bool below = negative && (given.y != 0xffffffffu || given.x == 0u || 0u - given.x > size);
    bool above = !negative && (given.y != 0u || given.x >= size);
    index = given.x + (negative ? size : 0u);
#endif
    if (below) index = 0u;
    if (above) index = size - 1u;
    return !below && !above;
}
