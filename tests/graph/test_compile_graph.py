"""DML_GRAPH_DESC: its rules, and that fusing, folding and removing nodes does not change results."""

from __future__ import annotations

import re

import numpy as np
import pytest

import dml
import dml.graph.operations as op
from dml.graph import Builder
from harness import tensor

T = (2, 4, 6, 6)


def operator(device, desc, name=None):
    return dml.DML_OPERATOR_GRAPH_NODE_DESC(device.create_operator(desc), name)


def relu(layout="packed", sizes=T):
    t = tensor("FLOAT32", sizes, layout)
    return dml.DML_ACTIVATION_RELU_OPERATOR_DESC(InputTensor=t, OutputTensor=t)


def add(sizes=T, dtype="FLOAT32", **flags):
    t = tensor(dtype, sizes)
    return dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(ATensor=t, BTensor=tensor(dtype, sizes, **flags), OutputTensor=t)


def scale(factor, bias=0.0, sizes=T):
    t = tensor("FLOAT32", sizes)
    return dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(
        InputTensor=t, OutputTensor=t, ScaleBias=dml.DML_SCALE_BIAS(factor, bias)
    )


def graph(nodes, inputs=(), between=(), outputs=(), output_count=None):
    """Return a DML_GRAPH_DESC. Edges: tuples of indices."""
    return dml.DML_GRAPH_DESC(
        InputCount=len({edge[0] for edge in inputs}),
        OutputCount=len(outputs) if output_count is None else output_count,
        Nodes=nodes,
        InputEdges=[dml.DML_INPUT_GRAPH_EDGE_DESC(*edge) for edge in inputs],
        IntermediateEdges=[dml.DML_INTERMEDIATE_GRAPH_EDGE_DESC(*edge) for edge in between],
        OutputEdges=[dml.DML_OUTPUT_GRAPH_EDGE_DESC(*edge) for edge in outputs],
    )


def random(seed=0, sizes=T):
    return np.random.default_rng(seed).standard_normal(sizes).astype(np.float32)


def test_a_chain_becomes_one_dispatch(device):
    nodes = [operator(device, desc) for desc in (add(), relu(), scale(2.0, 1.0))]
    desc = graph(
        nodes,
        inputs=[(0, 0, 0, "a"), (1, 0, 1, "b")],
        between=[(0, 0, 1, 0), (1, 0, 2, 0)],
        outputs=[(2, 0, 0, "y")],
    )
    a, b = random(1), random(2)
    compiled, plain = device.compile_graph(desc), device.compile_graph(desc, optimize=False)
    assert len(compiled.program.dispatches) == 1
    assert compiled.program.temporary_size == 0
    assert len(plain.program.dispatches) == 3
    expected = 2 * np.maximum(a + b, 0) + 1
    for graph_ in (compiled, plain):
        np.testing.assert_allclose(graph_.dispatch({"a": a, "b": b})["y"], expected, rtol=1e-6)
        np.testing.assert_allclose(graph_.dispatch({0: a, 1: b})["y"], expected, rtol=1e-6)


def test_a_shared_value_is_computed_once(device):
    """relu(a) feeds two additions and a graph output, so it stays a separate node."""
    nodes = [operator(device, desc) for desc in (relu(), add(), scale(3.0))]
    desc = graph(
        nodes,
        inputs=[(0, 0, 0)],
        between=[(0, 0, 1, 0), (0, 0, 1, 1), (1, 0, 2, 0)],
        outputs=[(2, 0, 0), (0, 0, 1)],
    )
    a = random()
    compiled = device.compile_graph(desc)
    result = compiled.dispatch({0: a})
    np.testing.assert_allclose(result[0], 6 * np.maximum(a, 0), rtol=1e-6)
    np.testing.assert_array_equal(result[1], np.maximum(a, 0))
    assert len(compiled.program.dispatches) == 2


