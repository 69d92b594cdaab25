"""Write the stubs of dml for type checkers and editors: constructors' signatures, and every enumerator's name.

    python -m tools.constructor_signatures

A description accepts more types than its fields hold (lists for tuples, names for enumerators), by keyword and by
position in two orders; a dataclass cannot express that. Run this after a change of a structure or an enumeration.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from enum import EnumMeta
from pathlib import Path
from types import ModuleType

import dml.descriptors as descriptors
from dml import enums
from dml.descriptors.base import FieldInfo, OperatorDesc

ROOT = Path(__file__).parents[1]
#: Field type -> the type that the field holds, and the type that the constructor accepts.
_TYPES: dict[str, tuple[str, str]] = {
    "tensor": ("DML_BUFFER_TENSOR_DESC", "AnyTensor"),
    "tensor_array": ("tuple[DML_BUFFER_TENSOR_DESC, ...]", "Iterable[AnyTensor]"),
    "operator": ("OperatorDesc", "AnyOperator"),
    "operator_array": ("tuple[OperatorDesc, ...]", "Iterable[AnyOperator]"),
    "uint": ("int", "SupportsIndex"),
    "int": ("int", "SupportsIndex"),
    "uint_array": ("tuple[int, ...]", "Integers"),
    "int_array": ("tuple[int, ...]", "Integers"),
    "float": ("float", "Number"),
    "float_array": ("tuple[float, ...]", "Numbers"),
    "bool": ("bool", "Truth"),
}
_WRITTEN = "# Written by tools/constructor_signatures.py; do not edit.\n"
_HEAD = """\
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, overload

from dml import enums as e
from dml.descriptors.accepted import AnyOperator, AnyTensor, Integers, Named, Number, Numbers, Truth
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D
"""


def stubs() -> dict[Path, str]:
    """Return path -> text of every stub."""
    found = {_path_of(module): _stub_of(module) for module in _modules()}
    return {**found, _path_of(importlib.import_module("dml.enums.enumerators")): _enumerators()}


def _enumerators() -> str:
    """Return the stub that names every enumerator."""
    kinds = [kind for name, kind in vars(enums).items() if name.startswith("DML_") and isinstance(kind, EnumMeta)]
    imports = [f"from {kind.__module__} import {kind.__name__}" for kind in kinds]
    names = [f"{name}: {kind.__name__}" for kind in kinds for name in kind.__members__]
    return _WRITTEN + "\n".join([*imports, "", *names, ""])


def _modules() -> Iterator[ModuleType]:
    """Yield the modules that define descriptions."""
    for found in pkgutil.walk_packages(descriptors.__path__, descriptors.__name__ + "."):
        module = importlib.import_module(found.name)
        if not found.ispkg and any(True for _ in _classes(module)):
            yield module


def _stub_of(module: ModuleType) -> str:
    """Return the text of a module's stub."""
    aliases = [f"{name} = {cls.__name__}" for name, cls in _named(module) if name != cls.__name__]
    text = _WRITTEN + "\n".join([_HEAD, *map(_class, _classes(module)), *aliases])
    return text.rstrip() + "\n"


def _path_of(module: ModuleType) -> Path:
    assert module.__file__ is not None
    return Path(module.__file__).with_suffix(".pyi")


def _named(module: ModuleType) -> Iterator[tuple[str, type[OperatorDesc]]]:
    """Return a module's descriptions by their names in it."""
    for name, value in vars(module).items():
        if isinstance(value, type) and issubclass(value, OperatorDesc) and "fields_info" in vars(value):
            yield name, value


def _classes(module: ModuleType) -> Iterator[type[OperatorDesc]]:
    return (cls for name, cls in _named(module) if name == cls.__name__)


def _class(cls: type[OperatorDesc]) -> str:
    fields = [f"    {info.name}: {_stored_type(info)}" for info in cls.fields_info]
    head = "@dataclass(init=False, repr=False, eq=False, frozen=True)"
    return "\n".join([head, f"class {cls.__name__}(OperatorDesc):", *fields, *_constructors(cls), ""])


def _stored_type(info: FieldInfo) -> str:
    held = f"e.{info.type}" if info.enum else _TYPES.get(info.type, (info.type, info.type))[0]
    return f"{held} | None" if info.optional else held


def _parameter(info: FieldInfo, *, given: bool) -> str:
    """Return one parameter of the constructor. given: without a default."""
    accepted = f"e.{info.type} | Named" if info.enum else _TYPES.get(info.type, (info.type, info.type))[1]
    may_be_none = info.optional or info.fusable or info.counts is not None
    default = "" if given else " = ..."
    return f"{info.name}: {accepted}{' | None' if may_be_none else ''}{default}"


def _has_default(info: FieldInfo) -> bool:
    return info.optional or info.fusable or info.counts is not None


def _constructors(cls: type[OperatorDesc]) -> list[str]:
    """Return the signatures: keywords after the first required fields; positions without counts; positions as in C."""
    fields = list(cls.fields_info)
    short = [info for info in fields if info.counts is None]
    found = [_by_keyword(fields), _by_position(short), _by_position(fields)]
    signatures = list(dict.fromkeys(found))
    if len(signatures) == 1:
        return [f"    def __init__({signatures[0]}) -> None: ..."]
    return [line for one in signatures for line in ("    @overload", f"    def __init__({one}) -> None: ...")]


def _by_keyword(fields: list[FieldInfo]) -> str:
    leading = next((index for index, info in enumerate(fields) if _has_default(info)), len(fields))
    if all(map(_has_default, fields[leading:])):
        return _by_position(fields)
    later = sorted(fields[leading:], key=_has_default)
    parts = [*(_parameter(info, given=True) for info in fields[:leading]), "*"]
    return ", ".join(["self", *parts, *(_parameter(info, given=not _has_default(info)) for info in later)])


def _by_position(fields: list[FieldInfo]) -> str:
    """Return the parameters by position; those after the last required field have defaults."""
    last = max((index for index, info in enumerate(fields) if not _has_default(info)), default=-1)
    return ", ".join(["self", *(_parameter(info, given=index <= last) for index, info in enumerate(fields))])


def main() -> None:
    for path, text in stubs().items():
        path.write_text(text, "utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
