"""Answer a test file's calls of WebNN by dml.frontends.webnn, with values converted from and to JavaScript."""

from __future__ import annotations

import base64
import inspect
import re
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import ml_dtypes  # noqa: F401  # registers its types with NumPy
import numpy as np

import dml
from dml.errors import HRESULT, DMLError
from dml.frontends.webnn import (
    MLContext,
    MLGraphBuilder,
    MLOperand,
    MLOperandDescriptor,
    MLTensorDescriptor,
    create_context,
)
from dml.frontends.webnn.data import to_bytes
from dml.frontends.webnn.steps import OperationBuilder
from tools.webnn_suite.drafts import in_todays_words

#: JavaScript's names that break the rule of ``camel``.
_CAMEL = {"gather_nd": "gatherND", "scatter_nd": "scatterND", "is_nan": "isNaN"}
#: Options by their names in older copies of the suite.
_OLDER_OPTIONS = {"rounding_type": "output_shape_rounding"}
_VIEWS = {
    "Float32Array": np.float32,
    "Float16Array": np.float16,
    "Int32Array": np.int32,
    "Uint32Array": np.uint32,
    "BigInt64Array": np.int64,
    "BigUint64Array": np.uint64,
    "Int16Array": np.int16,
    "Uint16Array": np.float16,  # the bits of half floats, where JavaScript lacks Float16Array
    "Int8Array": np.int8,
    "Uint8Array": np.uint8,
}


class JavaScriptObject:
    """A JavaScript value that is invalid as any argument of WebNN."""


def camel(name: str) -> str:
    """Turn conv_transpose2d into convTranspose2d."""
    return _CAMEL.get(name) or re.sub(r"_([a-z0-9])", lambda found: found[1].upper(), name)


def snake(name: str) -> str:
    """Turn convTranspose2d into conv_transpose2d."""
    return re.sub(r"(?<=[a-z0-9])([A-Z]+)", r"_\1", name).lower()


def _operations() -> dict[str, str]:
    """Return Python's names of operations by JavaScript's."""
    own = set(dir(OperationBuilder)) | {"input", "constant", "build"}
    return {camel(name): name for name in dir(MLGraphBuilder) if not name.startswith("_") and name not in own}


