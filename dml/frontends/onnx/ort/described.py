"""A model's description in onnxruntime's terms: inputs, outputs and origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

#: onnxruntime's names of data types that differ from TensorProto's in lower case.
_NAMES = {"FLOAT": "float", "DOUBLE": "double", "FLOAT16": "float16", "BFLOAT16": "bfloat16", "BOOL": "bool"}


@dataclass(frozen=True)
class NodeArg:
    """An input or output. type: ``tensor(float)``; shape: sizes, names of symbolic ones, None for unknown ones."""

    name: str
    type: str
    shape: list[int | str | None]


@dataclass(frozen=True)
class ModelMetadata:
    """A model's producer and documentation."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: dict[str, str]


def metadata(model: Any) -> ModelMetadata:
    return ModelMetadata(
        producer_name=model.producer_name,
        graph_name=model.graph.name,
        domain=model.domain,
        description=model.doc_string,
        graph_description=model.graph.doc_string,
        version=model.model_version,
        custom_metadata_map={entry.key: entry.value for entry in model.metadata_props},
    )


def described(entry: Any, sizes: Mapping[str, int]) -> NodeArg:
    """Describe an input or output. sizes: fixed values of symbolic dimensions."""
    shape: list[int | str | None] = []
    for dim in _tensor(entry.type).shape.dim:
        if dim.HasField("dim_value"):
            shape.append(dim.dim_value)
        else:
            shape.append(sizes.get(dim.dim_param, dim.dim_param) or None)
    return NodeArg(entry.name, type_name(entry.type), shape)


def _tensor(kind: Any) -> Any:
    if kind.HasField("optional_type"):
        return _tensor(kind.optional_type.elem_type)
    return kind.tensor_type


def type_name(kind: Any) -> str:
    """Return onnxruntime's name of a TypeProto."""
    if kind.HasField("sequence_type"):
        return f"seq({type_name(kind.sequence_type.elem_type)})"
    if kind.HasField("optional_type"):
        return f"optional({type_name(kind.optional_type.elem_type)})"
    if kind.HasField("map_type"):
        return f"map({_data_type(kind.map_type.key_type)},{type_name(kind.map_type.value_type)})"
    return f"tensor({_data_type(kind.tensor_type.elem_type)})"


def array_type_name(dtype: np.dtype[Any]) -> str:
    """Return onnxruntime's name of a NumPy dtype."""
    kind = onnx.TensorProto.STRING if dtype.hasobject else onnx.helper.np_dtype_to_tensor_dtype(dtype)
    return f"tensor({_data_type(kind)})"


def _data_type(number: int) -> str:
    name = str(onnx.TensorProto.DataType.Name(number))
    return _NAMES.get(name, name.lower())


def outputs_with_types(model: Any, shapes: Mapping[str, tuple[int, ...]]) -> list[Any]:
    """Return the model's outputs, with missing types inferred. shapes: the shapes of the initializers."""
    outputs = list(model.graph.output)
    if all(_is_whole(entry.type) for entry in outputs):
        return outputs
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    # An outline's initializers lack their sizes, so they become inputs with sizes.
    del whole.graph.initializer[:]
    del whole.graph.sparse_initializer[:]
    inputs = {entry.name for entry in whole.graph.input}
    for tensor in model.graph.initializer:
        if tensor.name not in inputs:
            entry = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, shapes[tensor.name])
            whole.graph.input.append(entry)
    try:
        return list(onnx.shape_inference.infer_shapes(whole).graph.output)
    except (onnx.shape_inference.InferenceError, ValueError):
        return outputs


def _is_whole(kind: Any) -> bool:
    if kind.WhichOneof("value") == "tensor_type":
        return bool(kind.tensor_type.elem_type) and kind.tensor_type.HasField("shape")
    return kind.WhichOneof("value") is not None
