"""Build small ONNX models, and run them in onnxruntime and onnx's reference."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator

Array = npt.NDArray[Any]
#: An IR version that every supported ONNX Runtime reads.
IR_VERSION = 10


def model_of(
    nodes: Sequence[Any],
    inputs: Mapping[str, Array],
    outputs: Sequence[str],
    version: int,
    *,
    symbolic: bool = False,
    initializers: Mapping[str, Array] | None = None,
    domains: Mapping[str, int] | None = None,
    ranks: Mapping[str, int] | None = None,
) -> Any:
    """Return a model of nodes whose inputs have the arrays' types and shapes. symbolic: sizes are symbols. Outputs
    whose types cannot be inferred get the first input's, with the rank in ``ranks`` if given."""

    def entry(name: str, array: Array, *, symbolic: bool = symbolic) -> Any:
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        shape = [f"{name}_{index}" for index in range(array.ndim)] if symbolic else list(array.shape)
        return helper.make_tensor_value_info(name, kind, shape)

    constants = initializers or {}
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()]
    large = {name: array for name, array in constants.items() if array.size > 1024}
    # Inference copies values twice; of large constants it needs only the types
    graph = helper.make_graph(
        list(nodes),
        "test",
        [entry(name, array) for name, array in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [tensor for tensor in tensors if tensor.name not in large],
        value_info=[entry(name, array, symbolic=False) for name, array in large.items()],
    )
    imports = [helper.make_opsetid("", version)]
    imports += [helper.make_opsetid(domain, number) for domain, number in (domains or {}).items()]
    model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION))
    del model.graph.initializer[:]
    model.graph.initializer.extend(tensors)
    first = next(iter(inputs.values()))
    kind = helper.np_dtype_to_tensor_dtype(first.dtype)
    for output in model.graph.output:
        if not output.type.tensor_type.HasField("shape") and not output.type.HasField("sequence_type"):
            names = [f"{output.name}_{index}" for index in range((ranks or {}).get(output.name, first.ndim))]
            output.CopyFrom(helper.make_tensor_value_info(output.name, kind, names))
    return model


def node_model(
    op: str,
    inputs: Mapping[str, Array | None],
    outputs: Mapping[str, tuple[int, npt.DTypeLike]],
    *,
    domain: str = "com.microsoft",
    version: int = 17,
    constants: Sequence[str] = (),
    **attributes: Any,
) -> tuple[Any, dict[str, Array]]:
    """Return a model of one node, and its inputs by name. inputs: None for an omitted one. outputs: name -> (rank,
    dtype). constants: inputs that become initializers."""
    names = [name if array is not None else "" for name, array in inputs.items()]
    present = {name: array for name, array in inputs.items() if array is not None}
    given = {name: array for name, array in present.items() if name not in constants}
    node = helper.make_node(op, names, list(outputs), domain=domain, **attributes)
    model = model_of(
        [node], given, list(outputs), version,
        initializers={name: present[name] for name in constants},
        domains={domain: 1} if domain else {},
        ranks={name: rank for name, (rank, _) in outputs.items()},
    )  # fmt: skip
    for entry in model.graph.output:
        entry.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(outputs[entry.name][1]))
    return model, given


def in_onnxruntime(model: Any, inputs: Mapping[str, Array]) -> list[Array]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found: list[Array] = session.run(None, dict(inputs))
    return found


def in_reference(model: Any, inputs: Mapping[str, Array]) -> list[Array]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: list[Array] = ReferenceEvaluator(model).run(None, dict(inputs))
    return found


def assert_close(found: Sequence[Any], expected: Sequence[Any], tolerance: float) -> None:
    """Assert equal shapes and types, and values within the tolerance (absolute and relative)."""
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=tolerance, atol=tolerance)
