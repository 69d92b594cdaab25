"""Tests of operators whose output element depends on the input elements at one position.

A case is a line in a table: the operator, a reference for floats (float64 NumPy, vectorised) and one for integers
(Python integers, which cannot overflow; the result wraps here), domains, attributes and a tolerance.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import dml
import harness
from dml.capability import operator_support, short_name
from dml.descriptors import OperatorDesc

Array = harness.Array

#: Values that every float operator gets in addition to its domain.
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 65504.0, -65504.0, 1e-4, -1e-4]
#: (sizes, layout of the first input, of the others, of the output): every dimension count, every layout.
LAYOUTS = [
    ((5, 8), "packed", "packed", "packed"),
    ((7,), "padded", "packed", "packed"),
    ((3, 5), "reversed", "broadcast", "packed"),
    ((2, 3, 4), "packed", "reversed", "padded"),
    ((2, 2, 3, 4), "broadcast", "packed", "reversed"),
    ((2, 1, 3, 2, 4), "padded", "broadcast", "packed"),
    ((2, 1, 2, 1, 3, 3), "reversed", "packed", "packed"),
    ((1, 2, 1, 2, 2, 3, 2), "packed", "padded", "reversed"),
    ((2, 1, 2, 1, 2, 1, 3, 2), "broadcast", "reversed", "packed"),
]


@dataclass(frozen=True)
class Case:
    """An operator.

    name: without DML_ and _OPERATOR_DESC. floats, integers: references of one argument per input (in C order), and the
    attributes by keyword. ulp: the distance allowed from the float64 reference, for the reason in ``why``. low, high:
    the domain of floats, per input or for all. whole: the domain of integers; None for the type's whole range.
    """

    name: str
    floats: Callable[..., Any] | None = None
    integers: Callable[..., int] | None = None
    ulp: float = 4
    why: str = "the shader library's promise"
    low: float = -4.0
    high: float = 4.0
    second: tuple[float, float] | None = None
    whole: tuple[int, int] | None = None
    attributes: Sequence[Mapping[str, Any]] = ({},)
    special: bool = True
    zeros_have_signs: bool = False
    data_types: Sequence[str] | None = None

    @property
    def cls(self) -> type[OperatorDesc]:
        found: type[OperatorDesc] = getattr(dml, f"DML_{self.name}_OPERATOR_DESC")
        return found


def data_types(name: str) -> list[str]:
    """Return the first input's data types at the newest feature level, from the capability table."""
    support = operator_support(dml.DML_OPERATOR_TYPE[f"DML_OPERATOR_{name}"])
    assert support is not None
    first = next(iter(support.values()))
    return sorted(short_name(kind) for kind in first.data_types)


def data_types_of(case: Case) -> Sequence[str]:
    return case.data_types or data_types(case.name)


def identify(value: object) -> str | None:
    """Return the name of a case for pytest, which names the other parameters itself."""
    return value.name.removeprefix("ACTIVATION_").removeprefix("ELEMENT_WISE_") if isinstance(value, Case) else None


def runs(cases: Sequence[Case]) -> Iterator[tuple[Case, str]]:
    for case in cases:
        for dtype in data_types_of(case):
            yield case, dtype


def wrap(value: int, kind: np.dtype[Any]) -> int:
    """Return the value modulo 2^bits, in the range of the integer type."""
    bits = kind.itemsize * 8
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind.kind == "i" and value >> (bits - 1) else value


