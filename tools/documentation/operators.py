"""A page for each operator: summary, formula, runnable example, fields, rule, feature levels and kernels."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
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
from tools.documentation.fields import COMMON, SIZES
from tools.documentation.formulas import FIELDS, FORMULAS, WORDS
from tools.documentation.markdown import code, escaped, escaped_within, target
from tools.documentation.rules import in_words

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))  # the tests, which hold the samples, are not a package

from sample_descriptors import NAMES, sample  # noqa: E402

#: Targets that a page compiles its sample for: a CPU driver, and a GPU with no features beyond Vulkan 1.1.
TARGETS = {"CPU": Target(DeviceClass.CPU), "GPU": Target(DeviceClass.DISCRETE, subgroup_size=32)}


def desc_class(name: str) -> type[OperatorDesc]:
    return dml.operators()[dml.DML_OPERATOR_TYPE[f"DML_OPERATOR_{name}"]]


def names() -> list[str]:
    """Return the names of all operators in the order of DML_OPERATOR_TYPE."""
    return list(NAMES)


def family(name: str) -> str:
    """Return an operator's family: the module or package of its structure."""
    return desc_class(name).__module__.removeprefix("dml.descriptors.").partition(".")[0]


def families() -> dict[str, list[str]]:
    """Return each family's operators, both sorted by name."""
    found: dict[str, list[str]] = {}
    for name in names():
        found.setdefault(family(name), []).append(name)
    return {each: sorted(held) for each, held in sorted(found.items())}


def page(name: str) -> str:
    """Return the page of one operator as Markdown."""
    parts = _head(name), _example(name), _fields(name), _rule(name), _levels(name), _computed(name)
    return "\n".join(parts)


# --- Summary and formula ---------------------------------------------------------------------------------------------


def _head(name: str) -> str:
    cls = desc_class(name)
    sentence = (inspect.getdoc(cls) or "").partition("\n\n")[0]
    since = short_name(operator_introduced(cls.OPERATOR_TYPE))
    in_place = " An output may be bound to the memory of an input." if supports_in_place(cls.OPERATOR_TYPE) else ""
    return (
        f"{target(f'operator-{name}')}# {escaped(name)}\n\n{escaped(sentence)}\n\n{_formula(name)}\n"
        f"`{cls.__name__}` is one of the [{family(name)}]({family(name)}.md) operators, since feature level "
        f"{escaped(since)}.{in_place} [Microsoft's page]({microsofts_page(name)}) has the reference.\n"
    )


def microsofts_page(name: str) -> str:
    """Return the address of the structure's page: with Windows AI's since 4_1, with Win32's before."""
    is_newer = operator_introduced(desc_class(name).OPERATOR_TYPE) >= dml.DML_FEATURE_LEVEL_4_1
    place = "windows/ai/directml/api" if is_newer else "windows/win32/api/directml"
    return f"https://learn.microsoft.com/{place}/ns-directml-{desc_class(name).__name__.lower()}"


def _formula(name: str) -> str:
    """Return the formula and the fields that its names stand for."""
    formula = FORMULAS[name]
    fields = {info.name for info in desc_class(name).fields_info}
    used = [
        f"{letter} = `{field}`" for letter, field in FIELDS.items()
        if field in fields and re.search(rf"(?<![\w.']){letter}(?![\w'])", formula)
    ]  # fmt: skip
    notes = [f"Here {', '.join(used)}."] if used else []
    notes += [WORDS[name]] if name in WORDS else []
    if "ScaleBias" in fields:
        notes.append("If ScaleBias is given, x is first multiplied by its Scale, and its Bias is added.")
    return f"{code('text', formula)}\n{' '.join(notes)}\n"


#: Matches between sentences. The first describes a field; the rest describe the operator.
_SENTENCE = re.compile(r"(?<=[a-z0-9)}]\.) (?=[A-Z])")


