// For convolutions as products with few input channels (see implicit.comp): a table of the K steps of k, filled once.
// Per step: its element's offset from the window's first one, and its plane, row and column (ten bits each).
shared uvec2 steps_of_k[TABLE];

void fill_table() {
    for (uint k = gl_LocalInvocationIndex; k < K; k += WORKGROUP) {
        uint tap = k, channel = take_coordinate(tap, GROUP_INPUTS_DIVISOR);
        uint x = take_coordinate(tap, TAPS_2_DIVISOR) * DILATION_2, y = take_coordinate(tap, TAPS_1_DIVISOR) * DILATION_1;
        uint z = tap * DILATION_0;
        // After the last step the filter is zero, so any existing element of x serves.
        bool is_there = k < K_ALL;
        uint behind = z * x_STRIDE_2 + y * x_STRIDE_3 + x * x_STRIDE_4 + channel * x_STRIDE_1;
        steps_of_k[k] = is_there ? uvec2(behind, z << 20 | y << 10 | x) : uvec2(0u);
    }
}
