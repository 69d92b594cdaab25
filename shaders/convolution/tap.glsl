// For convolutions as products (see implicit.comp) whose TILE_K steps of k belong to one element of the windows.
//
// An element of the windows: its distance from the corner along each axis, and in x with that of ``channel``, the first
// of TILE_K channels to load.
struct Tap {
    uint z, y, x, channel, distance;
};

// Added to a tap's distance: with each TILE_K channels, and at the end of the channels, of a row and of a plane. height,
// width: the distances along y and x that end a plane and a row.
struct Moves {
    uint steps, channels, row, plane, height, width;
};

Moves moves_of_taps() {
    uint height = TAPS_1 * DILATION_1, width = TAPS_2 * DILATION_2;
    return Moves(TILE_K * x_STRIDE_1, DILATION_2 * x_STRIDE_4 - GROUP_INPUTS * x_STRIDE_1,
                 DILATION_1 * x_STRIDE_3 - width * x_STRIDE_4, DILATION_0 * x_STRIDE_2 - height * x_STRIDE_3, height, width);
}

// Moves on by TILE_K channels, to the window's next element after the last ones. (Without branches, which would split
// the loop into many parts.)
void next_tap(inout Tap tap, Moves moves) {
    tap.channel += TILE_K;
    tap.distance += moves.steps;
    bool ends = tap.channel == GROUP_INPUTS;
    tap.channel = ends ? 0u : tap.channel;
    tap.x += ends ? DILATION_2 : 0u;
    tap.distance += ends ? moves.channels : 0u;
    ends = tap.x == moves.width;
    tap.x = ends ? 0u : tap.x;
    tap.y += ends ? DILATION_1 : 0u;
    tap.distance += ends ? moves.row : 0u;
#if !FLAT
    ends = tap.y == moves.height;
    tap.y = ends ? 0u : tap.y;
    tap.z += ends ? DILATION_0 : 0u;
    tap.distance += ends ? moves.plane : 0u;
#endif
}
