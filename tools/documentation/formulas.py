"""Each operator's formula, in one or a few lines.

A formula without indices is Python over NumPy arrays, which tests evaluate. One with indices, y[i, j], is for readers.
Sums and maxima run over the indices that follow "over". Indices are divided as integers.
"""

from __future__ import annotations

#: Operator's field -> the name that stands for it in formulas.
FIELDS = {
    "x": "InputTensor", "y": "OutputTensor", "a": "ATensor", "b": "BTensor", "c": "CTensor",
    "g": "InputGradientTensor", "dx": "OutputGradientTensor", "i": "IndicesTensor", "u": "UpdatesTensor",
}  # fmt: skip

#: Explanations of a formula's other names.
WORDS = {
    **dict.fromkeys(
        ("MULTIHEAD_ATTENTION", "MULTIHEAD_ATTENTION1"),
        "q, k and v are the queries, keys and values, alone or stacked, plus `BiasTensor`; the past's keys "
        "and values precede the new ones. b counts the batch, h the heads. The mask is of `MaskTensor`, the bias "
        "`RelativePositionBiasTensor`.",
    ),
    "RNN": "W is `WeightTensor`, R `RecurrenceTensor`, bias is of `BiasTensor`; W' is W transposed. The function f is "
    "of `ActivationDescs`.",
    "GRU": "Wz, Wr and Wh are the gates' parts of `WeightTensor`, Rz, Rr and Rh of `RecurrenceTensor`, each bias is "
    "of `BiasTensor`; W' is W transposed. The functions f and g are of `ActivationDescs`.",
    "LSTM": "W and Wc are the gates' parts of `WeightTensor`, R and Rc of `RecurrenceTensor`, each bias is of "
    "`BiasTensor`, each peephole of `PeepholeTensor`; W' is W transposed. The functions f, g and h are of "
    "`ActivationDescs`.",
}

