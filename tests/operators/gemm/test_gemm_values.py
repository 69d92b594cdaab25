"""GEMM against float64 NumPy: transposes, batches, layouts, C, scalars, fused activations, every kernel."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from harness import LAYOUTS, like, random, run, tensor


def product(a, b, ta, tb, alpha=1.0, c=None, beta=0.0):
    """The result in float64, and the sum of the magnitudes of its terms."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    a, b = a.swapaxes(-1, -2) if ta else a, b.swapaxes(-1, -2) if tb else b
    result, terms = alpha * (a @ b), abs(alpha) * (abs(a) @ abs(b))
    if c is not None:
        result, terms = result + beta * c.astype(np.float64), terms + abs(beta * c.astype(np.float64))
    return result, terms


def assert_sums(result, expected, terms, k, factor=1.0):
    """Each addition and product may be off by half an ulp of float32; a float16 result rounds once more.

    factor: the largest slope of what is applied to the sum.
    """
    assert result.shape == expected.shape
    allowed = (k + 6) * 2.0**-24 * terms * factor + 4 * 2.0**-24 * abs(expected)
    if result.dtype == np.float16:
        allowed = allowed + 2.0**-11 * abs(expected) + 2.0**-25
    excess = abs(result.astype(np.float64) - expected) - allowed
    assert np.all(excess <= 0), (float(excess.max()), np.unravel_index(excess.argmax(), excess.shape))


def describe(a, b, out_sizes, ta=0, tb=0, c=None, alpha=1.0, beta=0.0, layouts=("packed",) * 4, activation=None):
    dtype = "FLOAT16" if a.dtype == np.float16 else "FLOAT32"
    return dml.DML_GEMM_OPERATOR_DESC(
        ATensor=like(a, layouts[0]),
        BTensor=like(b, layouts[1]),
        CTensor=None if c is None else like(c, layouts[2]),
        OutputTensor=tensor(dtype, out_sizes, layouts[3]),
        TransA=ta,
        TransB=tb,
        Alpha=alpha,
        Beta=beta,
        FusedActivation=activation,
    )


def make(dtype, batch, m, k, n, ta=0, tb=0, with_c=False, seed=0):
    rng = np.random.default_rng(seed)
    a = random(rng, dtype, (*batch, *((k, m) if ta else (m, k))))
    b = random(rng, dtype, (*batch, *((n, k) if tb else (k, n))))
    c = random(rng, dtype, (*batch, m, n)) if with_c else None
    inputs = {"ATensor": a, "BTensor": b}
    if c is not None:
        inputs["CTensor"] = c
    return a, b, c, inputs


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("ta", [0, 1])
@pytest.mark.parametrize("tb", [0, 1])
@pytest.mark.parametrize(
    "batch, m, k, n",
    [((), 5, 7, 9), ((3,), 1, 16, 40), ((2, 3), 17, 12, 1), ((2, 1), 36, 36, 68), ((), 33, 35, 34)],
)
def test_transposes_types_and_dimensions(device, dtype, ta, tb, batch, m, k, n):
    a, b, c, inputs = make(dtype, batch, m, k, n, ta, tb, with_c=(m + n) % 2 == 0)
    desc = describe(a, b, (*batch, m, n), ta, tb, c, alpha=0.75, beta=-1.5)
    expected, terms = product(a, b, ta, tb, 0.75, c, -1.5)
    assert_sums(run(device, desc, inputs)["OutputTensor"], expected, terms, k)


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("sizes", [(6, 10, 7), (36, 33, 40)])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("other", ["padded", "nhwc"])
def test_layouts(device, dtype, sizes, layout, other):
    m, k, n = sizes
    a, b, c, inputs = make(dtype, (2, 3), m, k, n, with_c=True)
    desc = describe(a, b, (2, 3, m, n), c=c, alpha=1.0, beta=1.0, layouts=(layout, other, layout, other))
    expected, terms = product(a, b, 0, 0, 1.0, c, 1.0)
    assert_sums(run(device, desc, inputs)["OutputTensor"], expected, terms, k)


@pytest.mark.parametrize("strides", [(0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0), (0, 35, 0, 1), (35, 0, 7, 1)])
def test_c_broadcasts_by_strides(device, strides):
    a, b, _, inputs = make("FLOAT32", (2, 3), 5, 4, 7)
    full = np.random.default_rng(1).uniform(-4, 4, 200).astype(np.float32)
    sizes = (2, 3, 5, 7)
    where = sum(np.indices(sizes)[d] * strides[d] for d in range(4))
    c = full[where]
    desc = describe(a, b, sizes, beta=2.0).replace(
        CTensor=dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, sizes, strides)
    )
    expected, terms = product(a, b, 0, 0, 1.0, c, 2.0)
    assert_sums(run(device, desc, {**inputs, "CTensor": c})["OutputTensor"], expected, terms, 4)


