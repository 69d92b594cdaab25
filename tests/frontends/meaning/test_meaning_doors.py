"""One table of operations that formats share: each door that has one gives the same bits, which a reference judges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from doors import by_onnx, by_openvino, by_webnn

import dml
from dml.frontends.meaning.resampling import ResizedAxis, nearest_elements, weights
from harness import assert_exact

Array = npt.NDArray[Any]


class DoorCase(NamedTuple):
    """doors: for each front end what it makes of the arrays, given the device and a folder. reference: in float64.

    tolerance: of the reference, absolute, for values around 1 in float32.
    """

    name: str
    doors: dict[str, Callable[[dml.Device, Path], Sequence[Array]]]
    reference: Callable[[], Sequence[Array]]
    tolerance: float = 2e-5


_RNG = np.random.default_rng(28)
X = _RNG.standard_normal((1, 2, 5, 6)).astype(np.float32)


def _resized(name: str, mode: str, sizes: tuple[int, int], coordinates: str = "half_pixel") -> DoorCase:
    """x at other sizes along the last two axes."""
    axes = [
        ResizedAxis(size, wanted, wanted / size, mode=coordinates)
        for size, wanted in zip(X.shape[2:], sizes, strict=True)
    ]

    def reference() -> list[Array]:
        made = X.astype(np.float64)
        for at, axis in enumerate(axes, 2):
            if mode == "nearest":
                made = np.take(made, nearest_elements(axis, "round_prefer_floor"), at)
            else:
                made = np.moveaxis(np.moveaxis(made, at, -1) @ weights(axis, "linear", False, False, 0.0).T, -1, at)
        return [made]

    shape = np.array([1, 2, *sizes], np.int64)
    doors = {
        "onnx": lambda device, folder: by_onnx(
            device, "Resize", [X, None, None, shape], constants=[3], mode=mode,
            coordinate_transformation_mode=coordinates,
        ),
    }  # fmt: skip
    if coordinates == "half_pixel":
        own = "nearest-neighbor" if mode == "nearest" else mode
        doors["webnn"] = lambda device, folder: by_webnn(
            device, lambda builder, x: builder.resample2d(x, mode=own, sizes=list(sizes)), X
        )

    def interpolated(opset: Any, x: Any) -> Any:
        own = "linear_onnx" if mode == "linear" else mode
        return opset.interpolate(
            x, opset.constant(np.array(sizes, np.int64)), mode=own, shape_calculation_mode="sizes",
            axes=opset.constant(np.array([2, 3], np.int64)), coordinate_transformation_mode=coordinates,
        )  # fmt: skip

    doors["openvino"] = lambda device, folder: by_openvino(device, folder, interpolated, X)
    return DoorCase(f"resize {name}", doors, reference)


CASES = [
    _resized("larger linear", "linear", (10, 9)),
    _resized("smaller linear", "linear", (3, 4)),
    _resized("one row", "linear", (1, 6)),
    _resized("corners", "linear", (7, 11), "align_corners"),
    _resized("nearest twice", "nearest", (10, 12)),
    _resized("nearest by fractions", "nearest", (7, 9)),
    _resized("nearest smaller", "nearest", (2, 3)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_door_gives_the_same_bits(device, tmp_path, case):
    found = {name: door(device, tmp_path) for name, door in case.doors.items()}
    expected = case.reference()
    first, *others = found.values()
    assert len(first) == len(expected)
    for result, wanted in zip(first, expected, strict=True):
        np.testing.assert_allclose(result.reshape(wanted.shape), wanted, rtol=0, atol=case.tolerance)
    for results in others:
        for result, same in zip(results, first, strict=True):
            assert_exact(result.reshape(same.shape), same)