def notes_of(cls: type[OperatorDesc]) -> list[str]:
    """Return the sentences about the whole operator below the docstring's first paragraph."""
    text = " ".join((inspect.getdoc(cls) or "").partition("\n\n")[2].split()).partition("Reference: ")[0].strip()
    of_fields = " ".join(said_of(cls).values())
    name = rf"(?:{'|'.join(info.name for info in cls.fields_info)})\b"
    return [one for one in _SENTENCE.split(text) if one and not re.match(name, one) and one not in of_fields]


def said_of(cls: type[OperatorDesc]) -> dict[str, str]:
    """Return the docstring's text on each field: what follows "Field, Field: ", or a sentence that begins with the
    field's name."""
    text = " ".join((inspect.getdoc(cls) or "").split()).partition(" Reference: ")[0]
    name = rf"\b(?:{'|'.join(info.name for info in cls.fields_info)})\b"
    one = rf"{name}(?: \([^)]*\))?"
    found: dict[str, str] = {}
    for part in re.split(rf"(?:(?<=[.;] )|^)(?={name})", text)[1:]:
        head = re.match(rf"{one}(?:(?:, | and ){one})*(: )?", part)
        assert head is not None, part
        words, *_ = _SENTENCE.split(part[head.end() :] if head[1] else part)
        words = words.strip().rstrip(";.") + "."
        fields = re.findall(rf"({name})(?: \(([^)]*)\))?", head[0])
        for field, aside in fields:
            others = ", ".join(other for other, _ in fields if other != field)
            own = re.sub(r"\bthe same sizes( and data type)?(?! as)", rf"\g<0> as {others}", words) if others else words
            own = f"{own[:-1]}; {aside}." if head[1] and aside else own
            found[field] = f"{found.get(field, '')} {own}".strip()
    return found


def meanings(name: str) -> dict[str, str]:
    """Return the meaning of each field except counts: from the operator's docstring, from the operator that it extends,
    from the common meanings, or from the enumeration."""
    cls = desc_class(name)
    own = said_of(cls)
    earlier = extended(name)
    of_earlier = meanings(earlier) if earlier else {}
    names = {info.name for info in cls.fields_info}
    found = {}
    for info in cls.fields_info:
        inherited = of_earlier.get(info.name, "")
        if not set(re.findall(r"\w+Tensor\b", inherited)) <= names:
            inherited = ""
        general = COMMON.get(info.name) or (info.enum and inspect.getdoc(info.enum)) or ""
        if info.counts is None:
            found[info.name] = own.get(info.name) or inherited or general
    return found


def extended(name: str) -> str | None:
    """Return the operator that this one extends, or whose gradient it is: RESAMPLE2 for RESAMPLE3."""
    numbered = re.fullmatch(r"(.*[A-Z])(\d)", name)
    earlier = name.removesuffix("_GRAD")
    if numbered:
        earlier = numbered[1] + (str(int(numbered[2]) - 1) if numbered[2] > "1" else "")
    return earlier if earlier != name and earlier in NAMES else None


def _fields(name: str) -> str:
    cls = desc_class(name)
    said = meanings(name)
    rows = [f"`{info.name}`\n: {_field(info, said.get(info.name, ''))}\n" for info in cls.fields_info]
    same = [
        f"- {', '.join(f'`{tensor}`' for tensor in one.tensors)}: the same {', '.join(one.properties)}\n"
        for one in same_properties(cls.OPERATOR_TYPE)
    ]
    agree = f"\nTensors that must agree:\n\n{''.join(same)}" if same else ""
    fields = "\n".join(rows)
    notes = "".join(f"{escaped(' '.join(found))}\n\n" for found in [notes_of(cls)] if found)
    return f"## Fields\n\n{_sizes(name, [*said.values(), *notes_of(cls)])}{notes}{fields}{agree}"


def _field(info: FieldInfo, said: str) -> str:
    return f"{info.kind.capitalize()}, {_type(info)}{f': {escaped(said)}' if said else '.'}"


