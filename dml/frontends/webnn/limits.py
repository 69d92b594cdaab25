"""Data types and ranks that each operation supports on a device: MLContext.op_support_limits().

An operand's data types are those that the specification allows and that its DirectML tensor supports at the device's
feature level (``dml.capability``). Where the specification sets no limit on an operand's rank, the limit is
DirectML's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from dml.capability import operator_support, tensor_data_type_supported
from dml.enums import DML_FEATURE_LEVEL, DML_OPERATOR_TYPE, DML_REDUCE_FUNCTION, DML_TENSOR_DATA_TYPE
from dml.frontends.webnn.operands import DATA_TYPES, FOUR_BITS, LARGEST_RANK

ANY = tuple(name for name in DATA_TYPES if name not in FOUR_BITS)
FLOATS = ("float32", "float16")
SIGNED = ("float32", "float16", "int32", "int64", "int8")
WIDE = ("float32", "float16", "int32", "uint32", "int64", "uint64")
INDICES = ("int32", "uint32", "int64")
QUANTIZED = ("int32", "uint32", "int8", "uint8", *FOUR_BITS)
BOOLEAN = ("uint8",)


@dataclass(frozen=True)
class MLRankRange:
    """The minimum and maximum rank."""

    min: int
    max: int


@dataclass(frozen=True)
class MLTensorLimits:
    """Data types and ranks that an operand may have."""

    data_types: tuple[str, ...]
    rank_range: MLRankRange


@dataclass(frozen=True)
class _OperandRule:
    """The rule for an operand. tensors: DirectML tensors, such as "GRU.InputTensor REDUCE:SUM.InputTensor"; a data type
    is supported if at least one of them takes it."""

    tensors: str
    allowed: tuple[str, ...]
    ranks: tuple[int, int] = (0, LARGEST_RANK)

    def at(self, level: DML_FEATURE_LEVEL) -> MLTensorLimits:
        types: set[DML_TENSOR_DATA_TYPE] = set()
        for tensor in self.tensors.split():
            operator, name = tensor.split(".")
            operator, _, function = operator.partition(":")
            chosen = DML_REDUCE_FUNCTION[f"DML_REDUCE_FUNCTION_{function}"] if function else None
            support = operator_support(DML_OPERATOR_TYPE[f"DML_OPERATOR_{operator}"], level, chosen)
            types |= set() if support is None else support[name].data_types
        return MLTensorLimits(tuple(t for t in self.allowed if DATA_TYPES[t] in types), MLRankRange(*self.ranks))


_Rules = dict[str, _OperandRule]
_VECTOR, _MATRIX, _IMAGE = (1, 1), (2, 2), (4, 4)
_SOME = (1, LARGEST_RANK)


def _single(operator: str, allowed: tuple[str, ...], ranks: tuple[int, int] = (0, LARGEST_RANK)) -> _Rules:
    """Return the rules of an operator with an InputTensor and an OutputTensor."""
    return _tensors(operator, allowed, input=("InputTensor", ranks), output=("OutputTensor", ranks))


def _pair(operator: str, allowed: tuple[str, ...], output: tuple[str, ...], first: str = "ATensor") -> _Rules:
    second = "ExponentTensor" if first == "InputTensor" else "BTensor"
    return {
        "a": _OperandRule(f"{operator}.{first}", allowed),
        "b": _OperandRule(f"{operator}.{second}", allowed),
        "output": _OperandRule(f"{operator}.OutputTensor", output),
    }


def _tensors(operator: str, allowed: tuple[str, ...], **operands: tuple[str, tuple[int, int]]) -> _Rules:
    """Return rules for operands with the same data types. operands: name -> DirectML's tensor and the allowed ranks."""
    return {name: _OperandRule(f"{operator}.{tensor}", allowed, ranks) for name, (tensor, ranks) in operands.items()}


def _unary(operators: Mapping[str, str], allowed: tuple[str, ...]) -> dict[str, _Rules]:
    return {name: _single(operator, allowed) for name, operator in operators.items()}


def _normalized(operator: str, ranks: tuple[int, int], parameters: tuple[int, int]) -> _Rules:
    scale_bias = {"scale": ("ScaleTensor", parameters), "bias": ("BiasTensor", parameters)}
    return _tensors(operator, FLOATS, input=("InputTensor", ranks), **scale_bias, output=("OutputTensor", ranks))