@pytest.mark.parametrize("last", ["chain", "join"])
def test_graphs_are_as_deep_as_they_like(device, last):
    """In chains of hundreds of operators, element-wise ones are fused into a few kernels; others stay separate."""
    from dml.graph import operations as op
    from dml.graph.builder import Builder

    g = Builder(device)
    x = g.input("x", (1, 1, 2, 4))
    y = x
    for _ in range(400):
        y = op.relu(y) + 0.5 if last == "chain" else op.reduce(y, dml.DML_REDUCE_FUNCTION_SUM, (0,))
    compiled = g.compile({"y": op.join([y, op.softmax(y, axes=(3,))], 2)} if last == "join" else {"y": y})
    a = random(5, x.sizes)
    result = compiled.dispatch({"x": a})["y"]
    if last == "chain":
        assert 2 <= len(compiled.program.dispatches) <= 16
        np.testing.assert_allclose(result, np.maximum(a, 0) + 200, rtol=1e-5)
    else:
        np.testing.assert_array_equal(result[:, :, :2], a)


def test_one_value_for_several_outputs(device):
    desc = graph([operator(device, relu())], inputs=[(0, 0, 0)], outputs=[(0, 0, 0), (0, 0, 1)])
    a = random()
    result = device.compile_graph(desc).dispatch({0: a})
    np.testing.assert_array_equal(result[0], np.maximum(a, 0))
    np.testing.assert_array_equal(result[1], np.maximum(a, 0))


def test_constants_are_folded_once(device):
    """Nodes that depend only on constants run at initialization."""
    c = random(3)
    nodes = [dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(c.tobytes()), operator(device, relu()), operator(device, add())]
    desc = graph(nodes, inputs=[(0, 2, 0)], between=[(0, 0, 1, 0), (1, 0, 2, 1)], outputs=[(2, 0, 0)])
    compiled = device.compile_graph(desc)
    a = random(4)
    for _ in range(2):
        np.testing.assert_allclose(compiled.dispatch({0: a})[0], a + np.maximum(c, 0), rtol=1e-6)


def test_owned_inputs_are_prepared_once(device):
    """A node that depends only on owned inputs runs at initialization, not with every dispatch."""
    t, owned = tensor("FLOAT32", T), tensor("FLOAT32", T, Flags=dml.DML_TENSOR_FLAG_OWNED_BY_DML)
    # Two readers keep the relu from being fused.
    first = dml.DML_ACTIVATION_RELU_OPERATOR_DESC(InputTensor=owned, OutputTensor=t)
    nodes = [operator(device, d) for d in (first, add(), add())]
    desc = graph(
        nodes,
        inputs=[(0, 1, 0, "x"), (0, 2, 0, "x"), (1, 0, 0, "w")],
        between=[(0, 0, 1, 1), (0, 0, 2, 1)],
        outputs=[(1, 0, 0), (2, 0, 1)],
    )
    compiled = device.compile_graph(desc)
    assert len(compiled.program.dispatches) == 2
    assert len(compiled.program.adopt) == 1, "the copy of what is owned"
    assert len(compiled.program.initialize) == 1
    x, w = random(1), random(2)
    for inputs in ({"x": x, "w": w}, {"x": x + 1}, {"x": x, "w": -w}):
        result = compiled.dispatch(inputs)
    np.testing.assert_allclose(result[0], x + np.maximum(-w, 0), rtol=1e-6)
    # The full API: the initializer fills the persistent resource from the bound weights.
    again = device.compile_graph(desc)
    persistent = device.create_buffer(again.get_binding_properties().PersistentResourceSize)
    weights, inputs, outputs = device.create_buffer(w), device.create_buffer(x), device.create_buffer(2 * x.nbytes)
    initializer = device.create_operator_initializer([again])
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(initializer))

    def whole(buffer):
        return dml.DML_BUFFER_BINDING(buffer, 0, buffer.size)

    table.bind_inputs([dml.DML_BUFFER_ARRAY_BINDING([dml.DML_BUFFER_BINDING(None), whole(weights)])])
    table.bind_outputs([whole(persistent)])
    commands, recorder = device.create_command_list(), device.create_command_recorder()
    recorder.record_dispatch(commands, initializer, table)
    table.reset(dml.DML_BINDING_TABLE_DESC(again))
    table.bind_inputs([whole(inputs), None])
    size = x.nbytes
    table.bind_outputs([dml.DML_BUFFER_BINDING(outputs, 0, size), dml.DML_BUFFER_BINDING(outputs, size, size)])
    table.bind_persistent_resource(whole(persistent))
    recorder.record_dispatch(commands, again, table)
    commands.execute()
    np.testing.assert_allclose(outputs.read(np.float32, x.size).reshape(T), x + np.maximum(w, 0), rtol=1e-6)