FORMULAS: dict[str, str] = {
    # Element by element
    "ELEMENT_WISE_IDENTITY": "y = x",
    "ELEMENT_WISE_ABS": "y = abs(x)",
    "ELEMENT_WISE_ACOS": "y = arccos(x)",
    "ELEMENT_WISE_ADD": "y = a + b",
    "ELEMENT_WISE_ASIN": "y = arcsin(x)",
    "ELEMENT_WISE_ATAN": "y = arctan(x)",
    "ELEMENT_WISE_CEIL": "y = ceil(x)",
    "ELEMENT_WISE_CLIP": "y = maximum(Min, minimum(x, Max))",
    "ELEMENT_WISE_COS": "y = cos(x)",
    "ELEMENT_WISE_DIVIDE": "y = a / b",
    "ELEMENT_WISE_EXP": "y = exp(x)",
    "ELEMENT_WISE_FLOOR": "y = floor(x)",
    "ELEMENT_WISE_LOG": "y = log(x)",
    "ELEMENT_WISE_LOGICAL_AND": "y = (a != 0) & (b != 0)",
    "ELEMENT_WISE_LOGICAL_EQUALS": "y = a == b",
    "ELEMENT_WISE_LOGICAL_GREATER_THAN": "y = a > b",
    "ELEMENT_WISE_LOGICAL_LESS_THAN": "y = a < b",
    "ELEMENT_WISE_LOGICAL_NOT": "y = x == 0",
    "ELEMENT_WISE_LOGICAL_OR": "y = (a != 0) | (b != 0)",
    "ELEMENT_WISE_LOGICAL_XOR": "y = (a != 0) ^ (b != 0)",
    "ELEMENT_WISE_MAX": "y = maximum(a, b)",
    "ELEMENT_WISE_MEAN": "y = (a + b) / 2",
    "ELEMENT_WISE_MIN": "y = minimum(a, b)",
    "ELEMENT_WISE_MULTIPLY": "y = a * b",
    "ELEMENT_WISE_POW": "y = x ** ExponentTensor",
    "ELEMENT_WISE_CONSTANT_POW": "y = x ** Exponent",
    "ELEMENT_WISE_RECIP": "y = 1 / x",
    "ELEMENT_WISE_SIN": "y = sin(x)",
    "ELEMENT_WISE_SQRT": "y = sqrt(x)",
    "ELEMENT_WISE_SUBTRACT": "y = a - b",
    "ELEMENT_WISE_TAN": "y = tan(x)",
    "ELEMENT_WISE_THRESHOLD": "y = maximum(x, Min)",
    "ELEMENT_WISE_QUANTIZE_LINEAR": "y = clip(rint(x / ScaleTensor) + ZeroPointTensor, lowest, highest)",
    "ELEMENT_WISE_DEQUANTIZE_LINEAR": "y = (x - ZeroPointTensor) * ScaleTensor",
    "ELEMENT_WISE_SIGN": "y = sign(x)",
    "ELEMENT_WISE_IS_NAN": "y = isnan(x)",
    "ELEMENT_WISE_ERF": "y = erf(x)",
    "ELEMENT_WISE_SINH": "y = sinh(x)",
    "ELEMENT_WISE_COSH": "y = cosh(x)",
    "ELEMENT_WISE_TANH": "y = tanh(x)",
    "ELEMENT_WISE_ASINH": "y = arcsinh(x)",
    "ELEMENT_WISE_ACOSH": "y = arccosh(x)",
    "ELEMENT_WISE_ATANH": "y = arctanh(x)",
    "ELEMENT_WISE_IF": "y = where(ConditionTensor != 0, a, b)",
    "ELEMENT_WISE_ADD1": "y = FusedActivation(a + b)",
    "ELEMENT_WISE_BIT_SHIFT_LEFT": "y = a << b",
    "ELEMENT_WISE_BIT_SHIFT_RIGHT": "y = a >> b",
    "ELEMENT_WISE_ROUND": "y[i] = the integer nearest to x[i] as RoundingMode says",
    "ELEMENT_WISE_IS_INFINITY": "y[i] = 1 if x[i] is an infinity of InfinityMode's sign, else 0",
    "ELEMENT_WISE_MODULUS_TRUNCATE": "y = fmod(a, b)",
    "ELEMENT_WISE_MODULUS_FLOOR": "y = mod(a, b)",
    "ELEMENT_WISE_BIT_AND": "y = a & b",
    "ELEMENT_WISE_BIT_OR": "y = a | b",
    "ELEMENT_WISE_BIT_XOR": "y = a ^ b",
    "ELEMENT_WISE_BIT_NOT": "y = ~x",
    "ELEMENT_WISE_BIT_COUNT": "y = bit_count(x)",
    "ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL": "y = a >= b",
    "ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL": "y = a <= b",
    "ELEMENT_WISE_ATAN_YX": "y = arctan2(a, b)",
    "ELEMENT_WISE_CLIP_GRAD": "dx = where((Min < x) & (x < Max), g, 0)",
    "ELEMENT_WISE_DIFFERENCE_SQUARE": "y = (a - b) * (a - b)",
    "ELEMENT_WISE_QUANTIZED_LINEAR_ADD": (
        "sum[i] = (a[i] - AZeroPoint) * AScale + (b[i] - BZeroPoint) * BScale\n"
        "y[i] = clip(rint(sum[i] / OutputScale) + OutputZeroPoint, lowest, highest)"
    ),
    "ELEMENT_WISE_CLIP1": "y[i] = max(Min, min(x[i], Max))",
    "ELEMENT_WISE_CLIP_GRAD1": "dx[i] = g[i] if Min < x[i] < Max, else 0",
    "ELEMENT_WISE_NEGATE": "y = -x",
    "CAST": "y = cast(x)",
    # Activations
    "ACTIVATION_ELU": "y = where(x > 0, x, Alpha * (exp(x) - 1))",
    "ACTIVATION_CELU": "y = maximum(0, x) + minimum(0, Alpha * (exp(x / Alpha) - 1))",
    "ACTIVATION_HARDMAX": "y[..., j] = 1 if j is the first place of the largest x[..., k] over k, else 0",
    "ACTIVATION_HARDMAX1": "y[i] = 1 if i is the first place of the largest x over Axes, else 0",
    "ACTIVATION_HARD_SIGMOID": "y = clip(Alpha * x + Beta, 0, 1)",
    "ACTIVATION_HARD_SWISH": "y = x * clip(Alpha * x + Beta, 0, 1)",
    "ACTIVATION_IDENTITY": "y = x",
    "ACTIVATION_LEAKY_RELU": "y = where(x >= 0, x, Alpha * x)",
    "ACTIVATION_LINEAR": "y = Alpha * x + Beta",
    "ACTIVATION_LOG_SOFTMAX": "y[..., j] = log(exp(x[..., j]) / sum of exp(x[..., k]) over k)",
    "ACTIVATION_LOG_SOFTMAX1": "y[i] = log(exp(x[i]) / sum of exp(x) over Axes)",
    "ACTIVATION_PARAMETERIZED_RELU": "y = where(x >= 0, x, SlopeTensor * x)",
    "ACTIVATION_PARAMETRIC_SOFTPLUS": "y = Alpha * log(1 + exp(Beta * x))",
    "ACTIVATION_RELU": "y = maximum(0, x)",
    "ACTIVATION_RELU_GRAD": "dx = where(x > 0, g, 0)",
    "ACTIVATION_SCALED_ELU": "y = where(x > 0, Gamma * x, Gamma * Alpha * (exp(x) - 1))",
    "ACTIVATION_SCALED_TANH": "y = Alpha * tanh(Beta * x)",
    "ACTIVATION_SHRINK": "y = where(x < -Threshold, x + Bias, where(x > Threshold, x - Bias, 0))",
    "ACTIVATION_SIGMOID": "y = 1 / (1 + exp(-x))",
    "ACTIVATION_SOFTMAX": "y[..., j] = exp(x[..., j]) / sum of exp(x[..., k]) over k",
    "ACTIVATION_SOFTMAX1": "y[i] = exp(x[i]) / sum of exp(x) over Axes",
    "ACTIVATION_SOFTPLUS": "y = log(1 + exp(Steepness * x)) / Steepness",
    "ACTIVATION_SOFTSIGN": "y = x / (1 + abs(x))",
    "ACTIVATION_SWISH": "y = x / (1 + exp(-SigmoidInputScale * x))",
    "ACTIVATION_TANH": "y = tanh(x)",
    "ACTIVATION_THRESHOLDED_RELU": "y = where(x > Alpha, x, 0)",
    "ACTIVATION_GELU": "y = x / 2 * (1 + erf(x / sqrt(2)))",
    # Products and convolutions
    "GEMM": "y = FusedActivation(Alpha * matmul(TransA(a), TransB(b)) + Beta * c)",
    "MATRIX_MULTIPLY_INTEGER": "y[..., m, n] = sum of (a[..., m, k] - AZeroPoint) * (b[..., k, n] - BZeroPoint) over k",
    "QUANTIZED_LINEAR_MATRIX_MULTIPLY": (
        "sum[m, n] = sum of (a[m, k] - AZeroPoint) * AScale * (b[k, n] - BZeroPoint) * BScale over k\n"
        "y[m, n] = clip(rint(sum[m, n] / OutputScale) + OutputZeroPoint, lowest, highest)"
    ),
    "MATRIX_MULTIPLY_INTEGER_TO_FLOAT": (
        "y[m, n] = sum of (a[m, k] - AZeroPoint) * AScale * (b[k, n] - BZeroPoint) * BScale over k, + Bias[n]"
    ),
    "CONVOLUTION": (
        "p = o * Strides + k * Dilations - StartPadding\n"
        "y[n, f, o] = FusedActivation(sum of x[n, c, p] * Filter[f, c, k] over c, k, + Bias[f])\n"
        "(Mode CONVOLUTION mirrors the filter; Direction BACKWARD is the transposed convolution)"
    ),
    "CONVOLUTION_INTEGER": (
        "p = o * Strides + k * Dilations - StartPadding\n"
        "y[n, f, o] = sum of (x[n, c, p] - InputZeroPoint) * (Filter[f, c, k] - FilterZeroPoint) over c, k"
    ),
    "QUANTIZED_LINEAR_CONVOLUTION": (
        "p = o * Strides + k * Dilations - StartPadding\n"
        "sum[n, f, o] = sum of (x[n, c, p] - InputZeroPoint) * (Filter[f, c, k] - FilterZeroPoint) over c, k, "
        "+ Bias[f]\n"
        "y[n, f, o] = clip(rint(sum[n, f, o] * InputScale * FilterScale / OutputScale) + OutputZeroPoint, "
        "lowest, highest)"
    ),
    "MULTIHEAD_ATTENTION": (
        "weights[b, h] = softmax(matmul(q[b, h], transposed k[b, h]) * Scale + mask + bias)\n"
        "y[b, h] = matmul(weights[b, h], v[b, h])"
    ),
    "MULTIHEAD_ATTENTION1": (
        "h2 = h * KeyValueHeadCount / QueryHeadCount\n"
        "weights[b, h] = softmax(matmul(q[b, h], transposed k[b, h2]) * Scale + mask + bias)\n"
        "y[b, h] = matmul(weights[b, h], v[b, h2])"
    ),
    # Reductions, windows, normalizations
    "REDUCE": "y[i] = Function of the elements of x along Axes",
    "ARGMIN": "y[i] = the place of the smallest element of x along Axes",
    "ARGMAX": "y[i] = the place of the largest element of x along Axes",
    "AVERAGE_POOLING": "y[n, c, o] = mean of x[n, c, o * Strides + k - StartPadding] over k in the window",
    "AVERAGE_POOLING1": "y[n, c, o] = mean of x[n, c, o * Strides + k * Dilations - StartPadding] over k in the window",
    "LP_POOLING": "y[n, c, o] = (sum of |x[n, c, o * Strides + k - StartPadding]| ** P over k) ** (1 / P)",
    "LP_POOLING1": "y[n, c, o] = (sum of |x[n, c, o * Strides + k * Dilations - StartPadding]| ** P over k) ** (1 / P)",
    "MAX_POOLING": "y[n, c, o] = maximum of x[n, c, o * Strides + k - StartPadding] over k in the window",
    "MAX_POOLING1": (
        "y[n, c, o] = maximum of x[n, c, o * Strides + k - StartPadding] over k in the window\n"
        "OutputIndices[n, c, o] = the flat index of that element in x"
    ),
    "MAX_POOLING2": (
        "y[n, c, o] = maximum of x[n, c, o * Strides + k * Dilations - StartPadding] over k in the window\n"
        "OutputIndices[n, c, o] = the flat index of that element in x"
    ),
    "QUANTIZED_LINEAR_AVERAGE_POOLING": (
        "mean[n, c, o] = mean of (x[n, c, p] - InputZeroPoint) * InputScale over p in the window of o\n"
        "y[n, c, o] = clip(rint(mean[n, c, o] / OutputScale) + OutputZeroPoint, lowest, highest)"
    ),
    "ROI_POOLING": "y[r, c, p] = maximum of x[batch of region r, c, q] over q in the cell p of the region",
    "ROI_ALIGN": "y[r, c, p] = ReductionFunction of samples of x[BatchIndices[r], c] in the cell p of region r",
    "ROI_ALIGN1": "y[r, c, p] = ReductionFunction of samples of x[BatchIndices[r], c] in the cell p of region r",
    "BATCH_NORMALIZATION": (
        "y[n, c, s] = FusedActivation(Scale[c] * (x[n, c, s] - Mean[c]) / sqrt(Variance[c] + Epsilon) + Bias[c])"
    ),
    "BATCH_NORMALIZATION_TRAINING": (
        "OutputMean[c], OutputVariance[c] = mean and variance of x[n, c, s] over n, s\n"
        "y[n, c, s] = FusedActivation(Scale[c] * (x[n, c, s] - OutputMean[c]) / sqrt(OutputVariance[c] + Epsilon) + "
        "Bias[c] + FusedAdd[n, c, s])"
    ),
    "MEAN_VARIANCE_NORMALIZATION": (
        "m, v = mean and variance of x over a channel, or with CrossChannel over all channels of an item\n"
        "y[i] = FusedActivation(Scale * (x[i] - m) / sqrt(v + Epsilon) + Bias), not divided without NormalizeVariance"
    ),
    "MEAN_VARIANCE_NORMALIZATION1": (
        "m, v = mean and variance of x over Axes\n"
        "y[i] = FusedActivation(Scale[i] * (x[i] - m) / sqrt(v + Epsilon) + Bias[i]), "
        "not divided without NormalizeVariance"
    ),
    "MEAN_VARIANCE_NORMALIZATION2": (
        "m = mean of x over Axes, or 0 without UseMean\n"
        "v = mean of (x - m) ** 2 over Axes\n"
        "y[i] = FusedActivation(Scale[i] * (x[i] - m) / sqrt(v + Epsilon) + Bias[i]), not divided without UseVariance"
    ),
    "LOCAL_RESPONSE_NORMALIZATION": (
        "y[i] = x[i] / (Bias + Alpha / LocalSize * sum of x[j] ** 2 over j around i) ** Beta"
    ),
    "LP_NORMALIZATION": "y[i] = x[i] / (sum of |x| ** P along Axis + Epsilon) ** (1 / P)",
    # Recurrences
    "RNN": "h[t] = f(x[t] W' + h[t - 1] R' + bias)",
    "GRU": (
        "z = f(x[t] Wz' + h[t - 1] Rz' + bias)\n"
        "r = f(x[t] Wr' + h[t - 1] Rr' + bias)\n"
        "n = g(x[t] Wh' + (r * h[t - 1]) Rh' + bias)\n"
        "with LinearBeforeReset: n = g(x[t] Wh' + r * (h[t - 1] Rh' + bias))\n"
        "h[t] = (1 - z) * n + z * h[t - 1]"
    ),
    "LSTM": (
        "i, o, f = f(x[t] W' + h[t - 1] R' + peephole * cell + bias), each with weights of its own\n"
        "c[t] = f * c[t - 1] + i * g(x[t] Wc' + h[t - 1] Rc' + bias)\n"
        "h[t] = o * h(c[t])"
    ),
    # Movement
    "SLICE": "y[j] = x[Offsets + j * Strides]",
    "SLICE1": "y[j] = x[InputWindowOffsets + j * InputWindowStrides], from the window's end where a stride is negative",
    "SPLIT": "y0, y1, ... = consecutive pieces of x along Axis",
    "JOIN": "y = concatenate(InputTensors, Axis)",
    "PADDING": "y[j] = x[j - StartPadding], or what PaddingMode says outside x",
    "PADDING1": "y[j] = x[j - StartPadding], or what PaddingMode says outside x",
    "VALUE_SCALE_2D": "y[n, c, h, w] = x[n, c, h, w] * Scale + Bias[c]",
    "UPSAMPLE_2D": "y[n, c, h, w] = x[n, c, h / ScaleSize.Height, w / ScaleSize.Width], or linear between elements",
    "GATHER": "y[..., j, ...] = x[..., i[j], ...], with i[j] along Axis",
    "GATHER_ELEMENTS": "y[p] = x[p, but i[p] along Axis]",
    "GATHER_ND": "y[j, ...] = x[i[j], ...], where i[j] is a tuple of coordinates",
    "GATHER_ND1": "y[n, j, ...] = x[n, i[n, j], ...], where i[n, j] is a tuple of coordinates",
    "SCATTER": "y = x, then y[p, but i[p] along Axis] = u[p]",
    "SCATTER_ND": "y = x, then y[i[j], ...] = u[j, ...]",
    "SPACE_TO_DEPTH": "y[n, (p * B + q) * C + c, h, w] = x[n, c, h * B + p, w * B + q], where B is BlockSize",
    "SPACE_TO_DEPTH1": "y[n, k, h, w] = x[n, c, h * B + p, w * B + q], B being BlockSize; Order makes k of c, p, q",
    "DEPTH_TO_SPACE": "y[n, c, h * B + p, w * B + q] = x[n, (p * B + q) * C + c, h, w], where B is BlockSize",
    "DEPTH_TO_SPACE1": "y[n, c, h * B + p, w * B + q] = x[n, k, h, w], B being BlockSize; Order makes k of c, p, q",
    "TILE": "y = tile(x, Repeats)",
    "TOP_K": "OutputValue, OutputIndex = the K largest elements of x along Axis, and where they are",
    "TOP_K1": "OutputValue, OutputIndex = the K largest or smallest elements of x along Axis, and where they are",
    "MAX_UNPOOLING": "y[j] = 0, then y[i[j]] = x[j], with i[j] a flat index into y",
    "DIAGONAL_MATRIX": "y[r, c] = Value if c - r = Offset, else 0",
    "DIAGONAL_MATRIX1": "y[r, c] = Value if DiagonalFillBegin <= c - r < DiagonalFillEnd, else x[r, c] or 0",
    "ONE_HOT": "y[j] = Values[1] where the place of j along Axis is the index, else Values[0]",
    "RESAMPLE": "y[j] = x at (j + 0.5) / Scales - 0.5, the nearest element or linear between elements",
    "RESAMPLE1": "y[j] = x at (j - OutputPixelOffsets) / Scales - InputPixelOffsets, nearest or linear",
    "RESAMPLE2": "y[j] = x at (j - OutputPixelOffsets) / Scales - InputPixelOffsets, rounded as asked, or linear",
    "RESAMPLE3": "y[j] = x at (j - OutputPixelOffsets) / Scales - InputPixelOffsets, rounded as asked, or linear",
    "FILL_VALUE_CONSTANT": "y[j] = Value",
    "FILL_VALUE_SEQUENCE": "y[j] = ValueStart + j * ValueDelta, with j the flat index in y",
    "CUMULATIVE_SUMMATION": "y[..., j, ...] = sum of x[..., k, ...] over k <= j along Axis",
    "CUMULATIVE_PRODUCT": "y[..., j, ...] = product of x[..., k, ...] over k <= j along Axis",
    "REVERSE_SUBSEQUENCES": "y[j] = x[n - 1 - j] for j < n along Axis, else x[j], where n is the subsequence's length",
    "NONZERO_COORDINATES": "OutputCoordinates[j] = the place of x's j-th element that is not 0; OutputCount = how many",
    "FOLD": "y[n, c, p] = sum of x[n, (c, k), j] over windows j and places k that were taken from p",
    "UNFOLD": "y[n, (c, k), j] = x[n, c, j * Strides + k * Dilations - StartPadding]",
    "RANDOM_GENERATOR": "y, OutputState = Philox 4x32-10 of InputState, which counts on",
    # Quantization
    "QUANTIZE": "y[j] = clip(rint(x[j] / scale) + zero point, lowest, highest), scale and zero point of j's block",
    "DEQUANTIZE": "y[j] = (x[j] - zero point) * scale, with the scale and zero point of j's block",
    "DYNAMIC_QUANTIZE_LINEAR": (
        "OutputScale = (max(x, 0) - min(x, 0)) / (highest - lowest), of all elements of x\n"
        "OutputZeroPoint = clip(rint(lowest - min(x, 0) / OutputScale), lowest, highest)\n"
        "y[j] = clip(rint(x[j] / OutputScale) + OutputZeroPoint, lowest, highest)"
    ),
    # Training
    "AVERAGE_POOLING_GRAD": "dx[n, c, p] = sum of g[n, c, o] / elements of its window, over windows o that hold p",
    "MAX_POOLING_GRAD": "dx[n, c, p] = sum of g[n, c, o] over windows o whose first largest element is at p",
    "RESAMPLE_GRAD": "dx[j] = sum of g[k] * weight of x[j] in y[k], over k",
    "RESAMPLE_GRAD1": "dx[j] = sum of g[k] * weight of x[j] in y[k], over k",
    "SLICE_GRAD": "dx[j] = 0, then dx[InputWindowOffsets + k * InputWindowStrides] = g[k]",
    "LOCAL_RESPONSE_NORMALIZATION_GRAD": (
        "d[j] = Bias + Alpha / LocalSize * sum of x[k] ** 2 over k around j\n"
        "dx[i] = g[i] / d[i] ** Beta - 2 * Alpha * Beta / LocalSize * x[i] * "
        "sum of g[j] * x[j] / d[j] ** (Beta + 1) over j around i"
    ),
    "BATCH_NORMALIZATION_GRAD": (
        "r[c] = 1 / sqrt(Variance[c] + Epsilon)\n"
        "dx[n, c, s] = g[n, c, s] * Scale[c] * r[c]\n"
        "OutputScaleGradient[c] = sum of g[n, c, s] * (x[n, c, s] - Mean[c]) * r[c] over n, s\n"
        "OutputBiasGradient[c] = sum of g[n, c, s] over n, s"
    ),
    "BATCH_NORMALIZATION_TRAINING_GRAD": (
        "r[c] = 1 / sqrt(Variance[c] + Epsilon), z[n, c, s] = (x[n, c, s] - Mean[c]) * r[c]\n"
        "OutputScaleGradient[c] = sum of g[n, c, s] * z[n, c, s] over n, s\n"
        "OutputBiasGradient[c] = sum of g[n, c, s] over n, s\n"
        "dx[n, c, s] = Scale[c] * r[c] * (g[n, c, s] - mean of g over n, s - z[n, c, s] * mean of g * z over n, s)"
    ),
    "ROI_ALIGN_GRAD": "dx[n, c, p] = sum of g[r, c, q] * weight of x[n, c, p] in y[r, c, q], over r, q of item n",
    "ADAM_OPTIMIZER": (
        "rate[j] = LearningRate * sqrt(1 - Beta2 ** t) / (1 - Beta1 ** t)\n"
        "m[j] = Beta1 * first moment[j] + (1 - Beta1) * gradient[j]\n"
        "v[j] = Beta2 * second moment[j] + (1 - Beta2) * gradient[j] ** 2\n"
        "parameters[j] = parameters[j] - rate[j] * m[j] / (sqrt(v[j]) + Epsilon)"
    ),
}  # fmt: skip