@pytest.mark.parametrize("m", [3, 40])
def test_a_and_b_broadcast_over_the_batch(device, m):
    rng = np.random.default_rng(2)
    a, b = random(rng, "FLOAT32", (m, 12)), random(rng, "FLOAT32", (12, 36))
    four = (4, 2)
    desc = describe(a, b, (m, 36)).replace(
        ATensor=dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (*four, m, 12), (0, 0, 12, 1)),
        BTensor=dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (*four, 12, 36), (0, 0, 36, 1)),
        OutputTensor=tensor("FLOAT32", (*four, m, 36)),
    )
    inputs = {"ATensor": np.broadcast_to(a, (*four, m, 12)), "BTensor": np.broadcast_to(b, (*four, 12, 36))}
    expected, terms = product(a, b, 0, 0)
    result = run(device, desc, inputs)["OutputTensor"]
    assert_sums(result, np.broadcast_to(expected, result.shape), terms, 12)


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


ACTIVATIONS = [
    (dml.DML_ACTIVATION_RELU_OPERATOR_DESC(), lambda x: np.maximum(x, 0), 1),
    (dml.DML_ACTIVATION_SIGMOID_OPERATOR_DESC(), lambda x: 1 / (1 + np.exp(-x)), 1),
    (dml.DML_ACTIVATION_TANH_OPERATOR_DESC(), np.tanh, 1),
    (dml.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC(Alpha=0.5), lambda x: np.where(x < 0, 0.5 * x, x), 1),
    (dml.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC(Min=-1.0, Max=2.0), lambda x: np.clip(x, -1, 2), 1),
]


@pytest.mark.parametrize("activation, reference, slope", ACTIVATIONS, ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_fused_activation(device, activation, reference, slope, dtype):
    a, b, c, inputs = make(dtype, (), 6, 5, 12, with_c=True)
    desc = describe(a, b, (6, 12), c=c, alpha=0.25, beta=0.5, activation=activation)
    expected, terms = product(a, b, 0, 0, 0.25, c, 0.5)
    assert_sums(run(device, desc, inputs)["OutputTensor"], reference(expected), terms, 5, slope)


def test_infinities_and_nan_stay_in_their_rows(device):
    a, b, _, inputs = make("FLOAT32", (), 9, 6, 11)
    a[3, 2], a[5, 1] = np.inf, np.nan
    b[2, 4] = -1.0
    result = run(device, describe(a, b, (9, 11)), inputs)["OutputTensor"]
    with np.errstate(invalid="ignore"):
        expected = a.astype(np.float64) @ b
    assert np.array_equal(np.isnan(result), np.isnan(expected))
    assert np.array_equal(np.isposinf(result), np.isposinf(expected))
    assert np.array_equal(np.isneginf(result), np.isneginf(expected))


def test_c_is_not_read_when_beta_is_zero(device):
    a, b, c, inputs = make("FLOAT32", (), 4, 4, 4, with_c=True)
    c[:] = np.nan
    expected, terms = product(a, b, 0, 0)
    desc = describe(a, b, (4, 4), c=c, beta=0.0)
    assert_sums(run(device, desc, inputs)["OutputTensor"], expected, terms, 4)


@pytest.mark.parametrize("axes", [None, (1,), (0, 2)])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_fused_softmax(device, axes, dtype):
    a, b, c, inputs = make(dtype, (2,), 6, 5, 9, with_c=True)
    if axes is None:
        activation = dml.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC()
    else:
        activation = dml.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC(Axes=axes)
    desc = describe(a, b, (2, 6, 9), c=c, alpha=0.25, beta=1.0, activation=activation)
    sums, terms = product(a, b, 0, 0, 0.25, c, 1.0)
    over = (2,) if axes is None else axes
    expected = np.exp(sums - sums.max(over, keepdims=True))
    expected /= expected.sum(over, keepdims=True)
    result = run(device, desc, inputs)["OutputTensor"]
    # A sum's error is a relative error of its exponential; the exponential and the quotient add a few ulp.
    relative = 2 * 11 * 2.0**-24 * terms.max() + 16 * 2.0**-24
    allowed = relative * expected + (2.0**-11 * expected + 2.0**-25 if dtype == "FLOAT16" else 1e-30)
    assert np.all(abs(result - expected) <= allowed)