def _sizes(name: str, words: Iterable[str]) -> str:
    """Return the symbolic sizes of the operator's tensors that fields and notes mention, with their meanings."""
    used = {one for sizes in re.findall(r"\{([^}]*)\}", " ".join(words)) for one in re.findall(r"\w+", sizes)}
    known = [f"{one}: {meaning}" for one, meaning in SIZES.get(family(name), {}).items() if one in used]
    return f"In sizes, {escaped('; '.join(known))}.\n\n" if known else ""


def _type(info: FieldInfo) -> str:
    text = f"`{info.type}`"
    if info.enum is not None:
        text += f": {', '.join(f'`{short_name(enumerator)}`' for enumerator in info.enum)}"
    if info.counts is not None:
        text += f", derived from `{info.counts}`"
    if info.fusable:
        text += ", None in a fused activation"
    return text + (", optional" if info.optional else "")


# --- Feature levels --------------------------------------------------------------------------------------------------


def _levels(name: str) -> str:
    """Return a table per feature level that changed something; for REDUCE, one per group of functions."""
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
    """Return a list of what each tensor may be; tensors with equal support share an item."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, one in tensors.items():
        lowest, highest = one.dimension_counts[0], one.dimension_counts[-1]
        count = str(lowest) if lowest == highest else f"{lowest} to {highest}"
        types = ", ".join(short_name(kind) for kind in sorted(one.data_types))
        sizes = f", sizes {{ {', '.join(one.sizes)} }}" if one.sizes else ""
        groups.setdefault((count, types, sizes), []).append(f"`{name}`{' (optional)' if one.optional else ''}")
    lines = [
        f"- {', '.join(names)}: {count} dimension{'s' * (count != '1')}{escaped(sizes)}; {escaped(types)}\n"
        for (count, types, sizes), names in groups.items()
    ]
    return "".join(lines)


def _where(function: Any) -> str:
    path = Path(inspect.getsourcefile(inspect.unwrap(function)) or "").resolve().relative_to(ROOT)
    return f"`{path}`, `{function.__name__}`"


def _documented(function: Any) -> str:
    text = inspect.getdoc(function)
    return f": {escaped(text)}" if text else "."


def _rule(name: str) -> str:
    said = in_words(sample(name))
    if not said:
        return "## Rule\n\nThere are no rules beyond the fields and the feature levels.\n"
    lines = "".join(f"- {_sentence(one)}\n" for one in said)
    return f"## Rule\n\nFor the sizes of the example:\n\n{lines}"


def _sentence(rule: str) -> str:
    """Return a rule as Markdown, with the names of fields as code."""
    return "".join(part if part.startswith("`") else escaped_within(part) for part in re.split(r"(`[^`]*`)", rule))


def _computed(name: str) -> str:
    """Return a section for contributors: rule, lowering, kernels, and the example's programs."""
    rule, function = rule_of(desc_class(name)), lowering_of(desc_class(name))
    assert function is not None, name
    checked = f"The rule is {_where(rule)}. " if rule is not None else ""
    listed = "".join(
        f"- [{kernel}](#kernel-{kernel}), on {' and '.join(labels)}\n" for kernel, labels in kernels(name).items()
    )
    programs = "".join(
        f"<details><summary>The program on a {label}</summary>\n\n{code('text', program.describe())}\n</details>\n\n"
        for label, program in _programs(name).items()
    )
    return (
        f"## How it is computed\n\n{checked}The lowering is {_where(function)}{_documented(function)}\n\n"
        f"The example runs these kernels; other sizes and layouts may get other variants.\n\n{listed}\n{programs}"
    )


@cache
def _programs(name: str) -> Mapping[str, Program]:
    return {label: compile_operator(sample(name), target_) for label, target_ in TARGETS.items()}


def kernels(name: str) -> dict[str, list[str]]:
    """Return for each kernel of the operator's sample the kinds of device that run it, in order of use."""
    found: dict[str, list[str]] = {}
    for label, program in _programs(name).items():
        for dispatch in (*program.initialize, *program.dispatches):
            if label not in found.setdefault(dispatch.label, []):
                found[dispatch.label].append(label)
    return found


def _example(name: str) -> str:
    return f"## Example\n\n{code('python', example(sample(name)))}"
