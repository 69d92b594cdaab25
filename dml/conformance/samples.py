"""Parts of large operators that are operators themselves: some rows, channels, heads or sequences of the results.

A float64 reference of a model's whole product takes too long. A part has sums of the same length as the whole operator,
and its exact results are elements of the whole result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dml import enums
from dml.capability import short_name
from dml.conformance.compare import compare
from dml.conformance.layouts import Tensor
from dml.conformance.subject import Inputs, subjects
from dml.descriptors.base import OperatorDesc

Index = tuple[Any, ...]
Random = np.random.Generator
_ALL = slice(None)

#: Minimum multiplications of an operator that is judged by a part of its results.
LARGE = 1 << 31
#: Maximum difference from the portable kernel's result, relative to the largest result, by element size: reordered sums
#: of thousands of products, and FLOAT16's rounding.
_DIFFERENCE = {2: 1e-2, 4: 1e-3}
#: Maximum rows and columns of a part.
_ROWS, _COLUMNS = 5, 7


@dataclass(frozen=True)
class Sample:
    """A part of an operator. inputs, outputs: by field, indices of the part's elements in the whole's tensor."""

    desc: OperatorDesc
    inputs: Mapping[str, Index]
    outputs: Mapping[str, Index]

    def of(self, inputs: Inputs) -> dict[str, Any]:
        """Return the part's inputs."""
        return {name: inputs[name][index] for name, index in self.inputs.items()}


def multiplications(desc: Any) -> int:
    """Estimate the multiplications of a product, a convolution or an attention; for other operators count the
    elements."""
    kind = short_name(desc.OPERATOR_TYPE)
    if kind == "GEMM" or kind.startswith("MATRIX_MULTIPLY"):
        turned = getattr(desc, "TransA", None) == enums.DML_MATRIX_TRANSFORM_TRANSPOSE
        return int(desc.OutputTensor.element_count * desc.ATensor.Sizes[-2 if turned else -1])
    if kind == "CONVOLUTION":
        return int(desc.OutputTensor.element_count * math.prod(desc.FilterTensor.Sizes[1:]))
    if kind == "MULTIHEAD_ATTENTION" and desc.KeyTensor is not None and desc.QueryTensor is not None:
        return 2 * int(desc.QueryTensor.element_count * desc.KeyTensor.Sizes[-2])
    if kind in ("RNN", "GRU", "LSTM"):
        return int(desc.RecurrenceTensor.element_count * math.prod(desc.InputTensor.Sizes[1:3]))
    return sum(tensor.element_count for _, tensor in desc.outputs() if isinstance(tensor, Tensor))


def of_large(desc: OperatorDesc, rng: Random) -> Sample | None:
    """Return a part if the operator is large enough to be judged by one; else None."""
    return sample(desc, rng) if multiplications(desc) >= LARGE else None


def sample(desc: Any, rng: Random) -> Sample | None:
    """Return a part of the operator's results as a smaller operator; None if no operator computes a part."""
    make = _SAMPLES.get(short_name(desc.OPERATOR_TYPE))
    return None if make is None else make(desc, rng)


def judge(desc: OperatorDesc, inputs: Inputs, outputs: Mapping[str, Any], seed: int = 0) -> str:
    """Describe the fault of an operator's outputs, judged by a part if it is large; empty if there is none.

    inputs, outputs: arrays by field.
    """
    part = of_large(desc, np.random.default_rng(seed))
    subject = subjects()[short_name(desc.OPERATOR_TYPE)]
    whole = part is None
    expected = subject.reference(desc, inputs) if part is None else subject.reference(part.desc, part.of(inputs))
    for name, expectation in expected.items():
        assert not isinstance(expectation, list)
        if name in outputs:
            found = outputs[name] if part is None else outputs[name][part.outputs[name]]
            if (wrong := compare(found, expectation).mismatch) is not None:
                return f"{name} {'' if whole else 'in a sample of the result '}{wrong}"
    return ""


def disagreement(found: Any, portable: Any) -> str:
    """Describe a difference between a large result and the portable kernel's that reordered sums do not explain; empty
    if there is none."""
    if found.dtype.kind != "f":
        wrong = found != portable
    else:
        result, reference = found.astype(np.float64), portable.astype(np.float64)
        most = _DIFFERENCE.get(found.dtype.itemsize, 1e-6) * float(np.nanmax(np.abs(reference), initial=0.0))
        wrong = ~np.isclose(result, reference, rtol=0.0, atol=most, equal_nan=True)
    if not wrong.any():
        return ""
    index = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    where = ", ".join(map(str, index))
    differing = np.count_nonzero(wrong)
    return f"at [{where}]: found {found[index]!s}, the portable kernel {portable[index]!s}; {differing} elements differ"


def _some(rng: Random, count: int, most: int) -> npt.NDArray[np.int64]:
    """Return some of ``count`` indices in order, including the first and the last."""
    chosen = set(rng.choice(count, min(count, most), replace=False).tolist()) | {0, count - 1}
    return np.array(sorted(chosen))


