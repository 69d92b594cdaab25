"""What every operator description is: a frozen dataclass that knows its fields as C declares them.

A description is lenient when it is made: it takes sequences for arrays, integers for enumerators, a DML_TENSOR_DESC for
the buffer tensor inside it and a DML_OPERATOR_DESC for the operator inside it, and keeps what it cannot convert for the
validator to refuse. Only what could not be held at all is a DMLError here: a missing or unknown field, a count that
contradicts its array.
"""

from __future__ import annotations

import dataclasses
import functools
import operator as _operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, get_type_hints

import numpy as np

from .. import enums
from ..arguments import is_number
from ..enums import DML_OPERATOR_TYPE
from ..errors import DMLError
from ..tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D, DML_TENSOR_DESC

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object) -> Callable[[Any], Any]:
        return lambda decorated: decorated


Tensors = tuple[DML_BUFFER_TENSOR_DESC, ...]
_EnumClass = type[IntEnum]


@dataclass(frozen=True)
class FieldInfo:
    """One field of an operator description.

    kind: "input", "output" or "attribute". type: "tensor", "tensor_array", "uint", "int", "float", "bool",
    "uint_array", "int_array", "float_array", "operator", "operator_array", or the name of an enumeration or structure.
    optional: None is a legal value. fusable: a tensor that is None when the operator is fused into another one.
    counts: the array whose length this field is.
    """

    name: str
    kind: str
    type: str
    optional: bool = False
    fusable: bool = False
    counts: str | None = None
    enum: _EnumClass | None = None

    @property
    def is_tensor(self) -> bool:
        return self.kind != "attribute"


class OperatorDesc:
    """Base of the 177 DML_*_OPERATOR_DESC structures.

    Fields are given by keyword, or by position in C order. Arrays become tuples; counts may be left out.
    """

    OPERATOR_TYPE: ClassVar[DML_OPERATOR_TYPE]
    fields_info: ClassVar[tuple[FieldInfo, ...]]

    def inputs(self) -> Iterator[tuple[str, DML_BUFFER_TENSOR_DESC | Tensors | None]]:
        """(name, tensor, tuple of tensors or None) of each input field, in C order: the order of binding."""
        return ((info.name, getattr(self, info.name)) for info in self.fields_info if info.kind == "input")

    def outputs(self) -> Iterator[tuple[str, DML_BUFFER_TENSOR_DESC | Tensors | None]]:
        """(name, tensor, tuple of tensors or None) of each output field, in C order: the order of binding."""
        return ((info.name, getattr(self, info.name)) for info in self.fields_info if info.kind == "output")

    def replace(self: _Desc, **changes: Any) -> _Desc:
        """A copy with some fields changed; counts follow their arrays."""
        values = {info.name: getattr(self, info.name) for info in self.fields_info if info.counts is None}
        return type(self)(**{**values, **changes})


_Desc = TypeVar("_Desc", bound=OperatorDesc)
_DescClass = TypeVar("_DescClass", bound=type[OperatorDesc])

# Annotations of the fields. Attributes use plain types: int is UINT, tuple[int, ...] an array of UINT.
Input = Annotated[DML_BUFFER_TENSOR_DESC, "input"]
OptionalInput = Annotated[DML_BUFFER_TENSOR_DESC | None, "input"]
InputArray = Annotated[Tensors, "input"]
Output = Annotated[DML_BUFFER_TENSOR_DESC, "output"]
OptionalOutput = Annotated[DML_BUFFER_TENSOR_DESC | None, "output"]
OutputArray = Annotated[Tensors, "output"]
Int = Annotated[int, "int"]
UIntArray = tuple[int, ...]
IntArray = Annotated[tuple[int, ...], "int"]
FloatArray = tuple[float, ...]
OptionalScaleBias = DML_SCALE_BIAS | None
OptionalOperator = OperatorDesc | None
OperatorArray = tuple[OperatorDesc, ...]

