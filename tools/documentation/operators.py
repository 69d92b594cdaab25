"""A page for each operator: fields, what feature levels accept, rule, lowering, kernels and an example that runs."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import dml
from dml.capability import (
    OperatorSupport,
    operator_introduced,
    operator_support,
    same_properties,
    short_name,
    supports_in_place,
)
from dml.compiler.lowering import compile_operator, lowering_of
from dml.compiler.program import Program
from dml.compiler.target import DeviceClass, Target
from dml.descriptors.base import FieldInfo, OperatorDesc
from dml.validator.base import rule_of
from tools.documentation.examples import example
from tools.documentation.markdown import code, escaped, table, target

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))  # the samples are a module of the tests, which are no package

from sample_descriptors import NAMES, sample  # noqa: E402

#: What a page compiles its sample for: a CPU's driver, and a GPU that promises no more than Vulkan 1.1.
TARGETS = {"CPU": Target(DeviceClass.CPU), "GPU": Target(DeviceClass.DISCRETE, subgroup_size=32)}


def desc_class(name: str) -> type[OperatorDesc]:
    return dml.operators()[dml.DML_OPERATOR_TYPE[f"DML_OPERATOR_{name}"]]


def names() -> list[str]:
    """Every operator, by its type's value."""
    return list(NAMES)


def family(name: str) -> str:
    """The room of an operator: the module or package of its structure."""
    return desc_class(name).__module__.removeprefix("dml.descriptors.").partition(".")[0]


def families() -> dict[str, list[str]]:
    """Family -> its operators, both by name."""
    found: dict[str, list[str]] = {}
    for name in names():
        found.setdefault(family(name), []).append(name)
    return {room: sorted(held) for room, held in sorted(found.items())}


def page(name: str) -> str:
    """The page of one operator, as Markdown."""
    parts = _head(name), _fields(name), _levels(name), _rule(name), _lowering(name), _kernels(name), _example(name)
    return "\n".join(parts)


# --- What it is ------------------------------------------------------------------------------------------------------


def _head(name: str) -> str:
    cls = desc_class(name)
    since = short_name(operator_introduced(cls.OPERATOR_TYPE))
    in_place = " An output may be bound to the memory of an input." if supports_in_place(cls.OPERATOR_TYPE) else ""
    return (
        f"{target(f'operator-{name}')}# {escaped(name)}\n\n{escaped(inspect.getdoc(cls) or '')}\n\n"
        f"`{cls.__name__}` is one of the {family(name)} operators, since feature level {escaped(since)}.{in_place}\n"
    )


def said_of(cls: type[OperatorDesc]) -> dict[str, str]:
    """Field -> what the docstring says of it: behind "Field, Field: ", or in a sentence that begins with the field."""
    text = " ".join((inspect.getdoc(cls) or "").split()).partition(" Reference: ")[0]
    name = rf"\b(?:{'|'.join(info.name for info in cls.fields_info)})\b"
    one = rf"{name}(?: \([^)]*\))?"
    found: dict[str, str] = {}
    for part in re.split(rf"(?:(?<=[.;] )|^)(?={name})", text)[1:]:
        head = re.match(rf"{one}(?:(?:, | and ){one})*(: )?", part)
        assert head is not None, part
        words = part[head.end() :] if head[1] else part
        found |= {field: f"{found.get(field, '')} {words}".strip() for field in re.findall(name, head[0])}
    return found


def _fields(name: str) -> str:
    cls = desc_class(name)
    said = said_of(cls)
    rows = [[f"`{info.name}`", info.kind, _type(info), escaped(said.get(info.name, ""))] for info in cls.fields_info]
    same = [
        f"- {', '.join(f'`{tensor}`' for tensor in one.tensors)}: the same {', '.join(one.properties)}\n"
        for one in same_properties(cls.OPERATOR_TYPE)
    ]
    agree = f"\nTensors that must agree:\n\n{''.join(same)}" if same else ""
    return f"## Fields\n\n{table(('field', 'kind', 'type', 'what it is'), rows)}{agree}"


