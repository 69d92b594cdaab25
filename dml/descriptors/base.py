"""The base of operator descriptions: a frozen dataclass with the fields that C declares.

A description takes sequences for arrays, numbers and names for enumerators, a DML_TENSOR_DESC instead of the buffer
tensor in it, and a DML_OPERATOR_DESC instead of the operator in it. A value of a wrong type, a missing or unknown
field, and a count that contradicts its array raise a DMLError at once. Whether a value is in range, and whether a
tensor may be None, depends on the operator and the feature level, so the validator checks it.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, cast

import numpy as np

from .. import enums
from ..arguments import is_number
from ..enums import DML_OPERATOR_TYPE
from ..enums.naming import short_name
from ..enums.own import OWN_OPERATOR_TYPE
from ..errors import DMLError
from ..structures import (
    HashedOnce,
    Signature,
    derive_count,
    enumerator,
    integer,
    integers,
    not_converted,
    sequence,
    structure,
)
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

    OPERATOR_TYPE: ClassVar[DML_OPERATOR_TYPE]  # an OWN_OPERATOR_TYPE if DirectML does not have the operator
    fields_info: ClassVar[tuple[FieldInfo, ...]]
    #: Names of the input and of the output fields, in C order.
    input_names: ClassVar[tuple[str, ...]]
    output_names: ClassVar[tuple[str, ...]]

    #: Fields that may hold floating-point numbers.
    number_fields: ClassVar[tuple[FieldInfo, ...]]

    #: Paragraph about the tensors for subclasses whose docstring has none.
    TENSORS: ClassVar[str] = ""

    #: Returns the values of all fields of a description.
    _values: ClassVar[attrgetter[Any]]

    # The methods that a frozen dataclass generates for each class, written once: generating them took most of the time
    # to import this package.

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self is other or bool(self._values(self) == other._values(other))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self._values(self))

    @cached_property
    def key(self) -> HashedOnce:
        """A cache key of the description. Unlike equality it distinguishes 0.0 from -0.0, and 1 from 1.0."""
        return HashedOnce((type(self), self._values(self), tuple(map(repr, _numbers(self)))))

    def __repr__(self) -> str:
        """Return the fields that are not None or counts: DML_TILE_OPERATOR_DESC(InputTensor=(FLOAT32, (1, 2)), ...)."""
        values = {info.name: getattr(self, info.name) for info in self.fields_info if info.counts is None}
        shown = (f"{name}={_shown_value(value)}" for name, value in values.items() if value is not None)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __setattr__(self, name: str, value: Any) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def inputs(self) -> Iterator[tuple[str, DML_BUFFER_TENSOR_DESC | Tensors | None]]:
        """Yield (name, tensor, tuple of tensors or None) for each input field, in C order: the order of binding."""
        return ((name, getattr(self, name)) for name in self.input_names)

    def outputs(self) -> Iterator[tuple[str, DML_BUFFER_TENSOR_DESC | Tensors | None]]:
        """Yield (name, tensor, tuple of tensors or None) for each output field, in C order: the order of binding."""
        return ((name, getattr(self, name)) for name in self.output_names)

    def replace(self: _Desc, **changes: Any) -> _Desc:
        """Return a copy with some fields changed; counts follow their arrays."""
        values = {info.name: getattr(self, info.name) for info in self.fields_info if info.counts is None}
        return type(self)(**{**values, **changes})


def each_tensor(
    fields: Iterable[tuple[str, DML_BUFFER_TENSOR_DESC | Tensors | None]],
) -> Iterator[DML_BUFFER_TENSOR_DESC | None]:
    """Yield the tensors of ``inputs()`` or ``outputs()`` one by one, in binding order; None for an absent one."""
    for _, given in fields:
        yield from given if isinstance(given, tuple) else (given,)


def _shown_value(value: Any) -> str:
    """Return a field's value as text: tensors without the structure's name, enumerators without the enumeration's."""
    if isinstance(value, DML_BUFFER_TENSOR_DESC):
        return value.in_words
    if isinstance(value, IntEnum):
        return short_name(value)
    if isinstance(value, tuple) and value and not isinstance(value[0], int | float):
        return f"[{', '.join(map(_shown_value, value))}]"
    return repr(value)


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
    """Declare C's count of ``array``: derived from its length, and checked against it where given."""
    return dataclasses.field(default=None, metadata={_COUNTS: array})


def fusable() -> Any:
    """Declare a tensor that is required, except when the operator is fused into another one."""
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


