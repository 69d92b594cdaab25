"""Python's operators, indices and NumPy's functions on a graph's tensors, compared with NumPy."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest

import dml
from dml.graph.builder import Builder
from dml.graph.ufuncs import _FUNCTIONS

A = np.array([[7, -7, 5], [0, 3, -2]])
B = np.array([2, 3, -4])
ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv, operator.mod, operator.floordiv)
COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
BITS = (operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift)


def value(device: dml.Device, function: Any, *arrays: Any) -> Any:
    """Run a graph of this function and return its output."""
    graph = Builder(device)
    inputs = [graph.input(str(index), one.shape, dml.data_type_of(one.dtype)) for index, one in enumerate(arrays)]
    given = {str(index): one for index, one in enumerate(arrays)}
    return graph.compile({"y": function(*inputs)}).dispatch(given)["y"]


@pytest.mark.parametrize("function", (*ARITHMETIC, *COMPARISONS), ids=lambda one: one.__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_operators_are_numpys(device: dml.Device, function: Any, dtype: Any) -> None:
    """Operands are two broadcast tensors, or a number or array on either side."""
    a, b = A.astype(dtype), B.astype(dtype)
    exact = dtype == np.float32 or function is not operator.truediv  # integer quotients are truncated
    other = b if exact else np.array([1, 1, -1], dtype)
    for found, expected in (
        (value(device, function, a, other), function(a, other)),
        (value(device, lambda x: function(x, 1), a), function(a, dtype(1))),
        (value(device, lambda x: function(x, other), a), function(a, other)),
        (value(device, lambda y: function(a, y), other), function(a, other)),
        (value(device, lambda y: function(6, y), other), function(dtype(6), other)),
        (value(device, lambda y: function(dtype(6), y), other), function(dtype(6), other)),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("function", BITS, ids=lambda one: one.__name__)
def test_bits(device: dml.Device, function: Any) -> None:
    a, b = np.array([[0xF0F0, 7, 1 << 30]], np.uint32), np.array([3, 1, 2], np.uint32)
    np.testing.assert_array_equal(value(device, function, a, b), function(a, b))
    np.testing.assert_array_equal(value(device, lambda x: function(x, 5), a), function(a, np.uint32(5)))
    np.testing.assert_array_equal(value(device, lambda x: function(5, x), b), function(np.uint32(5), b))
    np.testing.assert_array_equal(value(device, operator.invert, a), ~a)


@pytest.mark.parametrize(
    ("a", "b"), [((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (3,))]
)
def test_products(device: dml.Device, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """Values are small integers, exact in float32; a product of two vectors has sizes (1,)."""
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-4, 5, sizes).astype(np.float32) for sizes in (a, b))
    np.testing.assert_array_equal(value(device, operator.matmul, x, y), np.atleast_1d(x @ y))


def test_powers(device: dml.Device) -> None:
    """Powers with small exponents are within POW's limit of 16 ulp."""
    x = np.array([0.5, 1, 2, 3], np.float32)
    np.testing.assert_allclose(value(device, lambda t: t**3, x), x**3, rtol=2e-6)
    np.testing.assert_allclose(value(device, lambda t: t**t, x), x**x, rtol=2e-6)
    np.testing.assert_allclose(value(device, lambda t: 2**t, x), 2**x, rtol=2e-6)


INDICES = [
    np.s_[0], np.s_[-1], np.s_[1:3], np.s_[::2], np.s_[::-1], np.s_[1, 2], np.s_[..., 1], np.s_[:, None], np.s_[None],
    np.s_[3:0:-2, ..., -1], np.s_[1, 2, 3], np.s_[..., 1:2, :], np.s_[:], np.s_[-3:], np.s_[2, ::-2, None, 1],
]  # fmt: skip


@pytest.mark.parametrize("key", INDICES, ids=str)
def test_indices_are_numpys(device: dml.Device, key: Any) -> None:
    x = np.arange(4 * 3 * 5, dtype=np.float32).reshape(4, 3, 5)
    np.testing.assert_array_equal(value(device, lambda t: t[key] + 0, x), np.atleast_1d(x[key]))


def test_rows(device: dml.Device) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    first, second = Builder(device).input("x", (2, 3))
    assert (len(first), first.shape, second.ndim, first.dtype, first.T.shape) == (3, (3,), 1, np.float32, (3,))
    np.testing.assert_array_equal(value(device, lambda t: sum(row for row in t), x), x.sum(0))


@pytest.mark.parametrize(
    "key", [4, -5, np.s_[2:2], np.s_[0, 0, 0, 0], "x", 1.5, [0, 1], True, np.s_[..., ...]], ids=str
)
def test_wrong_indices(device: dml.Device, key: Any) -> None:
    x = Builder(device).input("x", (4, 3, 5))
    with pytest.raises(dml.DMLError):
        x[key]


@pytest.mark.parametrize("name", sorted(_FUNCTIONS))
def test_functions_of_numpy(device: dml.Device, name: str) -> None:
    """Each function of the table agrees within 1e-5, far above float32's errors for these arguments."""
    function = getattr(np, name)
    unsigned = name.startswith(("bitwise", "left", "right", "invert"))
    logical = name.startswith("logical")
    dtype = np.uint32 if unsigned else np.uint8 if logical else np.float32
    a = np.array([[1, 2, 1], [2, 1, 3]], dtype) if unsigned else np.array([[1, 0, 1], [0, 1, 1]], dtype)
    if dtype == np.float32:
        a = np.array([[0.5, 0.9, 0.25], [0.9, 0.75, 0.5]], dtype) + (name == "arccosh")
    arrays = [a, a[::-1].copy()][: function.nin]
    if name == "matmul":
        arrays[1] = arrays[1].T.copy()
    np.testing.assert_allclose(value(device, function, *arrays), function(*arrays), rtol=1e-5, atol=1e-6)


