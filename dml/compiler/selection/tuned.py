"""Choices in which a measurement on the device overrules the rule.

Callers name the work by classes of sizes (``at_least``), never by sizes: so sizes stay data, and other batch sizes or
lengths reuse compiled kernels. Values that depend on exact sizes, such as split-k factors, are computed afterwards.
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
    target: Target, family: str, work: Callable[[], str], rule: Variant, variants: Callable[[], Iterable[Variant]]
) -> Variant:
    """Return the variant measured as fastest on the device for this class of work; ``rule`` if none was measured.

    work: returns the name of the class; only called if there is a table. variants: all that the device's limits and
    features allow, with or without ``rule``. A measurement counts only if it names one of them.
    """
    if not target.tuned:
        return rule
    found = {variant_name(variant): variant for variant in (rule, *variants())}
    name = target.tuned.variant(family, work(), variant_name(rule), tuple(found))
    return rule if name is None else found.get(name, rule)