def _instance(kind: type[Any], wrapper: type[Any] | None = None) -> Callable[[Any], Any]:
    """Return a converter that accepts instances of ``kind``, directly or as the Desc of a wrapper."""

    def convert_instance(value: Any) -> Any:
        found = value.Desc if wrapper is not None and isinstance(value, wrapper) else value
        if not isinstance(found, kind):
            raise TypeError
        return found

    return convert_instance


def _operator_desc(value: Any) -> OperatorDesc:
    found = value.Desc if isinstance(value, DML_OPERATOR_DESC) else value
    if not isinstance(found, OperatorDesc):
        raise TypeError
    return found


def _float(value: Any) -> float:
    if isinstance(value, bool | str | bytes):
        raise TypeError
    try:
        return float(value)
    except OverflowError:
        return cast(float, value)  # the validator reports the number that float32 cannot hold


def _bool(value: Any) -> bool:
    """Convert C's BOOL, an integer: accepts 0, 1 and booleans, NumPy's too."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if integer(value) not in (0, 1):
        raise ValueError
    return bool(value)


_tensor = _instance(DML_BUFFER_TENSOR_DESC, DML_TENSOR_DESC)

#: Type of a field -> function that converts a value, and a description of accepted values.
_CONVERT: dict[str, tuple[Callable[[Any], Any], str]] = {
    "tensor": (_tensor, "a DML_BUFFER_TENSOR_DESC"),
    "tensor_array": (sequence(_tensor), "a sequence of DML_BUFFER_TENSOR_DESCs"),
    "operator": (_operator_desc, "an operator description"),
    "operator_array": (sequence(_operator_desc), "a sequence of operator descriptions"),
    "uint": (integer, "an integer"),
    "int": (integer, "an integer"),
    "uint_array": (integers, "a sequence of integers"),
    "int_array": (integers, "a sequence of integers"),
    "float": (_float, "a number"),
    "float_array": (sequence(_float), "a sequence of numbers"),
    "bool": (_bool, "a bool"),
    "DML_SCALE_BIAS": (_instance(DML_SCALE_BIAS), "a DML_SCALE_BIAS"),
    "DML_SIZE_2D": (_instance(DML_SIZE_2D), "a DML_SIZE_2D"),
    "DML_SCALAR_UNION": (_instance(DML_SCALAR_UNION), "a DML_SCALAR_UNION"),
}

_OPERATORS: dict[DML_OPERATOR_TYPE, type[OperatorDesc]] = {}


def operators() -> dict[DML_OPERATOR_TYPE, type[OperatorDesc]]:
    """Return every DirectML operator type and its structure, in the order of the types' values."""
    return dict(sorted(_OPERATORS.items()))


def _constructor(cls: type[OperatorDesc], fields: tuple[dataclasses.Field[Any], ...]) -> Callable[..., None]:
    names = tuple(field.name for field in fields)
    defaults = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    counts = {info.name: info.counts for info in cls.fields_info if info.counts}
    signature = Signature(cls.__name__, names, tuple(name for name in names if name not in counts), defaults)
    # whether a tensor may be None depends on the feature level; counts are derived
    plan = [
        (
            info.name,
            *((enumerator(info.enum), f"a {info.type}") if info.enum else _CONVERT[info.type]),
            info.optional or info.is_tensor or info.name in counts,
            info.enum,
        )
        for info in cls.fields_info
    ]

    def __init__(self: OperatorDesc, *args: Any, **kwargs: Any) -> None:
        values = {**defaults, **signature.bind(args, kwargs)}
        for name, converter, wanted, may_be_none, kind in plan:
            value = values[name]
            if value is not None or not may_be_none:
                try:
                    value = converter(value)
                except (TypeError, ValueError, OverflowError):
                    raise not_converted(f"{cls.__name__}.{name}", value, wanted, kind) from None
            object.__setattr__(self, name, value)
        for name, array in counts.items():
            derive_count(self, name, len(getattr(self, array) or ()), array)

    __init__.__doc__ = f"{cls.__name__}({', '.join(names)}): by name, or by position in this order."
    __init__.__module__, __init__.__qualname__ = cls.__module__, f"{cls.__qualname__}.__init__"
    __init__.__signature__ = _shown(fields)  # type: ignore[attr-defined]
    return __init__


def _shown(fields: Iterable[dataclasses.Field[Any]]) -> inspect.Signature:
    """Return a constructor's signature as ``help`` and editors show it, with keywords."""
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for field in fields:
        default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
        parameters.append(
            inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=field.type)
        )
    return inspect.Signature(parameters, return_annotation="None")


@functools.cache
def _hint(module: str, annotation: str) -> Any:
    """Evaluate an annotation in a module. Cached, because many fields share few annotations."""
    return eval(annotation, vars(sys.modules[module]))


