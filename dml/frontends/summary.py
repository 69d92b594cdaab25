"""Summaries of models for `dml inspect` and `dml explain`, in any format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy.typing as npt

from dml.capability import short_name
from dml.descriptors.base import OperatorDesc, operators
from dml.enums import DML_FEATURE_LEVEL
from dml.errors import DMLError
from dml.validator import needed_level

#: Number of constants that a summary lists.
LISTED = 10


@dataclass(frozen=True)
class ValueSummary:
    """An input or output: its name, its type as text, and its sizes, symbolic ones by name.

    shape: None if it is not a tensor or its sizes are unknown.
    """

    name: str
    kind: str
    shape: tuple[int | str, ...] | None


@dataclass(frozen=True)
class OperatorSummary:
    """An operator and its number of uses in the model. how: "mapped", "function" (of mapped operators) or "host"."""

    name: str
    domain: str
    version: int
    count: int
    how: str


@dataclass(frozen=True)
class TensorSummary:
    """An initializer: name, type as text, shape and bytes in the file.

    device_bytes: its bytes on the device, with those of copies that initialization transforms, 0 if it shares another
    initializer's; None without a plan.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    bytes: int
    device_bytes: int | None


@dataclass(frozen=True)
class ModelSummary:
    """A summary of a model. weights: the elements and bytes of its initializers.

    sizes: the symbolic sizes of the plan; assumed: those that were not given. memory: bytes on the device while it runs
    with these sizes, by use; None if it cannot be planned without running it: unplanned is the reason. largest: the
    largest initializers, with their bytes in the file and on the device; constants that the host folds do not count.
    prepared: the largest results of initialization, by kernel, node and constants read, with their bytes.
    """

    opsets: Mapping[str, int]
    producer: str
    inputs: tuple[ValueSummary, ...]
    outputs: tuple[ValueSummary, ...]
    operators: tuple[OperatorSummary, ...]
    weight_elements: int
    weight_bytes: int
    sizes: Mapping[str, int] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    memory: Mapping[str, int] | None = None
    unplanned: str = ""
    largest: tuple[TensorSummary, ...] = ()
    prepared: tuple[tuple[str, int], ...] = ()


def largest_tensors(
    arrays: Iterable[tuple[str, npt.NDArray[Any]]], on_device: Mapping[str, int] | None = None
) -> tuple[TensorSummary, ...]:
    """Summarize the largest of a model's constants. on_device: their bytes there by name; None if unknown."""
    found = sorted(arrays, key=lambda item: -item[1].nbytes)[:LISTED]
    return tuple(
        TensorSummary(
            name, str(array.dtype), array.shape, array.nbytes, None if on_device is None else on_device.get(name, 0)
        )
        for name, array in found
    )


def symbolic_sizes(inputs: Iterable[ValueSummary], sizes: Mapping[str, int] | None) -> list[str]:
    """Return the names of the inputs' symbolic sizes, sorted. Raises DMLError if ``sizes`` has another name."""
    named = sorted({size for item in inputs for size in item.shape or () if isinstance(size, str)})
    for name in sizes or {}:
        if name not in named:
            raise DMLError(f"the model has no size {name!r}; it has {', '.join(named) or 'none'}")
    return named


class Explained(NamedTuple):
    """A node's operators and the lowest feature level that supports them all. on_host: the runtime that computes the
    node on the host instead."""

    node: str
    operators: list[str]
    level: DML_FEATURE_LEVEL
    on_host: str = ""

    def __str__(self) -> str:
        if self.on_host:
            return f"{self.node}: {self.on_host}"
        if not self.operators:
            return f"{self.node}: a constant or a view"
        return f"{self.node}: {', '.join(self.operators)} (feature level {short_name(self.level)})"


class Explanation(NamedTuple):
    """The operators of each node. The nodes are in running order: part by part, if the model is split between device
    and host.

    assumed: messages about sizes and inputs that were not given. sizes: the values of symbolic sizes.
    """

    rows: list[Explained]
    assumed: list[str]
    sizes: Mapping[str, int]


def operators_of(descs: list[OperatorDesc]) -> tuple[list[str], DML_FEATURE_LEVEL]:
    """Return the operators' names, and the lowest feature level that supports all of them."""
    level = max(map(needed_level, descs), default=DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_1_0)
    names = [
        short_name(desc.OPERATOR_TYPE) + ("" if desc.OPERATOR_TYPE in operators() else " (not DirectML's)")
        for desc in descs
    ]
    return names, level