def floats(case: Case, rng: np.random.Generator, kind: np.dtype[Any], shape: Sequence[int], index: int) -> Array:
    low, high = case.second if index and case.second else (case.low, case.high)
    values = rng.uniform(low, high, tuple(shape)).astype(kind)
    if case.special:
        # The special values are at different positions in each input, so that pairs of them occur as well.
        places = rng.permutation(values.size)[: max(1, values.size // 3)]
        values.reshape(-1)[places] = np.resize(rng.permutation(np.array(SPECIAL, kind)), places.size)
    return values


def integers(case: Case, rng: np.random.Generator, kind: np.dtype[Any], shape: Sequence[int], index: int) -> Array:
    info = np.iinfo(kind)
    low, high = (int(info.min), int(info.max)) if case.whole is None else case.whole
    low, high = max(low, int(info.min)), min(high, int(info.max))
    values = rng.integers(low, high, tuple(shape), dtype=kind, endpoint=True)
    corners = [v for v in (0, 1, -1, 2, 7, int(info.min), int(info.max)) if low <= v <= high]
    places = rng.permutation(values.size)[: max(1, values.size // 3)]
    values.reshape(-1)[places] = np.resize(rng.permutation(np.array(corners, kind)), places.size)
    return values


def expectation(case: Case, arrays: Sequence[Array], out: np.dtype[Any], attributes: Mapping[str, Any]) -> Array:
    """Return the reference's result: float64 for float outputs, the output's own type for integers."""
    if arrays[0].dtype.kind == "f" and case.floats is not None:
        with np.errstate(all="ignore"):
            result = np.asarray(case.floats(*[a.astype(np.float64) for a in arrays], **attributes))
        return result.astype(out) if out.kind != "f" else result
    assert case.integers is not None, case.name
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    flat = [np.broadcast_to(a, shape).reshape(-1).tolist() for a in arrays]
    values = [wrap(int(case.integers(*row, **attributes)), out) for row in zip(*flat, strict=True)]
    return np.array(values, out).reshape(shape)


def compare(case: Case, result: Array, expected: Array) -> None:
    """Compare exactly for integers; within the case's tolerance for floats, whose subnormals may be flushed to zero."""
    if result.dtype.kind != "f":
        harness.assert_exact(result, expected)
        return
    kind = result.dtype
    # FLOAT16 is computed in float32 and rounded once.
    most = case.ulp if kind == np.float32 else 0.5 + case.ulp / 2**13
    with np.errstate(all="ignore"):
        small = np.abs(expected) < np.finfo(np.float32).tiny
        assert np.all(np.abs(result[small].astype(np.float64)) <= np.finfo(np.float32).tiny), case.name
        if case.zeros_have_signs:
            zero = expected.astype(kind) == 0
            np.testing.assert_array_equal(np.signbit(result[zero]), np.signbit(expected[zero]))
        harness.assert_ulp(result[~small], expected[~small], most, case.why)


def check(
    case: Case,
    device: dml.Device,
    dtype: str,
    sizes: Sequence[int],
    layouts: tuple[str, str, str],
    attributes: Mapping[str, Any],
) -> None:
    """Run the operator on random and special values and compare with the reference."""
    rng = np.random.default_rng(zlib.crc32(f"{case.name} {dtype} {sizes}".encode()))
    kind = dml.numpy_dtype(harness.data_type(dtype))
    support = operator_support(case.cls.OPERATOR_TYPE)
    assert support is not None
    names = {role: [i.name for i in case.cls.fields_info if i.kind == role] for role in ("input", "output")}
    descriptions, arrays = {}, {}
    for index, name in enumerate(names["input"]):
        own = kind
        if harness.data_type(dtype) not in support[name].data_types:
            own = dml.numpy_dtype(next(iter(support[name].data_types)))
        make = floats if own.kind == "f" else integers
        layout = layouts[min(index, 1)]
        shape = (1, *sizes[1:]) if layout == "broadcast" else tuple(sizes)
        descriptions[name] = harness.tensor(dml.data_type_of(own), sizes, layout)
        arrays[name] = make(case, rng, own, shape, index)
    (output,) = names["output"]
    first = harness.data_type(dtype)
    # The first input's data type; if the output is a truth value or a count, each type that it may have.
    same = support[output].data_types == support[names["input"][0]].data_types
    kinds = [first] if same else sorted(support[output].data_types)
    for out in kinds:
        tensors = {**descriptions, output: harness.tensor(out, sizes, layouts[2])}
        desc = case.cls(**tensors, **attributes)
        given = {name: np.broadcast_to(array, tuple(sizes)) for name, array in arrays.items()}
        result = harness.run(device, desc, given)[output]
        compare(case, result, expectation(case, list(given.values()), dml.numpy_dtype(out), attributes))


def check_values(case: Case, device: dml.Device, dtype: str) -> None:
    """Check packed tensors with every set of attributes; their length leaves a tail after whole vectors."""
    for attributes in case.attributes:
        check(case, device, dtype, (203,), ("packed", "packed", "packed"), attributes)


def check_layouts(case: Case, device: dml.Device, dtype: str) -> None:
    """Check two of LAYOUTS, chosen by a hash of operator and data type, so that all layouts are covered many times."""
    start = zlib.crc32(f"{case.name} {dtype}".encode())
    for step in (0, 4):
        sizes, *layouts = LAYOUTS[(start + step) % len(LAYOUTS)]
        check(case, device, dtype, sizes, (layouts[0], layouts[1], layouts[2]), case.attributes[0])
