"""Every kernel of GEMM, at sizes that do not fill its tiles."""

from __future__ import annotations

import pytest
from gemm_cases import describe, make, product

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


@pytest.mark.parametrize("m, k, n", [(1, 300, 1), (1, 33, 200), (5, 70, 1), (300, 3, 2), (15, 129, 37)])
@pytest.mark.parametrize("ta, tb", [(0, 0), (1, 1)])
def test_narrow_products_of_gpus(as_discrete, m, k, n, ta, tb):
    a, b, c, inputs = make("FLOAT32", (2,), m, k, n, ta, tb, with_c=True)
    desc = describe(a, b, (2, m, n), ta, tb, c, 0.5, 2.0)
    compiled = as_discrete.compile_operator(as_discrete.create_operator(desc))
    assert [dispatch.label for dispatch in compiled.program.dispatches] == ["gemm/narrow.comp"]
    expected, terms = product(a, b, ta, tb, 0.5, c, 2.0)
    assert_sums(compiled.dispatch(inputs)["OutputTensor"], expected, terms, k)


@pytest.mark.parametrize("sizes, tile", [((1420, 8, 1430), 128), ((516, 12, 500), 64), ((100, 5, 100), 32)])
def test_tiles_of_gpus(seen_as, sizes, tile):
    m, k, n = sizes
    a, b, _, inputs = make("FLOAT32", (), m, k, n)
    device = seen_as("discrete", max_workgroup_invocations=256)
    compiled = device.compile_operator(device.create_operator(describe(a, b, (m, n))))
    (dispatch,) = compiled.program.dispatches
    assert dict(dispatch.source.defines)["TILE_M"] == f"{tile}u"
    expected, terms = product(a, b, 0, 0)
    assert_sums(compiled.dispatch(inputs)["OutputTensor"], expected, terms, k)