_COUNTS = "dml.counts"
_FUSABLE = "dml.fusable"


def count_of(array: str) -> Any:
    """A field that C needs beside `array`: derived from its length, and checked against it where given."""
    return dataclasses.field(default=None, metadata={_COUNTS: array})


def fusable() -> Any:
    """A tensor that is required, but None when the operator is fused into another one."""
    return dataclasses.field(default=None, metadata={_FUSABLE: True})


_TYPE_NAMES: dict[Any, tuple[str, bool]] = {
    DML_BUFFER_TENSOR_DESC: ("tensor", False),
    DML_BUFFER_TENSOR_DESC | None: ("tensor", True),
    Tensors: ("tensor_array", False),
    int: ("uint", False),
    float: ("float", False),
    bool: ("bool", False),
    UIntArray: ("uint_array", False),
    FloatArray: ("float_array", False),
    OptionalScaleBias: ("DML_SCALE_BIAS", True),
    OptionalOperator: ("operator", True),
    OperatorArray: ("operator_array", False),
    DML_SIZE_2D: ("DML_SIZE_2D", False),
    DML_SCALAR_UNION: ("DML_SCALAR_UNION", False),
}


def _field_info(field: dataclasses.Field[Any], hint: Any) -> FieldInfo:
    note = None
    if hasattr(hint, "__metadata__"):
        hint, note = hint.__origin__, hint.__metadata__[0]
    kind = note if note in ("input", "output") else "attribute"
    counts, is_fusable = field.metadata.get(_COUNTS), bool(field.metadata.get(_FUSABLE))
    if isinstance(hint, type) and issubclass(hint, IntEnum):
        return FieldInfo(field.name, kind, hint.__name__, enum=hint)
    name, optional = _TYPE_NAMES[hint]
    if note == "int":
        name = {"uint": "int", "uint_array": "int_array"}[name]
    return FieldInfo(field.name, kind, name, optional, is_fusable, counts)


def _tensor(value: Any) -> Any:
    return value.Desc if isinstance(value, DML_TENSOR_DESC) else value


def _operator_desc(value: Any) -> Any:
    return value.Desc if isinstance(value, DML_OPERATOR_DESC) else value


def _integer(value: Any) -> Any:
    if isinstance(value, bool):
        return value  # a bool is no count or axis: the validator says so
    try:
        return _operator.index(value)
    except TypeError:
        return value


def _float(value: Any) -> Any:
    if isinstance(value, (bool, str, bytes)):
        return value
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return value


def _bool(value: Any) -> Any:
    """BOOL is an integer in C: 0 and 1 are taken, and NumPy's booleans."""
    if isinstance(value, np.bool_):
        return bool(value)
    number = _integer(value)
    return bool(number) if isinstance(number, int) and number in (0, 1) else value