def test_slices_and_joins_become_strides(device):
    """split -> relu of one half, identity of the other -> join: each half is written straight into the output."""
    whole, half = tensor("FLOAT32", T), tensor("FLOAT32", (2, 2, 6, 6))
    split = dml.DML_SPLIT_OPERATOR_DESC(InputTensor=whole, OutputTensors=[half, half], Axis=1)
    join = dml.DML_JOIN_OPERATOR_DESC(InputTensors=[half, half], OutputTensor=whole, Axis=1)
    nodes = [operator(device, d) for d in (split, relu(sizes=half.Sizes), scale(3.0, sizes=half.Sizes), join)]
    desc = graph(
        nodes,
        inputs=[(0, 0, 0)],
        between=[(0, 0, 1, 0), (0, 1, 2, 0), (1, 0, 3, 1), (2, 0, 3, 0)],
        outputs=[(3, 0, 0)],
    )
    compiled, plain = device.compile_graph(desc), device.compile_graph(desc, optimize=False)
    assert len(compiled.program.dispatches) == 2
    assert compiled.program.temporary_size == 0
    a = random()
    expected = np.concatenate([3 * a[:, 2:], np.maximum(a[:, :2], 0)], 1)
    for graph_ in (compiled, plain):
        np.testing.assert_allclose(graph_.dispatch({0: a})[0], expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["FLOAT16", "UINT8"])
def test_joins_of_narrow_types_are_copied(device, dtype):
    """Parts of odd sizes would share words, so the join remains a copy, with the correct result."""
    kind = dml.numpy_dtype(dml.DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{dtype}"])
    part, whole = tensor(dtype, (1, 3, 5)), tensor(dtype, (1, 6, 5))
    ident = dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(InputTensor=part, OutputTensor=part, ScaleBias=None)
    join = dml.DML_JOIN_OPERATOR_DESC(InputTensors=[part, part], OutputTensor=whole, Axis=1)
    nodes = [operator(device, d) for d in (ident, ident, join)]
    desc = graph(nodes, inputs=[(0, 0, 0), (1, 1, 0)], between=[(0, 0, 2, 0), (1, 0, 2, 1)], outputs=[(2, 0, 0)])
    a, b = (np.arange(15).reshape(1, 3, 5).astype(kind) + k for k in (0, 100))
    result = device.compile_graph(desc).dispatch({0: a, 1: b})[0]
    np.testing.assert_array_equal(result, np.concatenate([a, b], 1))


def test_a_transposing_identity_becomes_strides(device):
    """An identity that packs a transposed view is removed; its reader gets the strides."""
    sizes = (3, 5)
    seen = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (5, 3), (1, 5))
    packed = tensor("FLOAT32", (5, 3))
    ident = dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(InputTensor=seen, OutputTensor=packed, ScaleBias=None)
    nodes = [operator(device, d) for d in (relu(sizes=sizes), ident, add(sizes=(5, 3)), scale(2.0, sizes=(5, 3)))]
    desc = graph(
        nodes,
        inputs=[(0, 0, 0), (1, 2, 1)],
        between=[(0, 0, 1, 0), (1, 0, 2, 0), (2, 0, 3, 0)],
        outputs=[(3, 0, 0)],
    )
    a, b = random(1, sizes), random(2, (5, 3))
    compiled = device.compile_graph(desc)
    assert len(compiled.program.dispatches) == 2
    np.testing.assert_allclose(compiled.dispatch({0: a, 1: b})[0], 2 * (np.maximum(a, 0).T + b), rtol=1e-6)


