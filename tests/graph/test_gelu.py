"""A GELU built from several operators is recognized; similar expressions are left unchanged."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dml.graph import operations as op
from dml.graph.builder import Builder, Tensor
from harness import assert_ulp, random

ROOT = math.sqrt(2)
Form = Callable[[Tensor, Callable[[float], Any]], Tensor]


def total(x: Tensor, c: Callable[[float], Any]) -> Tensor:
    return op.erf(x / c(ROOT)) + c(1)


FORMS: dict[str, Form] = {
    "x, then half": lambda x, c: x * total(x, c) * c(0.5),
    "half, then x": lambda x, c: x * (total(x, c) * c(0.5)),
    "half of x": lambda x, c: (x * c(0.5)) * total(x, c),
    "half of x, turned": lambda x, c: total(x, c) * (c(0.5) * x),
    "all turned": lambda x, c: c(0.5) * ((c(1) + op.erf(c(ROOT / 2) * x)) * x),
}
OTHERS: dict[str, Form] = {
    "another root": lambda x, c: x * (op.erf(x / c(1.5)) + c(1)) * c(0.5),
    "divided the other way": lambda x, c: x * (op.erf(c(ROOT) / x) + c(1)) * c(0.5),
    "another sum": lambda x, c: x * (op.erf(x / c(ROOT)) + c(2)) * c(0.5),
    "another half": lambda x, c: x * total(x, c) * c(0.25),
    "another x": lambda x, c: (x + c(1)) * total(x, c) * c(0.5),
    "x twice": lambda x, c: x * total(x, c) * x,
    "half twice": lambda x, c: c(0.5) * total(x, c) * c(0.5),
    "a row of halves": lambda x, c: x * total(x, c) * np.linspace(0.5, 1, 40, dtype=np.float32),
}


def exact(form: Any, x: np.ndarray, monkeypatch: Any) -> Any:
    monkeypatch.setattr(op, "erf", np.vectorize(math.erf))
    with np.errstate(divide="ignore"):
        return form(x.astype(np.float64), float)


def compiled_form(device: Any, form: Form, kind: str, sizes: tuple[int, ...]) -> Any:
    graph = Builder(device)
    dtype = np.dtype(kind.lower())
    x = graph.input("x", sizes, kind)
    return graph.compile({"y": form(x, lambda value: graph.constant(np.full((1,) * len(sizes), value, dtype)))})


def is_gelu(compiled: Any) -> bool:
    return any("gelu(" in text for d in compiled.program.dispatches for _, text in d.source.headers)


@pytest.mark.parametrize("kind", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("name", FORMS)
def test_forms(device: Any, monkeypatch: Any, name: str, kind: str) -> None:
    x = random(np.random.default_rng(1), kind, (3, 40), -6, 6)
    compiled = compiled_form(device, FORMS[name], kind, x.shape)
    assert is_gelu(compiled)
    assert len(compiled.program.dispatches) == 1
    y = compiled.dispatch({"x": x})["y"]
    exact_y = exact(FORMS["half of x"], x, monkeypatch)
    assert_ulp(y, exact_y, 4 if kind == "FLOAT32" else 1, "what the operator itself promises")


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_another_function(device: Any, monkeypatch: Any, name: str) -> None:
    x = random(np.random.default_rng(2), "FLOAT32", (3, 40), 0.1, 3)
    compiled = compiled_form(device, OTHERS[name], "FLOAT32", x.shape)
    assert not is_gelu(compiled)
    y = compiled.dispatch({"x": x})["y"]
    # a few roundings, and no cancellation
    np.testing.assert_allclose(y, exact(OTHERS[name], x, monkeypatch), rtol=2e-6)


@pytest.mark.parametrize("seen", ["quotient", "erf", "sum", "product"])
def test_values_with_other_readers_are_computed(device: Any, seen: str) -> None:
    graph = Builder(device)
    x = graph.input("x", (5, 7))
    parts = {"quotient": x / np.float32(ROOT)}
    parts["erf"] = op.erf(parts["quotient"])
    parts["sum"] = parts["erf"] + np.float32(1)
    parts["product"] = x * parts["sum"]
    compiled = graph.compile({"y": parts["product"] * np.float32(0.5), "seen": parts[seen]})
    assert not is_gelu(compiled)
    given = random(np.random.default_rng(3), "FLOAT32", (5, 7), 0.1, 3)
    found = compiled.dispatch({"x": given})
    erf = np.vectorize(math.erf)(given.astype(np.float64) / ROOT)
    expected = {"quotient": given / ROOT, "erf": erf, "sum": erf + 1, "product": given * (erf + 1)}
    np.testing.assert_allclose(found["seen"], expected[seen], rtol=2e-6)
    np.testing.assert_allclose(found["y"], expected["product"] / 2, rtol=2e-6)


def test_gelu_after_a_product(device: Any, monkeypatch: Any) -> None:
    """A GELU after a matrix product becomes its epilogue."""
    a, b = (random(np.random.default_rng(4), "FLOAT32", sizes) for sizes in ((9, 16), (16, 24)))
    graph = Builder(device)
    made = op.gemm(graph.input("a", a.shape), graph.constant(b))
    compiled = graph.compile({"y": FORMS["x, then half"](made, np.float32)})
    assert is_gelu(compiled)
    y = compiled.dispatch({"a": a})["y"]
    expected = exact(FORMS["x, then half"], a.astype(np.float64) @ b, monkeypatch)
    np.testing.assert_allclose(y, expected, atol=1e-5)  # sums of 16 products, of numbers up to a few units
