"""CAST between all pairs of data types: exact, or rounded once to nearest even into float types."""

from __future__ import annotations

import numpy as np
import pytest
from movement_cases import TYPES, like, numbers, output, run

import dml

LIMITS = {"FLOAT16": 65504.0, "FLOAT32": float(np.finfo(np.float32).max), "FLOAT64": float(np.finfo(np.float64).max)}


def numpy_type(name):
    return dml.numpy_dtype(dml.DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{name}"])


def cast_of(x, to, layout="packed", out_layout="packed"):
    return dml.DML_CAST_OPERATOR_DESC(InputTensor=like(x, layout), OutputTensor=output(to, x.shape, out_layout))


def interesting(name):
    """Return limits, halves, ties of every narrower type, subnormals, specials, and random bits."""
    kind = numpy_type(name)
    rng = np.random.default_rng(len(name))
    bits = rng.integers(0, 256, 512 * kind.itemsize, dtype=np.uint8).view(kind)
    if not name.startswith("FLOAT"):
        limits = np.iinfo(kind)
        edges = [0, 1, 2, 3, 127, 128, 129, 255, 256, 32767, 32768, 65519, 65520, 65535, 65536]
        for power in (11, 24, 31, 32, 53, 62, 63):
            edges += [2**power + k for k in (-2, -1, 0, 1, 2, 3)] + [2**power + 2 ** max(0, power - 24)]
        edges += [3 * 2**38 + 2**15, 2**60 + 2**36, 2**60 + 2**36 + 1, 2**60 - 2**36]
        edges += [-value for value in edges] + [limits.min, limits.max]
        inside = [value for value in edges if limits.min <= value <= limits.max]
        return np.concatenate([np.array(inside, kind), bits])
    edges = [0.0, 0.5, 1.0, 1.5, 2.5, 0.9999999, 127.5, 128.0, 255.9, 256.0, 32768.0, 65504.0, 65519.99, 65520.0]
    edges += [
        2.0**k for k in (-149, -150, -151, -126, -24, -25, -14, -1022, -1074, 24, 31, 32, 53, 63, 64, 100, 127, 128)
    ]
    edges += [1.5 * 2.0**-149, 1.5 * 2.0**-150, 2.0**-25 * (1 + 2.0**-20), 3 * 2.0**-25, 2.0**31 - 1, 2.0**63 - 1024]
    edges += [1 + 2.0**-24, 1 + 2.0**-24 + 2.0**-50, 1 + 3 * 2.0**-24, 1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-40]
    edges += [3.4028235677973366e38, 3.4028235e38, 2.0**-14 - 2.0**-26, np.inf, np.nan]
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.array(edges + [-value for value in edges]).astype(kind)
        near = (rng.uniform(-1, 1, 512) * 2.0 ** rng.integers(-30, 66, 512)).astype(kind)
    return np.concatenate([values, near, bits])


def expected_cast(x, to):
    """Cast exactly, through Python's integers and float64 (which holds every type but 64-bit integers)."""
    kind = numpy_type(to)
    if to.startswith("FLOAT"):
        if to == "FLOAT16" and x.dtype.kind in "iu":
            x = x.astype(np.float64)  # float64 is inexact only far beyond FLOAT16's range
        with np.errstate(over="ignore", invalid="ignore"):
            return x.astype(kind)
    limits = np.iinfo(kind)
    if x.dtype.kind in "iu":
        span = 1 << limits.bits
        wrapped = [int(value) % span for value in x]
        return np.array([value - span if value > limits.max else value for value in wrapped], kind)
    whole = [0 if np.isnan(v) else limits.max if v == np.inf else limits.min if v == -np.inf else int(v) for v in x]
    return np.array([min(max(value, limits.min), limits.max) for value in whole], kind)


@pytest.mark.parametrize("to", TYPES)
@pytest.mark.parametrize("source", TYPES)
def test_every_pair(device, source, to):
    x = interesting(source)
    result = run(device, cast_of(x, to), {"InputTensor": x})["OutputTensor"]
    expected = expected_cast(x, to)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)
    if to.startswith("FLOAT"):
        np.testing.assert_array_equal(np.signbit(result[~np.isnan(result)]), np.signbit(expected[~np.isnan(expected)]))


@pytest.mark.parametrize(
    "source, to, layout, out_layout",
    [("FLOAT32", "INT8", "padded", "reversed"), ("INT64", "FLOAT16", "reversed", "padded"),
     ("UINT8", "FLOAT64", "broadcast", "packed"), ("FLOAT16", "UINT64", "packed", "reversed"),
     ("INT16", "INT32", "reversed", "packed")],
)  # fmt: skip
def test_layouts(device, source, to, layout, out_layout):
    x = numbers(source, (3, 4, 5))
    expected = expected_cast((np.broadcast_to(x[:1], x.shape) if layout == "broadcast" else x).reshape(-1), to)
    result = run(device, cast_of(x, to, layout, out_layout), {"InputTensor": x})["OutputTensor"]
    np.testing.assert_array_equal(result, expected.reshape(x.shape))


@pytest.mark.parametrize("rank", range(1, 9))
def test_every_dimension_count(device, rank):
    x = numbers("INT8", (2, 3, 1, 2, 2, 1, 3, 4)[-rank:], rank)
    result = run(device, cast_of(x, "FLOAT16", "reversed"), {"InputTensor": x})["OutputTensor"]
    np.testing.assert_array_equal(result, x.astype(np.float16))


def test_a_fused_cast_still_rounds(device):
    """FLOAT32 to FLOAT16 and back in a graph is one dispatch, but the value has a half's precision."""
    x = numbers("FLOAT32", (3, 40))
    half = output("FLOAT16", x.shape)
    nodes = [
        dml.DML_OPERATOR_GRAPH_NODE_DESC(device.create_operator(desc))
        for desc in (cast_of(x, "FLOAT16"), dml.DML_CAST_OPERATOR_DESC(InputTensor=half, OutputTensor=like(x)))
    ]
    graph = dml.DML_GRAPH_DESC(
        InputCount=1,
        OutputCount=1,
        Nodes=nodes,
        InputEdges=[dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 0)],
        IntermediateEdges=[dml.DML_INTERMEDIATE_GRAPH_EDGE_DESC(0, 0, 1, 0)],
        OutputEdges=[dml.DML_OUTPUT_GRAPH_EDGE_DESC(1, 0, 0)],
    )
    compiled = device.compile_graph(graph)
    assert len(compiled.program.dispatches) == 1
    np.testing.assert_array_equal(compiled.dispatch({0: x})[0], x.astype(np.float16).astype(np.float32))
