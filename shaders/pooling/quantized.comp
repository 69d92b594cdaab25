#version 450
// The mean of the window's dequantized elements, quantized again. The sum is exact, in integers; padding is a real
// zero.
#include "prelude.glsl"
#include "lib/math.glsl"

#include "pooling/window.glsl"

#if WIDE
WORKGROUP_REDUCTION(sum_all, int, REDUCE_ADD)
#endif

result_VALUE value(uint c[RANK]) {
    uint p[RANK] = c;
    int sum = 0;
    uint count = 0u;
    EACH_ELEMENT {
        sum += int(source_load(source_at(p)));
        ++count; // cheaper than the divisions of INSIDE, which spilled on V3D 7.1
    }
#if WIDE
    sum = TOGETHER(sum_all, sum);
    count = INSIDE(0, c[2], source_SIZE_2) * INSIDE(1, c[3], source_SIZE_3) * INSIDE(2, c[4], source_SIZE_4);
#endif
#ifdef input_zero_point_VALUE
    sum -= int(count) * int(input_zero_point_load(input_zero_point_at(c)));
#endif
    float divisor = float(INCLUDE_PADDING ? WINDOW_0 * WINDOW_1 * WINDOW_2 : max(count, 1u));
    // One float32 factor for an exact sum, as in the other quantized operators.
    float factor = divide_nearest(input_scale_load(input_scale_at(c)), output_scale_load(output_scale_at(c)) * divisor);
    float level = roundEven(float(sum) * factor);
    int zero = 0;
#ifdef output_zero_point_VALUE
    zero = int(output_zero_point_load(output_zero_point_at(c)));
#endif
    // The clamp to +-1024 keeps the conversion defined; the result types have 8 bits.
    int q = int(clamp(level, -1024.0, 1024.0)) + zero;
#ifdef result_IS_INT
    return clamp(q, -128, 127);
#else
    return uint(clamp(q, 0, 255));
#endif
}

#include "pooling/store.glsl"