def test_what_is_refused(device: dml.Device) -> None:
    graph, other = Builder(device), Builder(device)
    x, y = graph.input("x", (2,)), other.input("y", (2,))
    refused: list[tuple[Any, str]] = [
        (lambda: bool(x), "neither true nor false"),
        (lambda: not x, "neither true nor false"),
        (lambda: 1 if x == 1 else 0, "operations.if_"),
        (lambda: 1 in x, "neither true nor false"),
        (lambda: 0 < x < 1, "neither true nor false"),
        (lambda: np.asarray(x), "no values before the graph runs"),
        (lambda: float(x), r"no values before the graph runs, which float\(\) needs"),
        (lambda: int(x), r"which int\(\) needs"),
        (lambda: complex(x), r"which complex\(\) needs"),
        (lambda: math.exp(x), "no values before the graph runs"),
        (lambda: math.trunc(x), "no values before the graph runs"),
        (lambda: f"{x:.2f}", "which the format '.2f' needs"),
        (lambda: round(x, 2), "rounds to integers, not to 2 digits"),
        (lambda: operator.setitem(x, 0, 1.0), "operations.if_"),
        (lambda: operator.delitem(x, 0), "does not change"),
        (lambda: x + "a", "takes Tensor . int . float . ndarray, found 'a'"),
        (lambda: np.exp2(x), "np.exp2 does not take"),
        (lambda: np.add.reduce(x), "np.add.reduce does not take"),
        (lambda: np.exp(x, out=np.zeros(2)), "np.exp with out"),
        (lambda: x + y, "another Builder"),
        (lambda: x == y, "another Builder"),
        (lambda: graph.compile([y]), "output None is a tensor of another Builder"),
        (lambda: graph.compile({"out": y}), "output 'out' is a tensor of another Builder"),
        (lambda: graph.compile({"out": x.broadcast((2**31, 2))}), "output 'out': .* more than 4294967295 elements"),
        (lambda: graph.compile([x, x.broadcast((2**31, 2))]), "output 1: .* more than 4294967295 elements"),
    ]
    for function, message in refused:
        with pytest.raises(dml.DMLError, match=message):
            function()


def test_objects_that_are_not_operands(device: dml.Device) -> None:
    """With an object that is not an operand, comparisons are Python's own and arithmetic is refused."""
    x = Builder(device).input("x", (2,))
    assert (x == None, x != None, x == "x") == (False, True, False)  # noqa: E711
    assert len({x, x}) == 1
    for function in (operator.add, operator.lt, operator.matmul, operator.pow, operator.floordiv):
        with pytest.raises(dml.DMLError):
            function(x, "x")


def test_attributes_of_arrays_name_the_function(device: dml.Device) -> None:
    x = Builder(device).input("x", (2,))
    for name, hint in {"sum": "operations.reduce", "astype": "operations.cast", "item": "dispatch"}.items():
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; .*{hint}"):
            getattr(x, name)
    with pytest.raises(AttributeError, match=r"no attribute 'foo'$"):
        _ = x.foo  # type: ignore[attr-defined]
    assert not hasattr(x, "foo")
    assert f"{x}" == str(x)


@pytest.mark.parametrize("function", [round, math.floor, math.ceil])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_rounding_to_integers(device: dml.Device, function: Any, dtype: Any) -> None:
    a = np.array([-2.5, -1.5, -0.4, 0.5, 1.5, 2.5, 2.6]).astype(dtype)
    np.testing.assert_array_equal(value(device, function, a), [function(one) for one in a.tolist()])


def test_quotients_with_remainders(device: dml.Device) -> None:
    a, b = np.array([7, -7, 7, -7], np.int32), np.array([3, 3, -3, -3], np.int32)
    for part, at in ((operator.floordiv, 0), (operator.mod, 1)):
        found = value(device, lambda x, y, at=at: divmod(x, y)[at], a, b)
        np.testing.assert_array_equal(found, part(a, b))
        found = value(device, lambda x, at=at: divmod(100, x)[at], b)
        np.testing.assert_array_equal(found, part(np.int32(100), b))


def test_sizes_and_axes_as_one_sequence(device: dml.Device) -> None:
    x = Builder(device).input("x", (2, 3, 4))
    assert x.reshape((4, -1)).sizes == x.reshape([4, 6]).sizes == (4, 6)
    assert x.reshape(-1).sizes == (24,)
    assert x.transpose((0, 2, 1)).sizes == x.transpose(0, 2, 1).sizes == (2, 4, 3)
    assert x.transpose().sizes == (4, 3, 2)
    with pytest.raises(dml.DMLError, match=r"\(5, 5\) does not fit"):
        x.reshape([5, 5])
    with pytest.raises(dml.DMLError, match=r"axes takes int . Sequence.int., found list of float, int"):
        x.transpose([0, 1.5, 2])
    with pytest.raises(dml.DMLError, match="transpose takes integers, or one sequence of integers"):
        x.transpose(0, [1, 2])


def test_arrays_times_tensors(device: dml.Device) -> None:
    rng = np.random.default_rng(0)
    a, x = rng.integers(-4, 5, (2, 3)).astype(np.float32), rng.integers(-4, 5, (3, 4)).astype(np.float32)
    np.testing.assert_array_equal(value(device, lambda t: a @ t, x), a @ x)