def test_temporaries_share_memory(device):
    """A chain that cannot fuse needs two buffers at a time, not one per node."""
    nodes, between = [], []
    for k in range(8):
        # Reductions do not fuse; without reduced axes, all values have equal sizes.
        t = tensor("FLOAT32", (1, 1, 64, 64))
        desc = dml.DML_REDUCE_OPERATOR_DESC(
            Function=dml.DML_REDUCE_FUNCTION_SUM, InputTensor=t, OutputTensor=t, Axes=[0]
        )
        nodes.append(operator(device, desc))
        if k:
            between.append((k - 1, 0, k, 0))
    desc = graph(nodes, inputs=[(0, 0, 0)], between=between, outputs=[(7, 0, 0)])
    compiled = device.compile_graph(desc)
    size = 64 * 64 * 4
    assert compiled.get_binding_properties().TemporaryResourceSize <= 2 * size
    a = random(0, (1, 1, 64, 64))
    np.testing.assert_array_equal(compiled.dispatch({0: a})[0], a)


@pytest.mark.parametrize("layout", ["packed", "padded"])
def test_an_activation_joins_its_producer(device, layout):
    """Unary operators after a matrix product become its epilogue, computed in float32 with one rounding."""
    a, b, y = tensor("FLOAT32", (1, 1, 8, 16)), tensor("FLOAT32", (1, 1, 16, 12)), tensor("FLOAT32", (1, 1, 8, 12))
    gemm = dml.DML_GEMM_OPERATOR_DESC(
        ATensor=a, BTensor=b, CTensor=None, OutputTensor=y, TransA=0, TransB=0, Alpha=1.0, Beta=0.0,
        FusedActivation=None,
    )  # fmt: skip
    out = tensor("FLOAT32", y.Sizes, layout)
    last = dml.DML_ACTIVATION_TANH_OPERATOR_DESC(InputTensor=y, OutputTensor=out)
    nodes = [operator(device, d) for d in (gemm, scale(0.1, 0.5, y.Sizes), last)]
    desc = graph(nodes, inputs=[(0, 0, 0), (1, 0, 1)], between=[(0, 0, 1, 0), (1, 0, 2, 0)], outputs=[(2, 0, 0)])
    compiled, plain = device.compile_graph(desc), device.compile_graph(desc, optimize=False)
    assert len(compiled.program.dispatches) <= len(plain.program.dispatches) - 2
    x, w = random(1, a.Sizes), random(2, b.Sizes)
    expected = np.tanh((x.astype(np.float64) @ w) * 0.1 + 0.5)
    for graph_ in (compiled, plain):
        np.testing.assert_allclose(graph_.dispatch({0: x, 1: w})[0], expected, atol=1e-5)


def test_describe_names_the_nodes(device):
    nodes = [operator(device, relu(), "act"), operator(device, scale(2.0))]
    desc = graph(nodes, inputs=[(0, 0, 0)], between=[(0, 0, 1, 0)], outputs=[(1, 0, 0)])
    text = device.compile_graph(desc).describe()
    assert "node 0 (ACTIVATION_RELU 'act') + node 1 (ELEMENT_WISE_IDENTITY)" in text


