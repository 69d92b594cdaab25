"""Choices in which a measurement on the device overrules the rule: the variants, by name.

Whoever chooses names the work by a class (``at_least``), never by a size: so sizes stay data, and another batch or
length finds its kernel made. What depends on exact sizes, such as parts along k, follows from them afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields, is_dataclass
from typing import TypeVar

from dml.compiler.target import Target

Variant = TypeVar("Variant")


def at_least(size: int, by: int = 4) -> str:
    """Return the class of a size: the largest power of ``by`` that it reaches. "64+" is 64 to 255."""
    floor = 1
    while floor * by <= size:
        floor *= by
    return f"{floor}+"


def half_work(target: Target) -> str:
    """Return the class of FLOAT16 work. Arithmetic in FLOAT16 and in FLOAT32 is measured separately."""
    return "FLOAT16 in halves" if target.allows_half else "FLOAT16"


def variant_name(variant: object) -> str:
    """Return a variant's name: a dataclass's name and its fields that differ from their defaults."""
    if not is_dataclass(variant):
        return str(variant)
    words = [type(variant).__name__]
    for field in fields(variant):
        value = getattr(variant, field.name)
        if field.default is MISSING or value != field.default:
            inner = " x ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            words.append(f"{field.name}={inner}")
    return " ".join(words)


def tuned(
    target: Target,
    family: str,
    work: Callable[[], str],
    rule: Variant,
    variants: Callable[[], Iterable[Variant]],
) -> Variant:
    """Return the variant measured as fastest on the device for this class of work; ``rule`` if none was measured.

    work: names the class, asked where there is a table. variants: all that the device's limits and features allow,
    ``rule`` among them or not. What was measured counts only where it is one of them.
    """
    if not target.tuned:
        return rule
    found = {variant_name(variant): variant for variant in (rule, *variants())}
    name = target.tuned.variant(family, work(), variant_name(rule), tuple(found))
    return rule if name is None else found.get(name, rule)