class Answers:
    """The objects that one test file holds, and the calls that it may make."""

    def __init__(self, device: dml.Device) -> None:
        self._device = device
        self._objects: list[Any] = []
        self._constants: dict[MLOperand, Any] = {}
        self._operations = _operations()

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the value of a call, or the JavaScript error that it throws."""
        try:
            method: Callable[..., Any] = getattr(self, f"_call_{message['call']}")
            return {"value": method(*map(self._decode, message["values"]))}
        except DMLError as error:
            lost = error.hresult == HRESULT.DXGI_ERROR_INVALID_CALL
            return {"error": "InvalidStateError" if lost else "TypeError", "message": error.message}

    def close(self) -> None:
        """Free the objects that the file created."""
        for one in self._objects:
            if isinstance(one, MLContext):
                one.destroy()
        self._objects.clear()
        self._constants.clear()

    def _keep(self, value: Any) -> int:
        self._objects.append(value)
        return len(self._objects) - 1

    def _decode(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "handle" in value:
            return self._objects[value["handle"]]
        if "bigint" in value:
            return int(value["bigint"])
        if "number" in value:
            return float(value["number"].replace("Infinity", "inf"))
        if "data" in value:
            data = base64.b64decode(value["data"])
            if value["type"] not in _VIEWS:
                return data
            return np.frombuffer(data, _VIEWS[value["type"]])
        if "object" in value:
            return {key: self._decode(item) for key, item in value["object"].items()}
        return JavaScriptObject()

    def _call_operations(self) -> list[str]:
        return list(self._operations)

    def _call_context(self, options: dict[str, Any]) -> dict[str, Any]:
        known = {"power_preference": options.get("powerPreference"), "accelerated": options.get("accelerated")}
        context = create_context(self._device, **{key: item for key, item in known.items() if item is not None})
        return {"id": self._keep(context), "limits": _limits(context)}

    def _call_builder(self, context: MLContext) -> int:
        return self._keep(MLGraphBuilder(context))

    def _call_create_tensor(self, context: MLContext, descriptor: dict[str, Any]) -> int:
        return self._keep(context.create_tensor(_descriptor(MLTensorDescriptor, descriptor)))

    def _call_create_constant_tensor(self, context: MLContext, descriptor: dict[str, Any], data: Any) -> int:
        return self._keep(context.create_constant_tensor(_descriptor(MLOperandDescriptor, descriptor), data))

    def _call_write_tensor(self, context: MLContext, tensor: Any, data: Any) -> None:
        context.write_tensor(tensor, _bytes(data))

    def _call_read_tensor(self, context: MLContext, tensor: Any) -> str:
        return base64.b64encode(to_bytes(context.read_tensor(tensor)).tobytes()).decode()

    def _call_dispatch(self, context: MLContext, graph: Any, inputs: Any, outputs: Any) -> None:
        context.dispatch(graph, inputs, outputs)

    def _call_destroy(self, one: Any) -> None:
        one.destroy()

    def _call_input(self, builder: MLGraphBuilder, name: str, descriptor: dict[str, Any]) -> dict[str, Any]:
        return self._operand(builder.input(name, _descriptor(MLOperandDescriptor, descriptor)))

    def _call_constant(self, builder: MLGraphBuilder, what: Any, value: Any = None) -> dict[str, Any]:
        first = _descriptor(MLOperandDescriptor, what) if isinstance(what, dict) else what
        made = builder.constant(first, value)
        self._constants[made] = value
        return self._operand(made)

    def _call_build(self, builder: MLGraphBuilder, outputs: dict[str, Any]) -> int:
        return self._keep(builder.build(outputs))

    def _call_operation(self, builder: MLGraphBuilder, name: str, values: list[Any]) -> Any:
        try:
            return self._called(builder, name, values)
        except DMLError:
            today = in_todays_words(builder, name, values, self._constants)
            if today is None:
                raise
            return self._called(builder, name, today)

    def _called(self, builder: MLGraphBuilder, name: str, values: list[Any]) -> Any:
        method = getattr(builder, self._operations[name])
        parameters = inspect.signature(method).parameters
        positional = [one for one in parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
        options: dict[str, Any] = {}
        if len(values) > len(positional) and isinstance(values[len(positional)], dict):
            given = {snake(key): item for key, item in values[len(positional)].items() if item is not None}
            given = {_OLDER_OPTIONS.get(key, key): item for key, item in given.items()}
            options = {key: item for key, item in given.items() if key in parameters}  # WebIDL ignores unknown members
        if len(values) < len(positional):
            # Pad missing arguments with invalid objects, so that errors of the operands, checked first, are still
            # reported
            values = values + [JavaScriptObject()] * (len(positional) - len(values))
        made = method(*values[: len(positional)], **options)
        return [self._operand(one) for one in made] if isinstance(made, list) else self._operand(made)

    def _operand(self, operand: MLOperand) -> dict[str, Any]:
        return {"id": self._keep(operand), "dataType": operand.data_type, "shape": list(operand.shape)}


def _descriptor(cls: Any, given: dict[str, Any]) -> Any:
    known = inspect.signature(cls).parameters
    return cls(**{snake(key): item for key, item in given.items() if snake(key) in known and item is not None})


def _bytes(data: Any) -> Any:
    """Return arrays as bytes: the suite also writes views of types other than the tensor's, which WebNN allows."""
    return data.tobytes() if isinstance(data, np.ndarray) else data


def _limits(context: MLContext) -> dict[str, Any]:
    """Return MLOpSupportLimits with JavaScript's names."""

    def named(value: Any) -> Any:
        if isinstance(value, dict):
            return {camel(key): named(item) for key, item in value.items()}
        return value

    return {
        camel(name): named(asdict(limits)) if hasattr(limits, "data_types")
        else {camel(key): named(asdict(one)) for key, one in limits.items()} if isinstance(limits, dict)
        else limits
        for name, limits in context.op_support_limits().items()
    }  # fmt: skip
