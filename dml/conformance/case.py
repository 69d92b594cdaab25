"""A case: one operator with one choice of its parameters, and an id that reproduces it."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dml import cache as disk
from dml.conformance import code
from dml.conformance.covering import covering
from dml.conformance.graphs import check
from dml.conformance.layouts import laid_out
from dml.conformance.parameters import Choice, Skip
from dml.conformance.subject import Subject, subjects
from dml.conformance.values import Values
from dml.descriptors.base import OperatorDesc
from dml.enums.naming import did_you_mean
from dml.errors import DMLError

_FORMAT = 1


@dataclass(frozen=True)
class Case:
    """A case of an operator. labels: one for every parameter of the subject, including ``layout`` and ``values``."""

    subject: Subject
    labels: Mapping[str, str]

    @property
    def id(self) -> str:
        """``GRU:type=FLOAT16,layout=padded``: the labels that are not defaults, in the order of the parameters."""
        parts = [
            f"{name}={self.labels[name]}"
            for name, values in self.subject.all_parameters.items()
            if self.labels[name] != next(iter(values)) or name == "type"
        ]
        return f"{self.subject.name}:{','.join(parts)}" if parts else self.subject.name

    @classmethod
    def parse(cls, text: str) -> Case:
        """Return the case with this id. Raises DMLError for an unknown operator, parameter or label."""
        name, _, rest = text.partition(":")
        known = subjects()
        if name not in known:
            raise DMLError(f"--case {text}: no operator {name!r}{did_you_mean(name, known)}")
        parameters = known[name].all_parameters
        labels = {parameter: next(iter(values)) for parameter, values in parameters.items()}
        for part in filter(None, rest.split(",")):
            parameter, _, label = part.partition("=")
            if parameter not in parameters:
                raise DMLError(f"--case {text}: {name} has no parameter {parameter!r}; it has {', '.join(parameters)}")
            if label not in parameters[parameter]:
                have = ", ".join(parameters[parameter])
                raise DMLError(f"--case {text}: {parameter} has no value {label!r}; it has {have}")
            labels[parameter] = label
        case = cls(known[name], labels)
        if any(label not in tuple(parameters[parameter]) for parameter, label in labels.items()):
            case._check(text)
        return case

    def _check(self, text: str) -> None:
        """Raise DMLError if labels that the subject does not list lead to an invalid description."""
        try:
            check(self.desc)
        except Skip:
            pass
        except (DMLError, ValueError, LookupError, ArithmeticError) as error:
            raise DMLError(f"--case {text}: {error}") from None

    @property
    def choice(self) -> Choice:
        return Choice(self.subject.all_parameters, self.labels)

    @cached_property
    def desc(self) -> OperatorDesc:
        """The description in its layout. Raises Skip if the parameters exclude each other."""
        described: OperatorDesc = self.subject.describe(self.choice)
        return laid_out(described, self.labels["layout"])

    def values(self, seed: int = 0) -> Values:
        """Return a generator of the case's inputs: different for each case and seed, the same in every run."""
        return Values(zlib.crc32(f"{seed} {self.id}".encode()), edges=self.labels["values"] == "edges")

    def inputs(self, seed: int = 0) -> Mapping[str, Any]:
        """Return the inputs by field, before a layout repeats elements."""
        return self.subject.make_inputs(self.desc, self.values(seed))

    @property
    def data_type(self) -> str:
        """Label of the case's data type; empty for an operator with only one."""
        return self.labels.get("type", "")


def cases(subject: Subject, strength: int, seed: int = 0) -> Iterator[Case]:
    """Return a subject's cases: every label, every pair or every triple of compatible labels (strength 1, 2, 3)."""

    parameters = {name: list(values) for name, values in subject.all_parameters.items()}
    rows = covering(parameters, strength, zlib.crc32(f"{seed} {subject.name}".encode()), subject.exclusions.allow)
    seen: set[str] = set()
    for labels in rows:
        case = Case(subject, labels)
        if case.id not in seen:
            seen.add(case.id)
            yield case


def case_ids(subject: Subject, strength: int, seed: int = 0) -> tuple[str, ...]:
    """Return the ids of a subject's cases; finding them takes time, so they are kept, also on disk."""
    if (strength, seed) not in subject.kept_ids:
        labels = {name: list(values) for name, values in subject.all_parameters.items()}
        key = hashlib.sha256(repr((_FORMAT, code.describing(), subject.name, labels, strength, seed)).encode())
        entry = disk.folder("cases") / key.hexdigest()
        cached = disk.read(entry)
        if cached is None:
            cached = "\n".join(case.id for case in cases(subject, strength, seed)).encode()
            disk.write(entry, cached)
        subject.kept_ids[strength, seed] = tuple(cached.decode().split("\n"))
    return subject.kept_ids[strength, seed]
