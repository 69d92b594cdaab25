"""Forms of graphs that are fused, or must not be: chains, epilogues, views, recognized patterns.

Inputs are small integers, so that most results are the same numbers in every data type and order of the arithmetic,
with and without roundings in between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dml import enums
from dml.conformance.graphs import SUITE_OPERATOR_TYPE, GraphDesc
from dml.conformance.layouts import Tensor, owned
from dml.conformance.limits import Expected, sum_of_products
from dml.conformance.parameters import Choice, Skip, data_types, flags, sizes, tensor
from dml.conformance.references.activations import ACTIVATIONS
from dml.conformance.subject import Inputs, Outputs, subject
from dml.conformance.values import Values
from dml.conformance.variety import exact
from dml.graph import operations as op

Array = npt.NDArray[Any]
_Graph = Mapping[str, Any]
_Arrays = Mapping[str, Array]

#: Steps of the deep chain, two operators each: too many for one expression, so that it takes two kernels.
_DEEP = 70
_INT32 = enums.DML_TENSOR_DATA_TYPE_INT32
#: Channels of the convolved image and of its result, and the filter's window.
_CHANNELS, _WINDOW = 5, 3
#: Inputs that are parameters of a trained model.
_PARAMETERS = ("Weights", "Mean", "Variance", "Scale", "Bias")


class _Fused(GraphDesc):
    OPERATOR_TYPE = SUITE_OPERATOR_TYPE.SUITE_OPERATOR_GRAPH_FUSED


class _Form(NamedTuple):
    """A form of graph: its inputs, and two functions that return its output, or its outputs by name: in a graph, and in
    float64.

    kind: the output's data type, None for the case's.
    """

    reads: str
    build: Callable[[_Graph], Any]
    values: Callable[[_Arrays], Any]
    kind: Any = None


def _relu(x: Array) -> Array:
    return np.asarray(np.maximum(x, 0))


def _deep(t: _Graph) -> Any:
    x = t["A"]
    for _ in range(_DEEP):
        x = op.minimum(op.add(x, t["B"]), t["C"])
    return x


def _both(x: Any, first: Callable[[Any], Any], second: Callable[[Any], Any]) -> _Graph:
    return {"OutputTensor": first(x), "SecondTensor": second(x)}


def _total(t: _Graph) -> Any:
    total, *more = t.values()
    for each in more:
        total = op.add(total, each)
    return total


def _every_other(x: Any, first: int) -> Any:
    """Return every second column of x, starting at ``first``; with 0, the last column is left out."""
    return op.slice_(x, (0, first), (x.sizes[0], x.sizes[1] - 1), (1, 2))


def _gelu(x: Any, *, half_first: bool) -> Any:
    """Return x / 2 * (1 + erf(x / sqrt(2))) in operators, as exporters write it."""
    one = op.add(op.erf(op.multiply(x, math.sqrt(0.5))), 1.0)
    return op.multiply(op.multiply(x, 0.5), one) if half_first else op.multiply(op.multiply(one, x), 0.5)


def _gelu_values(t: _Arrays) -> Array:
    # erfc keeps the small results of negative numbers, where 1 + erf cancels
    return np.asarray(t["Real"] / 2 * np.vectorize(math.erfc)(-t["Real"] * math.sqrt(0.5)))


def _quantized(t: _Graph) -> Any:
    a, b = (op.dequantize_linear(t[name], 0.5, 3.0) for name in ("Bytes", "More"))
    return op.quantize_linear(op.relu(op.add(a, b)), 0.5, 1.0)


def _quantized_values(t: _Arrays) -> Array:
    a, b = ((t[name] - 3) * 0.5 for name in ("Bytes", "More"))
    return np.asarray(np.clip(np.rint(_relu(a + b) / 0.5) + 1, 0, 255))


def _normalized(t: _Graph) -> Any:
    convolved = op.convolution(t["Image"], t["Weights"], start_padding=(1, 1), end_padding=(1, 1))
    return op.batch_normalization(convolved, t["Mean"], t["Variance"], t["Scale"], t["Bias"], epsilon=1.0)


def _normalized_values(t: _Arrays) -> Array:
    factor = (t["Scale"] / np.sqrt(t["Variance"] + 1.0))[:, None, None]
    return (_convolved(t["Image"], t["Weights"]) - t["Mean"][:, None, None]) * factor + t["Bias"][:, None, None]


def _convolved(image: Array, weights: Array) -> Array:
    padded = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (_WINDOW, _WINDOW), (2, 3))
    return np.asarray(np.einsum("bchwyx,ocyx->bohw", windows, weights))


#: By label. A, B, ... and Real are matrices of m x n, Row is 1 x n, W n x n; Bytes and More are UINT8.
_FORMS: Mapping[str, _Form] = {
    # One expression
    "chain": _Form(
        "A B C Row",
        lambda t: op.add(op.relu(op.subtract(op.multiply(t["A"], t["B"]), t["Row"])), t["C"]),
        lambda t: _relu(t["A"] * t["B"] - t["Row"]) + t["C"],
    ),
    "deep": _Form("A B C", _deep, lambda t: np.minimum(t["A"] + _DEEP * t["B"], t["C"])),
    "many_inputs": _Form("A B C D E F G H I J", _total, lambda t: sum(t.values())),
    "condition": _Form(
        "A B C",
        lambda t: op.if_(op.greater_than(t["A"], t["B"]), op.add(t["A"], t["C"]), t["B"]),
        lambda t: np.where(t["A"] > t["B"], t["A"] + t["C"], t["B"]),
    ),
    "integers_between": _Form(
        "A B",
        lambda t: op.add(op.cast(op.cast(op.multiply(t["A"], 0.5), _INT32), t["A"].data_type), t["B"]),
        lambda t: np.trunc(t["A"] * 0.5) + t["B"],
    ),
    "quantized": _Form("Bytes More", _quantized, _quantized_values, enums.DML_TENSOR_DATA_TYPE_UINT8),
    "bytes_between": _Form(
        "A B",
        lambda t: op.add(
            op.dequantize_linear(op.quantize_linear(t["A"], 0.5, 3.0), 0.5, 3.0, t["A"].data_type), t["B"]
        ),
        lambda t: (np.clip(t["A"] / 0.5 + 3, 0, 255) - 3) * 0.5 + t["B"],
    ),
    # --- more than one kernel
    "read_twice": _Form(
        "A B C",
        lambda t: _both(op.multiply(t["A"], t["B"]), lambda x: op.add(x, t["C"]), lambda x: op.subtract(x, t["C"])),
        lambda t: {"OutputTensor": t["A"] * t["B"] + t["C"], "SecondTensor": t["A"] * t["B"] - t["C"]},
    ),
    "small_before_large": _Form(
        "A Row",
        lambda t: op.add(t["A"], op.add(op.multiply(t["Row"], t["Row"]), t["Row"])),
        lambda t: t["A"] + (t["Row"] ** 2 + t["Row"]),
    ),
    "wrapping": _Form(
        "Bytes More A",
        lambda t: op.add(op.cast(op.add(t["Bytes"], t["More"]), t["A"].data_type), t["A"]),
        lambda t: (t["Bytes"] + t["More"]) % 256 + t["A"],
    ),
    # Views
    "strided": _Form(
        "A B",
        lambda t: op.subtract(_every_other(t["B"], 1), op.relu(_every_other(t["A"], 0))),
        lambda t: t["B"][:, 1::2] - _relu(t["A"][:, :-1:2]),
    ),
    "turned": _Form(
        "A B", lambda t: op.add(t["B"].transpose(), op.relu(t["A"].transpose())), lambda t: t["B"].T + _relu(t["A"].T)
    ),
    # Epilogues
    "product_before": _Form(
        "A W C", lambda t: op.subtract(t["C"], op.gemm(t["A"], t["W"])), lambda t: t["C"] - t["A"] @ t["W"]
    ),
    "two_products": _Form(
        "A B W",
        lambda t: op.add(op.gemm(t["A"], t["W"]), op.gemm(t["B"], t["W"])),
        lambda t: t["A"] @ t["W"] + t["B"] @ t["W"],
    ),
    "product_as_integers": _Form(
        "A W",
        lambda t: op.cast(op.gemm(t["A"], t["W"]), _INT32),
        lambda t: t["A"] @ t["W"],
        enums.DML_TENSOR_DATA_TYPE_INT32,
    ),
    "product_in_other_sizes": _Form(
        "A W C",
        lambda t: op.add(op.gemm(t["A"], t["W"]).reshape(-1), t["C"].reshape(-1)),
        lambda t: (t["A"] @ t["W"] + t["C"]).ravel(),
    ),
    "product_read_twice": _Form(
        "A W Row",
        lambda t: _both(op.gemm(t["A"], t["W"]), lambda x: x, lambda x: op.relu(op.subtract(x, t["Row"]))),
        lambda t: {"OutputTensor": t["A"] @ t["W"], "SecondTensor": _relu(t["A"] @ t["W"] - t["Row"])},
    ),
    "product_and_many_inputs": _Form(
        "A W B C D E F G",
        lambda t: _total({"P": op.gemm(t["A"], t["W"]), **{name: t[name] for name in "BCDEFG"}}),
        lambda t: t["A"] @ t["W"] + sum(t[name] for name in "BCDEFG"),
    ),
    # Patterns
    "gelu": _Form("Real", lambda t: _gelu(t["Real"], half_first=False), _gelu_values),
    "gelu_of_half": _Form("Real", lambda t: _gelu(t["Real"], half_first=True), _gelu_values),
    "normalized_convolution": _Form(" ".join(("Image", *_PARAMETERS)), _normalized, _normalized_values),
}


def _named(outputs: Any) -> Mapping[str, Any]:
    return outputs if isinstance(outputs, Mapping) else {"OutputTensor": outputs}


def _input(name: str, choice: Choice) -> Tensor:
    rows, columns = choice.sizes
    shapes = {
        "Row": (1, columns),
        "W": (columns, columns),
        "Image": (1, _CHANNELS, rows, columns),
        "Weights": (_CHANNELS, _CHANNELS, _WINDOW, _WINDOW),
        **dict.fromkeys(_PARAMETERS[1:], (_CHANNELS,)),
    }
    kind = enums.DML_TENSOR_DATA_TYPE_UINT8 if name in ("Bytes", "More") else choice.type
    result = tensor(kind, shapes.get(name, (rows, columns)))
    return owned(result) if name in _PARAMETERS and choice.constant else result


def _described(choice: Choice) -> _Fused:
    form = choice.form
    if choice.constant and "Weights" not in form.reads:
        raise Skip("the form has no parameters")
    if form.kind == enums.DML_TENSOR_DATA_TYPE_UINT8 and choice.type != enums.DML_TENSOR_DATA_TYPE_FLOAT32:
        raise Skip("the form has no tensor of the case's data type")
    given = {name: _input(name, choice) for name in form.reads.split()}
    kind = choice.type if form.kind is None else form.kind
    shapes = _named(form.values({name: np.ones(one.Sizes) for name, one in given.items()}))
    outputs = {name: tensor(kind, array.shape) for name, array in shapes.items()}
    return _Fused(given, outputs, lambda builder, inputs: _named(form.build(inputs)), form)


#: Input -> its smallest and largest value; inputs that are not listed have -12 to 12. Steps of the deep chain are not
#: negative, so that products and sums of FLOAT16 stay below 2048.
_RANGES = {"B": (0, 12), "W": (-1, 1), "Weights": (-1, 1), "Scale": (1, 3), "Bytes": (0, 255), "More": (0, 255)}


def _inputs(desc: Any, values: Values) -> Inputs:
    found = {}
    for name, one in desc.inputs():
        if name == "Real":
            found[name] = values.between(one, -6, 6)
        elif name == "Variance":  # a square once the epsilon of 1 is added
            found[name] = values.integers(one, 0, 1) * 12 + 3
        else:
            found[name] = values.integers(one, *_RANGES.get(name, (-12, 12)))
    return found


def _reference(desc: Any, inputs: Inputs) -> Outputs:
    t = {name: array.astype(np.float64) for name, array in inputs.items()}
    found = _named(desc.about.values(t))
    kinds = {name: one.dtype for name, one in desc.outputs()}
    if "Real" in t:
        return {name: ACTIVATIONS["GELU"][1].expected(array, kinds[name]) for name, array in found.items()}
    if "Weights" in t:
        (kind,) = kinds.values()
        magnitudes = _normalized_values(
            {name: np.abs(array) * (-1 if name == "Mean" else 1) for name, array in t.items()}
        )
        allowed = sum_of_products(2 * _CHANNELS * _WINDOW**2, magnitudes, kind, found["OutputTensor"])
        return {"OutputTensor": Expected(found["OutputTensor"], 0.0, allowed, "a sum of products, normalized")}
    return {name: exact(array.astype(kinds[name])) for name, array in found.items()}


subject(
    _Fused,
    parameters={
        "type": data_types("FLOAT32", "FLOAT16"),
        "form": _FORMS,
        "sizes": sizes("6x40", "5x7", "33x64", "2x128"),
        "constant": flags(),
    },
    describe=_described,
    reference=_reference,
    inputs=_inputs,
    layouts=("packed",),
    values=("ordinary",),
)