def _resized(tensor: Tensor, index: Index) -> Tensor:
    """Return a packed tensor of the elements at ``index``."""
    shape = np.broadcast_to(np.zeros((), np.int8), tensor.Sizes)[index].shape
    return Tensor(tensor.DataType, shape)


def _part(desc: OperatorDesc, indices: Mapping[str, Index], **more: Any) -> Sample:
    """Return the part with these elements of the named tensors, and all elements of the others."""
    fields = {name: indices.get(name, (...,)) for name, tensor in (*desc.inputs(), *desc.outputs()) if tensor}
    tensors = {name: _resized(getattr(desc, name), index) for name, index in fields.items()}
    part = desc.replace(**tensors, **more)
    inputs = {name: fields[name] for name in desc.input_names if name in fields}
    return Sample(part, inputs, {name: fields[name] for name in desc.output_names if name in fields})


def _product(desc: Any, rng: Random) -> Sample | None:
    if getattr(desc, "FusedActivation", None) is not None:
        return None  # a softmax needs the whole row
    turned = enums.DML_MATRIX_TRANSFORM_TRANSPOSE
    m, n = desc.OutputTensor.Sizes[-2:]
    rows, columns = _some(rng, m, _ROWS), _some(rng, n, _COLUMNS)
    both = (..., rows[:, None], columns)
    indices = {
        "ATensor": (..., _ALL, rows) if getattr(desc, "TransA", None) == turned else (..., rows, _ALL),
        "BTensor": (..., columns, _ALL) if getattr(desc, "TransB", None) == turned else (..., columns),
        "OutputTensor": both,
        "CTensor": both,
    }
    if any(getattr(desc, name, None) is not None for name in ("AZeroPointTensor", "BZeroPointTensor")):
        return None
    return _part(desc, indices)


def _convolution(desc: Any, rng: Random) -> Sample | None:
    if desc.Direction != enums.DML_CONVOLUTION_DIRECTION_FORWARD:
        return None
    outputs, own = desc.FilterTensor.Sizes[:2]
    image, group = int(rng.integers(desc.InputTensor.Sizes[0])), int(rng.integers(desc.GroupCount))
    of_group = outputs // desc.GroupCount
    channels = group * of_group + _some(rng, of_group, 3)
    indices = {
        "InputTensor": (slice(image, image + 1), slice(group * own, (group + 1) * own)),
        "FilterTensor": (channels,),
        "BiasTensor": (_ALL, channels),
        "OutputTensor": (slice(image, image + 1), channels),
    }
    return _part(desc, indices, GroupCount=1)


def _attention(desc: Any, rng: Random) -> Sample | None:
    used = {name for name, tensor in (*desc.inputs(), *desc.outputs()) if tensor is not None}
    plain = used == {"QueryTensor", "KeyTensor", "ValueTensor", "OutputTensor"}
    if not plain or desc.MaskType != enums.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE:
        return None
    head, image = int(rng.integers(desc.HeadCount)), int(rng.integers(desc.QueryTensor.Sizes[-3]))
    rows = _some(rng, desc.QueryTensor.Sizes[-2], _ROWS)

    def of(name: str, own: Any) -> Index:
        size = getattr(desc, name).Sizes[-1] // desc.HeadCount
        return (..., slice(image, image + 1), own, slice(head * size, (head + 1) * size))

    indices = {name: of(name, _ALL) for name in ("KeyTensor", "ValueTensor")}
    return _part(
        desc, {**indices, "QueryTensor": of("QueryTensor", rows), "OutputTensor": of("OutputTensor", rows)}, HeadCount=1
    )


def _recurrence(desc: Any, rng: Random) -> Sample | None:
    batch = _some(rng, desc.InputTensor.Sizes[2], 2)
    states = ("InputTensor", "HiddenInitTensor", "CellMemInitTensor", "OutputSequenceTensor", "OutputSingleTensor",
              "OutputCellSingleTensor")  # fmt: skip
    indices: dict[str, Index] = dict.fromkeys(states, (_ALL, _ALL, batch))
    return _part(desc, {**indices, "SequenceLengthsTensor": (_ALL, _ALL, _ALL, batch)})


def _rows(desc: Any, rng: Random) -> Sample | None:
    sizes = desc.InputTensor.Sizes
    if len(sizes) < 2:
        return None
    rows = (..., _some(rng, sizes[-2], _ROWS), _ALL)
    return _part(desc, {"InputTensor": rows, "OutputTensor": rows})


_SAMPLES: dict[str, Callable[[Any, Random], Sample | None]] = {
    "GEMM": _product,
    "MATRIX_MULTIPLY_INTEGER": _product,
    "CONVOLUTION": _convolution,
    "MULTIHEAD_ATTENTION": _attention,
    "GRU": _recurrence,
    "LSTM": _recurrence,
    "RNN": _recurrence,
    "ACTIVATION_SOFTMAX": _rows,
    "ACTIVATION_LOG_SOFTMAX": _rows,
}