def _indexed(operator: str, output: tuple[int, int], indices: tuple[int, int] = _SOME) -> _Rules:
    return {
        "input": _OperandRule(f"{operator}.InputTensor", ANY, _SOME),
        "indices": _OperandRule(f"{operator}.IndicesTensor", INDICES, indices),
        "output": _OperandRule(f"{operator}.OutputTensor", ANY, output),
    }


def _scattered(operator: str, updates: tuple[int, int]) -> _Rules:
    return {**_indexed(operator, _SOME), "updates": _OperandRule(f"{operator}.UpdatesTensor", ANY, updates)}


_RECURRENT = {
    "input": ("InputTensor", (3, 3)),
    "weight": ("WeightTensor", (3, 3)),
    "recurrent_weight": ("RecurrenceTensor", (3, 3)),
    "bias": ("BiasTensor", (2, 2)),
    "recurrent_bias": ("BiasTensor", (2, 2)),
    "initial_hidden_state": ("HiddenInitTensor", (3, 3)),
    "outputs": ("OutputSequenceTensor", (3, 4)),
}
_CELL = {
    "input": ("InputTensor", (2, 2)),
    "weight": ("WeightTensor", (2, 2)),
    "recurrent_weight": ("RecurrenceTensor", (2, 2)),
    "hidden_state": ("HiddenInitTensor", (2, 2)),
    "bias": ("BiasTensor", (1, 1)),
    "recurrent_bias": ("BiasTensor", (1, 1)),
}
_CONVOLUTION = _tensors(
    "CONVOLUTION",
    FLOATS,
    input=("InputTensor", _IMAGE),
    filter=("FilterTensor", _IMAGE),
    bias=("BiasTensor", _VECTOR),
    output=("OutputTensor", _IMAGE),
)