BROKEN = {
    "unconnected": (
        lambda d: graph([operator(d, add())], inputs=[(0, 0, 0)], outputs=[(0, 0, 0)]),
        r"node 0 \(ELEMENT_WISE_ADD\): its input BTensor \(index 1\) is not connected",
    ),
    "twice": (
        lambda d: graph([operator(d, relu())], inputs=[(0, 0, 0), (1, 0, 0)], outputs=[(0, 0, 0)]),
        r"InputEdges\[1\]: input InputTensor of node 0 .* is already connected",
    ),
    "no such node": (
        lambda d: graph([operator(d, relu())], inputs=[(0, 3, 0)], outputs=[(0, 0, 0)]),
        r"InputEdges\[0\]: node 3 does not exist; the graph has 1 nodes",
    ),
    "no such input": (
        lambda d: graph([operator(d, relu())], inputs=[(0, 0, 1)], outputs=[(0, 0, 0)]),
        r"has 1 inputs, found input index 1",
    ),
    "no such graph input": (
        lambda d: graph([operator(d, relu())], inputs=[(2, 0, 0)], outputs=[(0, 0, 0)]),
        r"the graph has 1 inputs, found GraphInputIndex 2",
    ),
    "no such graph output": (
        lambda d: graph([operator(d, relu())], inputs=[(0, 0, 0)], outputs=[(0, 0, 1)]),
        r"the graph has 1 outputs, found GraphOutputIndex 1",
    ),
    "output unconnected": (
        lambda d: graph([operator(d, relu())], inputs=[(0, 0, 0)], outputs=[(0, 0, 0)], output_count=2),
        r"graph output 1 is not connected",
    ),
    "output twice": (
        lambda d: graph([operator(d, relu())], inputs=[(0, 0, 0)], outputs=[(0, 0, 0), (0, 0, 0)]),
        r"OutputEdges\[1\]: graph output 0 is already connected",
    ),
    "sizes": (
        lambda d: graph(
            [operator(d, relu()), operator(d, relu(sizes=(1, 2, 3, 4)))],
            inputs=[(0, 0, 0)], between=[(0, 0, 1, 0)], outputs=[(1, 0, 0)],
        ),
        r"IntermediateEdges\[0\]: node 0 .* writes 1152 bytes, node 1 .* reads 96 as InputTensor",
    ),
    "cycle": (
        lambda d: graph(
            [operator(d, add()), operator(d, relu())],
            inputs=[(0, 0, 0)], between=[(1, 0, 0, 1), (0, 0, 1, 0)], outputs=[(1, 0, 0)],
        ),
        r"cycle through node 0 \(ELEMENT_WISE_ADD\), node 1 \(ACTIVATION_RELU\)",
    ),
    "unused node": (
        lambda d: graph([operator(d, relu())] * 2, inputs=[(0, 0, 0), (0, 1, 0)], outputs=[(0, 0, 0)]),
        r"node 1 .*: none of its outputs is connected",
    ),
    "owned between": (
        lambda d: graph(
            [operator(d, relu()), operator(d, add(Flags=dml.DML_TENSOR_FLAG_OWNED_BY_DML))],
            inputs=[(0, 0, 0), (0, 1, 0)], between=[(0, 0, 1, 1)], outputs=[(1, 0, 0)],
        ),
        r"BTensor owned by DML, which must be connected to a graph input",
    ),
    "owned differently": (
        lambda d: graph(
            [operator(d, add(Flags=dml.DML_TENSOR_FLAG_OWNED_BY_DML))],
            inputs=[(0, 0, 0), (0, 0, 1)], outputs=[(0, 0, 0)],
        ),
        r"OWNED_BY_DML must be set on all inputs of graph input 0",
    ),
    "constant's size": (
        lambda d: graph(
            [dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(b"1234"), operator(d, add())],
            inputs=[(0, 1, 0)], between=[(0, 0, 1, 1)], outputs=[(1, 0, 0)],
        ),
        r"node 0 \(constant\) writes 4 bytes, node 1 .* reads 1152 as BTensor",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_rules(device, case):
    build, message = BROKEN[case]
    desc = build(device)
    with pytest.raises(dml.DMLError, match=message):
        device.compile_graph(desc)


def test_constants_need_their_feature_level(device):
    old = dml.create_device(device.vulkan.index, feature_level=dml.DML_FEATURE_LEVEL_6_1)
    nodes = [dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(b"\0" * 1152), operator(old, relu())]
    desc = graph(nodes, between=[(0, 0, 1, 0)], outputs=[(1, 0, 0)])
    with pytest.raises(dml.DMLError, match=re.escape("constant nodes need DML_FEATURE_LEVEL_6_2")):
        old.compile_graph(desc)


@pytest.mark.parametrize("kind", ["convolution", "gemm", "gru"])
def test_weights_are_laid_out_once(device, kind):
    """Kernels rearrange constant weights at initialization, not with every dispatch."""
    if kind == "gemm" and not device.vulkan.target.is_cpu:
        pytest.skip("the products of GPUs read the weights as they lie")
    from dml.graph import operations as op
    from dml.graph.builder import Builder

    rng = np.random.default_rng(0)

    def build(weights):
        """Compile the graph; ``weights(graph, array)`` makes its weights."""
        g = Builder(device)
        if kind == "convolution":
            x = g.input("x", (1, 8, 12, 12))
            y = op.convolution(x, weights(g, rng.standard_normal((8, 8, 3, 3)).astype(np.float32)))
        elif kind == "gemm":
            x = g.input("x", (64, 64))
            y = op.gemm(x, weights(g, rng.standard_normal((64, 61)).astype(np.float32)))
        else:
            x = g.input("x", (1, 5, 2, 8))
            w, r = (weights(g, rng.standard_normal((1, 1, 24, 8)).astype(np.float32)) for _ in range(2))
            y = op.gru(x, w, r)[0]
        return g.compile({"y": y}), x.sizes

    constant, sizes = build(lambda g, array: g.constant(array))
    names = iter("abc")
    given: dict[str, np.ndarray] = {}

    def fed(g, array):
        name = next(names)
        given[name] = array
        return g.input(name, array.shape)

    rng = np.random.default_rng(0)
    computed, _ = build(fed)
    assert len(constant.program.dispatches) < len(computed.program.dispatches)
    assert constant.program.initialize
    x = random(7, sizes)
    for _ in range(2):
        result = constant.dispatch({"x": x})["y"]
        np.testing.assert_allclose(result, computed.dispatch({"x": x, **given})["y"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("large", [12582912.0, 1e8])
def test_fused_sums_are_rounded_one_by_one(device, large):
    """A driver may not simplify (x + y) - y to x: adding and subtracting 1.5 * 2**23 rounds to whole numbers."""
    builder = Builder(device)
    x, y = builder.input("x", (4,)), builder.input("y", (4,))
    compiled = builder.compile({"after": op.relu((x + y) - y), "before": (x - y) + y, "negated": -(-x - y) - y})
    a, b = np.array([0.3, 1.7, 2.5, 3e38], np.float32), np.full(4, large, np.float32)
    results = compiled.dispatch({"x": a, "y": b})
    for name, expected in {"after": (a + b) - b, "before": (a - b) + b, "negated": -(-a - b) - b}.items():
        np.testing.assert_array_equal(results[name], expected)


def test_equal_infinities_have_no_difference(device):
    builder = Builder(device)
    x = builder.input("x", (4,))
    y = op.relu(x) - op.relu(x)
    compiled = builder.compile(
        {"relu": op.relu(x - x), "sum": op.minimum(x + -x, x), "doubled": (x + x) - x, "equal": y}
    )
    a = np.array([np.inf, -np.inf, np.nan, 3e38], np.float32)
    results = compiled.dispatch({"x": a})
    nothing = np.array([np.nan, np.nan, np.nan, 0], np.float32)
    doubled, equal = [np.nan, np.nan, np.nan, np.inf], [np.nan, 0, np.nan, 0]
    for name, expected in {"relu": nothing, "sum": nothing, "doubled": doubled, "equal": equal}.items():
        np.testing.assert_array_equal(results[name], expected)