def _array(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def convert_array(value: Any) -> Any:
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            return value
        return tuple(convert(item) for item in value)

    return convert_array


def _enumerator(kind: type[IntEnum]) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        try:
            return value if type(value) is kind else kind(_operator.index(value))
        except (TypeError, ValueError):
            return value

    return convert


def derive_count(desc: Any, field: str, length: int) -> None:
    """Fill in a count that was left out, and refuse one that contradicts what it counts."""
    given = getattr(desc, field)
    if given is None:
        object.__setattr__(desc, field, length)
    elif not is_number(given, length):
        raise DMLError(f"{type(desc).__name__}.{field}: must be {length}, found {given!r}")


_CONVERT: dict[str, Callable[[Any], Any]] = {
    "tensor": _tensor,
    "tensor_array": _array(_tensor),
    "operator": _operator_desc,
    "operator_array": _array(_operator_desc),
    "uint": _integer,
    "int": _integer,
    "uint_array": _array(_integer),
    "int_array": _array(_integer),
    "float": _float,
    "float_array": _array(_float),
    "bool": _bool,
}

_OPERATORS: dict[DML_OPERATOR_TYPE, type[OperatorDesc]] = {}


def operators() -> dict[DML_OPERATOR_TYPE, type[OperatorDesc]]:
    """Every operator type that can be described, and its structure, in the order of the types' values."""
    return dict(sorted(_OPERATORS.items()))


def _constructor(cls: type[OperatorDesc], fields: tuple[dataclasses.Field[Any], ...]) -> Callable[..., None]:
    names = tuple(field.name for field in fields)
    defaults = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    converters = {
        info.name: _enumerator(info.enum) if info.enum else _CONVERT.get(info.type, lambda value: value)
        for info in cls.fields_info
    }
    counts = [(info.name, info.counts) for info in cls.fields_info if info.counts]

    def __init__(self: OperatorDesc, *args: Any, **kwargs: Any) -> None:
        if len(args) > len(names):
            raise DMLError(f"{cls.__name__}: has {len(names)} fields, found {len(args)} values")
        values = dict(zip(names, args, strict=False))
        for name in kwargs:
            if name not in converters:
                raise DMLError(f"{cls.__name__}: has no field {name}")
            if name in values:
                raise DMLError(f"{cls.__name__}.{name}: given both by position and by name")
        values = {**defaults, **values, **kwargs}
        missing = [name for name in names if name not in values]
        if missing:
            raise DMLError(f"{cls.__name__}: {', '.join(missing)} must be given")
        for name in names:
            object.__setattr__(self, name, converters[name](values[name]))
        for name, array in counts:
            held = getattr(self, array)
            derive_count(self, name, len(held) if isinstance(held, tuple) else 0)

    __init__.__doc__ = f"{cls.__name__}({', '.join(names)}): by keyword, or by position in this order."
    return __init__


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(count_of, fusable))
def operator(cls: _DescClass) -> _DescClass:
    """Make a class of annotated fields an operator description, and register it under its operator type.

    Type checkers see the fields as keywords, since optional fields and counts stand before required ones in C; at run
    time positions work as well.
    """
    hints = get_type_hints(cls, include_extras=True)
    described: Any = dataclass(frozen=True, kw_only=True)(cls)
    fields = dataclasses.fields(described)
    described.fields_info = tuple(_field_info(field, hints[field.name]) for field in fields)
    described.OPERATOR_TYPE = getattr(enums, f"DML_OPERATOR_{cls.__name__[len('DML_') : -len('_OPERATOR_DESC')]}")
    described.__init__ = functools.wraps(described.__init__, assigned=("__module__", "__qualname__", "__name__"))(
        _constructor(described, fields)
    )
    _OPERATORS[described.OPERATOR_TYPE] = described
    return cls


@dataclass(frozen=True)
class DML_OPERATOR_DESC:
    """An operator type beside its description; accepted wherever the description itself is.

    Reference: dml_operator_desc.
    """

    Type: DML_OPERATOR_TYPE
    Desc: OperatorDesc

    def __post_init__(self) -> None:
        if not isinstance(self.Desc, OperatorDesc):
            raise DMLError(f"DML_OPERATOR_DESC.Desc: must be a DML_*_OPERATOR_DESC, found {self.Desc!r}")
        if not is_number(self.Type, self.Desc.OPERATOR_TYPE):
            raise DMLError(
                f"DML_OPERATOR_DESC.Type: {type(self.Desc).__name__} is of type {self.Desc.OPERATOR_TYPE.name}, "
                f"found {self.Type!r}"
            )
        object.__setattr__(self, "Type", DML_OPERATOR_TYPE(self.Type))


def unwrap(desc: OperatorDesc | DML_OPERATOR_DESC) -> OperatorDesc:
    """The operator's own description, out of a DML_OPERATOR_DESC where it is in one."""
    found = _operator_desc(desc)
    if not isinstance(found, OperatorDesc):
        raise DMLError(f"an operator description is needed, found {desc!r}")
    return found