_RULES: dict[str, _Rules] = {
    **{name: {
        "input": _OperandRule(f"{operator}.InputTensor", ANY, _SOME),
        "output": _OperandRule(f"{operator}.OutputTensor", ("int32", "int64")),
    } for name, operator in (("arg_min", "ARGMIN"), ("arg_max", "ARGMAX"))},
    "batch_normalization": _tensors(
        "BATCH_NORMALIZATION", FLOATS, input=("InputTensor", _SOME), mean=("MeanTensor", _VECTOR),
        variance=("VarianceTensor", _VECTOR), scale=("ScaleTensor", _VECTOR), bias=("BiasTensor", _VECTOR),
        output=("OutputTensor", _SOME),
    ),
    "cast": _single("CAST", ANY),
    "clamp": _single("ELEMENT_WISE_CLIP1", ANY),
    "concat": _tensors("JOIN", ANY, inputs=("InputTensors", _SOME), output=("OutputTensor", _SOME)),
    "conv2d": _CONVOLUTION,
    "conv_transpose2d": _CONVOLUTION,
    "cumulative_sum": _single("CUMULATIVE_SUMMATION", WIDE, _SOME),
    **{name: _pair(f"ELEMENT_WISE_{operator}", ANY, ANY) for name, operator in (
        ("add", "ADD"), ("sub", "SUBTRACT"), ("mul", "MULTIPLY"), ("div", "DIVIDE"), ("max", "MAX"), ("min", "MIN"),
    )},
    "pow": _pair("ELEMENT_WISE_POW", ANY, ANY, "InputTensor"),
    **{name: _pair(f"ELEMENT_WISE_LOGICAL_{operator}", ANY, BOOLEAN) for name, operator in (
        ("equal", "EQUALS"), ("not_equal", "EQUALS"), ("greater", "GREATER_THAN"), ("lesser", "LESS_THAN"),
        ("greater_or_equal", "GREATER_THAN_OR_EQUAL"), ("lesser_or_equal", "LESS_THAN_OR_EQUAL"),
    )},
    **{name: _pair(f"ELEMENT_WISE_LOGICAL_{operator}", BOOLEAN, BOOLEAN) for name, operator in (
        ("logical_and", "AND"), ("logical_or", "OR"), ("logical_xor", "XOR"),
    )},
    **{name: _tensors(f"ELEMENT_WISE_{operator}", allowed, a=("InputTensor", (0, LARGEST_RANK))) | {
        "output": _OperandRule(f"ELEMENT_WISE_{operator}.OutputTensor", BOOLEAN)
    } for name, operator, allowed in (
        ("logical_not", "LOGICAL_NOT", BOOLEAN), ("is_nan", "IS_NAN", FLOATS), ("is_infinite", "IS_INFINITY", FLOATS),
    )},
    **_unary({"abs": "ELEMENT_WISE_ABS", "neg": "ELEMENT_WISE_NEGATE", "sign": "ELEMENT_WISE_SIGN"}, SIGNED),
    **_unary({
        "ceil": "ELEMENT_WISE_CEIL", "cos": "ELEMENT_WISE_COS", "erf": "ELEMENT_WISE_ERF", "exp": "ELEMENT_WISE_EXP",
        "floor": "ELEMENT_WISE_FLOOR", "log": "ELEMENT_WISE_LOG", "reciprocal": "ELEMENT_WISE_RECIP",
        "round_even": "ELEMENT_WISE_ROUND", "sin": "ELEMENT_WISE_SIN", "sqrt": "ELEMENT_WISE_SQRT",
        "tan": "ELEMENT_WISE_TAN", "elu": "ACTIVATION_ELU", "gelu": "ACTIVATION_GELU",
        "hard_sigmoid": "ACTIVATION_HARD_SIGMOID", "hard_swish": "ACTIVATION_HARD_SWISH",
        "leaky_relu": "ACTIVATION_LEAKY_RELU", "linear": "ACTIVATION_LINEAR", "sigmoid": "ACTIVATION_SIGMOID",
        "softplus": "ACTIVATION_SOFTPLUS", "softsign": "ACTIVATION_SOFTSIGN", "tanh": "ACTIVATION_TANH",
    }, FLOATS),
    "identity": _single("ELEMENT_WISE_IDENTITY", ANY),
    "dequantize_linear": {
        "input": _OperandRule("ELEMENT_WISE_DEQUANTIZE_LINEAR.InputTensor DEQUANTIZE.InputTensor", QUANTIZED),
        "scale": _OperandRule("ELEMENT_WISE_DEQUANTIZE_LINEAR.ScaleTensor", FLOATS),
        "zero_point": _OperandRule("ELEMENT_WISE_DEQUANTIZE_LINEAR.ZeroPointTensor DEQUANTIZE.InputTensor", QUANTIZED),
        "output": _OperandRule("ELEMENT_WISE_DEQUANTIZE_LINEAR.OutputTensor", FLOATS),
    },
    "quantize_linear": {
        "input": _OperandRule("ELEMENT_WISE_QUANTIZE_LINEAR.InputTensor", FLOATS),
        "scale": _OperandRule("ELEMENT_WISE_QUANTIZE_LINEAR.ScaleTensor", FLOATS),
        "zero_point": _OperandRule("ELEMENT_WISE_QUANTIZE_LINEAR.ZeroPointTensor QUANTIZE.OutputTensor", QUANTIZED),
        "output": _OperandRule("ELEMENT_WISE_QUANTIZE_LINEAR.OutputTensor QUANTIZE.OutputTensor", QUANTIZED),
    },
    "expand": _single("ELEMENT_WISE_IDENTITY", ANY),
    "gather": _indexed("GATHER", (0, LARGEST_RANK), (0, LARGEST_RANK)),
    "gather_elements": _indexed("GATHER_ELEMENTS", _SOME),
    "gather_nd": _indexed("GATHER_ND1", (0, LARGEST_RANK)),
    "gemm": _tensors("GEMM", FLOATS, a=("ATensor", _MATRIX), b=("BTensor", _MATRIX), c=("CTensor", (0, 2)),
                     output=("OutputTensor", _MATRIX)),
    "gru": _tensors("GRU", FLOATS, **_RECURRENT),
    "gru_cell": _tensors("GRU", FLOATS, **_CELL, output=("OutputSingleTensor", _MATRIX)),
    "lstm": _tensors("LSTM", FLOATS, **_RECURRENT, peephole_weight=("PeepholeTensor", (2, 2)),
                     initial_cell_state=("CellMemInitTensor", (3, 3))),
    "lstm_cell": _tensors("LSTM", FLOATS, **_CELL, peephole_weight=("PeepholeTensor", _VECTOR),
                          cell_state=("CellMemInitTensor", _MATRIX), outputs=("OutputSingleTensor", _MATRIX)),
    "instance_normalization": _normalized("MEAN_VARIANCE_NORMALIZATION1", _IMAGE, _VECTOR),
    "layer_normalization": _normalized("MEAN_VARIANCE_NORMALIZATION1", (0, LARGEST_RANK), (0, LARGEST_RANK)),
    "matmul": _tensors("GEMM", FLOATS, a=("ATensor", (2, LARGEST_RANK)), b=("BTensor", (2, LARGEST_RANK)),
                       output=("OutputTensor", (2, LARGEST_RANK))),
    "pad": _single("PADDING1", ANY),
    "average_pool2d": _single("AVERAGE_POOLING1", FLOATS, _IMAGE),
    "l2_pool2d": _single("LP_POOLING1", FLOATS, _IMAGE),
    "max_pool2d": _single("MAX_POOLING2", ANY, _IMAGE),
    "prelu": _tensors("ACTIVATION_PARAMETERIZED_RELU", SIGNED, input=("InputTensor", (0, LARGEST_RANK)),
                      slope=("SlopeTensor", (0, LARGEST_RANK)), output=("OutputTensor", (0, LARGEST_RANK))),
    **{f"reduce_{name}": _single(f"REDUCE:{function}", allowed) for name, function, allowed in (
        ("l1", "L1", WIDE), ("l2", "L2", FLOATS), ("log_sum", "LOG_SUM", FLOATS), ("mean", "AVERAGE", FLOATS),
        ("log_sum_exp", "LOG_SUM_EXP", FLOATS), ("max", "MAX", ANY), ("min", "MIN", ANY), ("sum", "SUM", WIDE),
        ("product", "MULTIPLY", WIDE), ("sum_square", "SUM_SQUARE", WIDE),
    )},
    "relu": _single("ACTIVATION_RELU", SIGNED),
    "resample2d": _single("RESAMPLE2", ("float32", "float16", "int8", "uint8"), _IMAGE),
    "reshape": _single("ELEMENT_WISE_IDENTITY", ANY),
    "reverse": _single("SLICE1", ANY),
    "scatter_elements": _scattered("SCATTER", _SOME),
    "scatter_nd": _scattered("SCATTER_ND", (0, LARGEST_RANK)),
    "slice": _single("SLICE1", ANY),
    "softmax": _single("ACTIVATION_SOFTMAX1", FLOATS, _SOME),
    "split": _tensors("SPLIT", ANY, input=("InputTensor", _SOME), outputs=("OutputTensors", _SOME)),
    "tile": _single("TILE", ANY),
    "transpose": _single("ELEMENT_WISE_IDENTITY", ANY),
    "triangular": _single("DIAGONAL_MATRIX1", ANY, (2, LARGEST_RANK)),
    "where": _tensors("ELEMENT_WISE_IF", ANY, true_value=("ATensor", (0, LARGEST_RANK)),
                      false_value=("BTensor", (0, LARGEST_RANK)), output=("OutputTensor", (0, LARGEST_RANK))) | {
        "condition": _OperandRule("ELEMENT_WISE_IF.ConditionTensor", BOOLEAN)
    },
}  # fmt: skip


@cache
def any_operand(level: DML_FEATURE_LEVEL) -> MLTensorLimits:
    """Return the limits of inputs, constants and outputs in general."""
    types = tuple(name for name, kind in DATA_TYPES.items() if tensor_data_type_supported(kind, level))
    return MLTensorLimits(types, MLRankRange(0, LARGEST_RANK))


@cache
def limits_at(level: DML_FEATURE_LEVEL) -> dict[str, dict[str, MLTensorLimits]]:
    """Return operation -> operand -> limits at a feature level. Operations that the level lacks have no data types."""
    return {operation: {name: rule.at(level) for name, rule in rules.items()} for operation, rules in _RULES.items()}
