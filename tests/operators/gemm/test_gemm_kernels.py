"""Every kernel of GEMM, at sizes that do not fill its tiles."""

from __future__ import annotations

import numpy as np
import pytest
from gemm_cases import describe, make, product

import dml
from harness import assert_sums, run


@pytest.mark.parametrize("m, k, n", [(1, 1, 1), (1, 300, 1), (70, 3, 200), (129, 66, 130), (64, 1, 64)])
@pytest.mark.parametrize("ta, tb", [(0, 0), (1, 1)])
def test_edges_of_tiles(device, m, k, n, ta, tb):
    a, b, _, inputs = make("FLOAT32", (), m, k, n, ta, tb)
    expected, terms = product(a, b, ta, tb)
    assert_sums(run(device, describe(a, b, (m, n), ta, tb), inputs)["OutputTensor"], expected, terms, k)


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("ta, tb, layout", [(0, 0, "packed"), (1, 1, "packed"), (0, 1, "padded"), (1, 0, "reversed")])
@pytest.mark.parametrize("batch, m, k, n", [((), 40, 36, 52), ((2,), 33, 35, 37), ((), 3, 20, 40)])
def test_kernels_of_gpus(as_discrete, dtype, ta, tb, layout, batch, m, k, n):
    a, b, c, inputs = make(dtype, batch, m, k, n, ta, tb, with_c=True)
    desc = describe(a, b, (*batch, m, n), ta, tb, c, 0.5, 2.0, layouts=(layout,) * 4)
    expected, terms = product(a, b, ta, tb, 0.5, c, 2.0)
    assert_sums(run(as_discrete, desc, inputs)["OutputTensor"], expected, terms, k)


@pytest.mark.parametrize("m, k, n", [(1, 301, 1), (1, 33, 201), (5, 70, 1), (301, 3, 2), (15, 129, 37)])
@pytest.mark.parametrize("ta, tb", [(0, 0), (1, 1)])
def test_narrow_products_of_gpus(as_discrete, m, k, n, ta, tb):
    a, b, c, inputs = make("FLOAT32", (2,), m, k, n, ta, tb, with_c=True)
    desc = describe(a, b, (2, m, n), ta, tb, c, 0.5, 2.0)
    compiled = as_discrete.compile_operator(as_discrete.create_operator(desc))
    assert [dispatch.label for dispatch in compiled.program.dispatches] == ["gemm/narrow.comp"]
    expected, terms = product(a, b, ta, tb, 0.5, c, 2.0)
    assert_sums(compiled.dispatch(inputs)["OutputTensor"], expected, terms, k)


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("ta, tb", [(0, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("k, layout", [(72, "packed"), (332, "packed"), (71, "padded"), (331, "padded"), (3, "padded")])
def test_narrow_products_in_vectors_on_gpus(without_matrices, dtype, ta, tb, k, layout):
    """Rows of 72 and 332 elements: the former begin at multiples of eight, the latter at multiples of four. "padded"
    adds one element, so that sums end within a vector."""
    a, b, _, inputs = make(dtype, (), 12, k, 37, ta, tb)
    desc = describe(a, b, (12, 37), ta, tb, layouts=(layout, layout, "packed", "packed"))
    compiled = without_matrices.compile_operator(without_matrices.create_operator(desc))
    assert compiled.program.dispatches[0].label == "gemm/narrow.comp"
    expected, terms = product(a, b, ta, tb)
    assert_sums(compiled.dispatch(inputs)["OutputTensor"], expected, terms, k)


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("ta, tb, layout", [(0, 0, "packed"), (1, 1, "packed"), (0, 1, "reversed")])
@pytest.mark.parametrize("batch, m, k, n", [((), 1, 1288, 72), ((), 8, 520, 40), ((3,), 3, 72, 136)])
def test_vectors_of_b_on_gpus(without_matrices, dtype, ta, tb, layout, batch, m, k, n):
    a, b, c, inputs = make(dtype, batch, m, k, n, ta, tb, with_c=True)
    desc = describe(a, b, (*batch, m, n), ta, tb, c, 0.5, 2.0, layouts=(layout, "packed", layout, layout))
    compiled = without_matrices.compile_operator(without_matrices.create_operator(desc))
    assert compiled.program.dispatches[0].label == "gemm/vector.comp"
    expected, terms = product(a, b, ta, tb, 0.5, c, 2.0)
    assert_sums(compiled.dispatch(inputs)["OutputTensor"], expected, terms, k)


@pytest.mark.parametrize("m, k, n", [(40, 1200, 36), (1, 2100, 24), (33, 1030, 70)])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_parts_of_k_on_gpus(as_discrete, dtype, m, k, n):
    """With few tiles GPUs use split-k; the kernel that adds the partial sums also applies C and the activation."""
    a, b, c, inputs = make(dtype, (), m, k, n, with_c=True)
    relu = dml.DML_ACTIVATION_RELU_OPERATOR_DESC()
    desc = describe(a, b, (m, n), 0, 0, c, 0.5, 2.0, activation=relu)
    compiled = as_discrete.compile_operator(as_discrete.create_operator(desc))
    *_, before, last = [dispatch.label for dispatch in compiled.program.dispatches]
    assert before in ("gemm/shared.comp", "gemm/vector.comp", "gemm/cooperative.comp")
    assert last == "gemm/parts.comp"
    expected, terms = product(a, b, 0, 0, 0.5, c, 2.0)
    assert_sums(compiled.dispatch(inputs)["OutputTensor"], np.maximum(expected, 0.0), terms, k)


@pytest.mark.parametrize(
    "sizes, tile", [((1420, 8, 1430), (64, 128)), ((910, 12, 900), (64, 64)), ((100, 5, 100), (32, 32))]
)
def test_tiles_of_gpus(seen_as, sizes, tile):
    m, k, n = sizes
    a, b, _, inputs = make("FLOAT32", (), m, k, n)
    device = seen_as("discrete", max_workgroup_invocations=256)
    compiled = device.compile_operator(device.create_operator(describe(a, b, (m, n))))
    (dispatch,) = compiled.program.dispatches
    defines = dict(dispatch.source.defines)
    assert (defines["TILE_M"], defines["TILE_N"]) == tuple(f"{size}u" for size in tile)
    expected, terms = product(a, b, 0, 0)
    assert_sums(compiled.dispatch(inputs)["OutputTensor"], expected, terms, k)