def _hints(cls: type) -> Iterator[Any]:
    """Yield the types of all fields, those of bases first."""
    for base in reversed(cls.__mro__):
        if dataclasses.is_dataclass(base):
            yield from (_hint(base.__module__, annotation) for annotation in base.__annotations__.values())


#: Decorates base classes: the first fields that several descriptions share.
shared_fields = dataclass(init=False, repr=False, eq=False, kw_only=True)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(count_of, fusable))
def operator(cls: _DescClass) -> _DescClass:
    """Make a class of annotated fields an operator description, and register it under its operator type.

    Type checkers see the fields as keywords, because in C optional fields and counts precede required ones; at run
    time positions work as well. The docstring gets the page of DirectML's reference and, if it has one paragraph, the
    tensors of the base class.
    """
    described = _described(cls)
    text = inspect.cleandoc(cls.__doc__ or "")
    text += "" if "\n\n" in text else f"\n\n{described.TENSORS}"
    if "Reference: " not in text:
        above, last = text.rsplit("\n\n", 1)
        text = f"{above}\n\n{textwrap.fill(f'{last} Reference: {cls.__name__.lower()}.', 100)}"
    described.__doc__ = text
    described.OPERATOR_TYPE = getattr(enums, f"DML_OPERATOR_{cls.__name__[len('DML_') : -len('_OPERATOR_DESC')]}")
    _OPERATORS[described.OPERATOR_TYPE] = described
    return cls


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(count_of, fusable))
def own_operator(kind: OWN_OPERATOR_TYPE) -> Callable[[_DescClass], _DescClass]:
    """Make a description like ``operator``, for an operator that DirectML lacks: ``operators`` does not list it."""

    def describe(cls: _DescClass) -> _DescClass:
        _described(cls).OPERATOR_TYPE = kind
        return cls

    return describe


def _described(cls: type[OperatorDesc]) -> Any:
    """Add the members of every description to the class, except its operator type."""
    described: Any = shared_fields(cls)
    fields = dataclasses.fields(described)
    described.fields_info = tuple(map(_field_info, fields, _hints(described)))
    described._values = attrgetter(*(field.name for field in fields))
    described.input_names, described.output_names = (
        tuple(info.name for info in described.fields_info if info.kind == kind) for kind in ("input", "output")
    )
    described.number_fields = tuple(info for info in described.fields_info if info.type in _OF_NUMBERS)
    described.__init__ = _constructor(described, fields)
    return described


_EQUAL = "InputTensor, OutputTensor: the same sizes and data type."


@shared_fields
class UnaryDesc(OperatorDesc):
    """The first fields of an operator on each element of a tensor."""

    TENSORS = _EQUAL
    InputTensor: Input
    OutputTensor: Output


@shared_fields
class ScaledDesc(OperatorDesc):
    """The first fields of an operator on each element of a tensor, which ScaleBias scales and shifts first."""

    TENSORS = _EQUAL
    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@shared_fields
class BinaryDesc(OperatorDesc):
    """The first fields of an operator that computes each element from one element of each of two tensors."""

    TENSORS = "ATensor, BTensor, OutputTensor: the same sizes and data type."
    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@shared_fields
class ActivationDesc(OperatorDesc):
    """The first fields of an activation, which another operator may fuse: then it has no tensors."""

    TENSORS = _EQUAL
    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()


@structure(converted=("Type", "Desc"))
@dataclass(frozen=True)
class DML_OPERATOR_DESC:
    """An operator type with its description; accepted wherever the description itself is.

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


_OF_NUMBERS = frozenset({"float", "float_array", "DML_SCALE_BIAS", "operator", "operator_array"})


def _numbers(desc: OperatorDesc) -> Iterator[Any]:
    """Yield the floating-point attributes of a description."""
    for info in desc.number_fields:
        value = getattr(desc, info.name)
        if info.type == "float":
            yield value
        elif info.type == "float_array":
            yield from value
        elif isinstance(value, DML_SCALE_BIAS):
            yield value.Scale
            yield value.Bias
        elif isinstance(value, OperatorDesc):
            yield from _numbers(value)
        elif info.type == "operator_array":
            for item in value:
                yield from _numbers(item)


def unwrap(desc: OperatorDesc | DML_OPERATOR_DESC) -> OperatorDesc:
    """Return the operator's own description, unwrapped from a DML_OPERATOR_DESC if necessary."""
    found = desc.Desc if isinstance(desc, DML_OPERATOR_DESC) else desc
    if not isinstance(found, OperatorDesc):
        raise DMLError(f"an operator description is needed, found {desc!r}")
    return found