def _type(info: FieldInfo) -> str:
    text = f"`{info.type}`"
    if info.enum is not None:
        text += f": {', '.join(f'`{short_name(enumerator)}`' for enumerator in info.enum)}"
    if info.counts is not None:
        text += f", derived from `{info.counts}`"
    if info.fusable:
        text += ", None in a fused activation"
    return text + (", optional" if info.optional else "")


# --- What feature levels accept --------------------------------------------------------------------------------------


def _levels(name: str) -> str:
    """A table per level that changed something; REDUCE has them per group of functions."""
    kind = desc_class(name).OPERATOR_TYPE
    if kind != dml.DML_OPERATOR_REDUCE:
        return "## Feature levels\n\n" + "".join(_changes(lambda level: operator_support(kind, level), "###"))
    text = ["## Feature levels\n\n"]
    groups: dict[str, list[str]] = {}
    for function in dml.DML_REDUCE_FUNCTION:
        tables = "".join(_changes(lambda level, f=function: operator_support(kind, level, f), "####"))
        groups.setdefault(tables, []).append(escaped(short_name(function)))
    for tables, functions in groups.items():
        text.append(f"### {', '.join(functions)}\n\n{tables}")
    return "".join(text)


def _changes(support: Callable[[dml.DML_FEATURE_LEVEL], OperatorSupport | None], heading: str) -> Iterator[str]:
    before: OperatorSupport | None = None
    for level in sorted(dml.DML_FEATURE_LEVEL):
        found = support(level)
        if found is not None and found != before:
            yield f"{heading} {escaped(short_name(level))}\n\n{_support(found)}\n"
            before = found


def _support(tensors: OperatorSupport) -> str:
    rows = []
    for name, one in tensors.items():
        lowest, highest = one.dimension_counts[0], one.dimension_counts[-1]
        types = ", ".join(f"`{short_name(kind)}`" for kind in sorted(one.data_types))
        sizes = escaped(f"{{ {', '.join(one.sizes)} }}") if one.sizes else ""
        rows.append([
            f"`{name}`{', optional' if one.optional else ''}",
            str(lowest) if lowest == highest else f"{lowest} to {highest}",
            types,
            sizes,
        ])  # fmt: skip
    if not any(row[3] for row in rows):
        return table(("tensor", "dimensions", "data types"), [row[:3] for row in rows])
    return table(("tensor", "dimensions", "data types", "sizes, those in brackets at will"), rows)


# --- What it becomes -------------------------------------------------------------------------------------------------


def _where(function: Any) -> str:
    path = Path(inspect.getsourcefile(function) or "").resolve().relative_to(ROOT)
    return f"`{path}`, `{function.__name__}`"


def _documented(function: Any) -> str:
    text = inspect.getdoc(function)
    return f": {escaped(text)}" if text else ""


def _rule(name: str) -> str:
    rule = rule_of(desc_class(name))
    if rule is None:
        return "## Rule\n\nWhat the tables above say is all.\n"
    return f"## Rule\n\nBesides what the tables above say, {_where(rule)}:\n\n{code('python', inspect.getsource(rule))}"


def _lowering(name: str) -> str:
    function = lowering_of(desc_class(name))
    assert function is not None, name
    return f"## Lowering\n\n{_where(function)}{_documented(function)}\n"


@cache
def _programs(name: str) -> Mapping[str, Program]:
    return {label: compile_operator(sample(name), target_) for label, target_ in TARGETS.items()}


def kernels(name: str) -> dict[str, list[str]]:
    """Kernel -> for which kinds of device the operator's sample runs it, in order of use."""
    found: dict[str, list[str]] = {}
    for label, program in _programs(name).items():
        for dispatch in (*program.initialize, *program.dispatches):
            if label not in found.setdefault(dispatch.label, []):
                found[dispatch.label].append(label)
    return found


def _kernels(name: str) -> str:
    rows = [[f"[{kernel}](#kernel-{kernel})", ", ".join(labels)] for kernel, labels in kernels(name).items()]
    programs = "".join(
        f"\nOn a {label}:\n\n{code('text', program.describe())}" for label, program in _programs(name).items()
    )
    return (
        "## Kernels\n\nWhat the example below runs; other sizes and layouts may get other variants.\n\n"
        f"{table(('kernel', 'on'), rows)}{programs}"
    )


def _example(name: str) -> str:
    return f"## Example\n\n{code('python', example(sample(name)))}"
