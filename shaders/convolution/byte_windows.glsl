// The windows of a convolution as rows of a matrix of bytes (see gemm/bytes.glsl): one row per position of the result;
// positions are numbered consecutively over all images. x has its channels innermost and includes its padding. k counts
// the window's elements and, for each, RUN bytes: the group's channels (of all elements along x, if contiguous),
// padded. x is read in words of four channels or, with B_WORDS 0, vectors of sixteen. PLACES_d: the result's sizes.
// MOVE_d, STEP_d: the distance in x of adjacent windows, and of adjacent elements of a window.
#define LINE uint

void place_of(uint n, out uint at[4]) {
    at[3] = take_coordinate(n, PLACES_2_DIVISOR);
    at[2] = take_coordinate(n, PLACES_1_DIVISOR);
    at[1] = take_coordinate(n, PLACES_0_DIVISOR);
    at[0] = n;
}

LINE line_of_b(uint at[RANK], uint n) {
    uint place[4];
    place_of(n, place);
    return b_BASE + at[0] * GROUP_STEP + place[0] * IMAGE_STEP + place[1] * MOVE_0 + place[2] * MOVE_1 + place[3] * MOVE_2;
}

// The offset of an element from the window's start.
uint tap_of(uint rest) {
    uint x = take_coordinate(rest, TAPS_2_DIVISOR), y = take_coordinate(rest, TAPS_1_DIVISOR);
    return rest * STEP_0 + y * STEP_1 + x * STEP_2;
}

#if IS_SUM
// Word w of a window, with RUN_WORDS per element: zero outside the channels.
uint word_of_b(LINE line, uint w) {
    uint within = take_coordinate(w, RUN_WORDS_DIVISOR);
    return b_word((line + tap_of(w)) / 4u + within);
}
#else
uvec4 vector_of_b(LINE line, uint k) {
    uint within = take_coordinate(k, RUN_DIVISOR), i = line + tap_of(k) + within;
#if B_WORDS
    uint w = i / 4u;
    return uvec4(b_word(w), b_word(w + 1u), b_word(w + 2u), b_word(w + 3u)) ^ B_FLIP;
#else
    return b_vector(i / 16u) ^ B_FLIP;
#endif
}

uint index_of_result(uint at[RANK], uint m, uint n) {
    uint place[4];
    place_of(n, place);
    uint c[5] = uint[5](place[0], at[0] * M + m, place[1], place[2], place[3]);
    return result_at(c);
}
#endif
