"""Writes serialized graphs as ONNX Runtime's DirectML provider does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import flatbuffers

from dml.descriptors.base import FieldInfo, OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC

#: One node: a name, an operator or a constant (its bytes, or its file's name), names of inputs and of outputs.
Node = tuple[str, OperatorDesc | bytes | str, Sequence[str], Sequence[str]]


class Writer:
    def __init__(self) -> None:
        self.builder = flatbuffers.Builder()

    def table(self, **fields: tuple[str, Any]) -> int:
        """Write a table; each field is its kind ("Uint8", "Uint64" or "UOffsetTRelative") and value, None if absent."""
        self.builder.StartObject(len(fields))
        for slot, (kind, value) in enumerate(fields.values()):
            if value is not None:
                getattr(self.builder, f"Prepend{kind}Slot")(slot, value, 0)
        return int(self.builder.EndObject())

    def offsets(self, offsets: Sequence[int]) -> int:
        return self._vector(offsets, 4, self.builder.PrependUOffsetTRelative)

    def _vector(self, items: Sequence[Any], size: int, prepend: Callable[[Any], None]) -> int:
        self.builder.StartVector(size, len(items), size)
        for item in reversed(items):
            prepend(item)
        return int(self.builder.EndVector())

    def numbers(self, items: Sequence[Any], kind: str) -> int:
        return self._vector(items, 4, getattr(self.builder, f"Prepend{kind}"))

    def texts(self, items: Sequence[str]) -> int:
        return self.offsets([self.builder.CreateString(item) for item in items])

    def structure(self, kind: str, *members: Any) -> int:
        size = {"Uint64": 8, "Bool": 1, "Uint8": 1}.get(kind, 4)
        self.builder.Prep(size, size * len(members))
        for member in reversed(members):
            getattr(self.builder, f"Prepend{kind}")(member)
        return int(self.builder.Offset())

    def graph(self, nodes: Sequence[Node], inputs: Sequence[str], outputs: Sequence[str]) -> bytes:
        written = [self._node(*node) for node in nodes]
        fields = {"nodes": self.offsets(written), "inputs": self.texts(inputs), "outputs": self.texts(outputs)}
        self.builder.Finish(self.table(**{name: ("UOffsetTRelative", offset) for name, offset in fields.items()}))
        return bytes(self.builder.Output())

    def _node(self, name: str, content: Any, inputs: Sequence[str], outputs: Sequence[str]) -> int:
        kind = 1 if isinstance(content, OperatorDesc) else 2
        offset = self._operator(content) if kind == 1 else self._constant(content)
        label, names, results = self.builder.CreateString(name), self.texts(inputs), self.texts(outputs)
        return self.table(
            kind=("Uint8", kind),
            content=("UOffsetTRelative", offset),
            name=("UOffsetTRelative", label),
            inputs=("UOffsetTRelative", names),
            outputs=("UOffsetTRelative", results),
        )

    def _constant(self, content: bytes | str) -> int:
        if isinstance(content, str):
            inner, kind = self.builder.CreateString(content), 1
        else:
            inner, kind = self.builder.CreateByteVector(content), 2
        value = self.table(content=("UOffsetTRelative", inner))
        return self.table(kind=("Uint8", kind), content=("UOffsetTRelative", value))

    def _operator(self, desc: OperatorDesc) -> int:
        inputs, outputs = (
            self.offsets([self._tensor(tensor) for tensor in present(fields)])
            for fields in (desc.inputs(), desc.outputs())
        )
        kind, attributes = self.builder.CreateString(desc.OPERATOR_TYPE.name), self._attributes(desc)
        return self.table(
            kind=("UOffsetTRelative", kind),
            inputs=("UOffsetTRelative", inputs),
            outputs=("UOffsetTRelative", outputs),
            attributes=("UOffsetTRelative", attributes),
        )

    def _tensor(self, tensor: DML_BUFFER_TENSOR_DESC) -> int:
        kind, sizes = self.builder.CreateString(tensor.DataType.name), self.numbers(tensor.Sizes, "Uint32")
        strides = None if tensor.Strides is None else self.numbers(tensor.Strides, "Uint32")
        return self.table(
            kind=("UOffsetTRelative", kind),
            sizes=("UOffsetTRelative", sizes),
            strides=("UOffsetTRelative", strides),
            total=("Uint64", tensor.TotalTensorSizeInBytes),
        )

    def _attributes(self, desc: OperatorDesc) -> int:
        infos = [info for info in desc.fields_info if not info.is_tensor]
        return self.offsets([self._attribute(info, getattr(desc, info.name)) for info in infos])

    def _attribute(self, info: FieldInfo, value: Any) -> int:
        kind, write = _KINDS.get(info.type, _KINDS["uint"])
        # An absent array is an empty one; other absent attributes have neither a name nor a value.
        if value is None and info.type.endswith("_array") and info.type != "operator_array":
            value = ()
        offset = None if value is None else write(self, value)
        name = None if value is None else self.builder.CreateString(info.name)
        return self.table(name=("UOffsetTRelative", name), kind=("Uint8", kind), value=("UOffsetTRelative", offset))

    def _activation(self, desc: OperatorDesc) -> int:
        kind, attributes = self.builder.CreateString(desc.OPERATOR_TYPE.name), self._attributes(desc)
        return self.table(kind=("UOffsetTRelative", kind), attributes=("UOffsetTRelative", attributes))

    def _in_a_table(self, offset: int) -> int:
        return self.table(data=("UOffsetTRelative", offset))

    def _scalar(self, data: bytes) -> int:
        inner = self.structure("Uint8", *data)
        return self.table(kind=("Uint8", 1), data=("UOffsetTRelative", inner))


#: Type of a field -> kind of its value, and function that writes it. Enumerators and BOOL are UINT32.
_KINDS: Mapping[str, tuple[int, Callable[[Writer, Any], int]]] = {
    "operator": (1, Writer._activation),
    "operator_array": (2, lambda to, value: to._in_a_table(to.offsets([to._activation(item) for item in value]))),
    "uint": (3, lambda to, value: to.structure("Uint32", int(value))),
    "int": (5, lambda to, value: to.structure("Int32", value)),
    "float": (6, lambda to, value: to.structure("Float32", value)),
    "uint_array": (7, lambda to, value: to._in_a_table(to.numbers(value, "Uint32"))),
    "int_array": (8, lambda to, value: to._in_a_table(to.numbers(value, "Int32"))),
    "float_array": (9, lambda to, value: to._in_a_table(to.numbers(value, "Float32"))),
    "DML_SCALE_BIAS": (10, lambda to, value: to.structure("Float32", value.Scale, value.Bias)),
    "DML_SIZE_2D": (11, lambda to, value: to.structure("Uint32", value.Width, value.Height)),
    "DML_SCALAR_UNION": (12, lambda to, value: to._scalar(bytes(value.Bytes))),
}


def present(fields: Any) -> list[DML_BUFFER_TENSOR_DESC]:
    """Return an operator's tensors in one list: arrays flattened, absent tensors left out."""
    found: list[DML_BUFFER_TENSOR_DESC] = []
    for _, tensor in fields:
        found += tensor if isinstance(tensor, tuple) else () if tensor is None else (tensor,)
    return found


def names(fields: Any, prefix: str) -> list[str]:
    """Name an operator's tensors; absent ones are empty."""
    found = []
    for name, tensor in fields:
        for index in range(len(tensor)) if isinstance(tensor, tuple) else [0]:
            found.append("" if tensor is None else f"{prefix}{name}{index}")
    return found
