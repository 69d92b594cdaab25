"""Measured thresholds of selection: the rows of ``thresholds.json``.

A row is named after the constant that a rule reads: "lines.CPU_PARALLEL" is CPU_PARALLEL of ``selection.lines``; a name
without a dot is a constant of ``selection`` itself. `dml tune --constants` measures a row again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

_PACKAGE = "dml.compiler.selection"
#: Minimum speed-up for an alternative to count as better than a row's value: two runs of one program differ by less.
MARGIN = 1.05


@dataclass(frozen=True)
class Threshold:
    """A row of ``thresholds.json``.

    device: the class of devices that reads it: "cpu", "llvmpipe" or "gpu". alternatives: other values, each of which
    changes the program of some workload. workloads: calls of ``dml.tuning.workloads``, {name: arguments}, at the sizes
    where the value matters. samples: by value, as JSON, the milliseconds of each workload, measured on ``driver`` at
    ``date``; {} if they were not kept. margin: the minimum speed-up for an alternative to count as better; large where
    the value saves compiling kernels.
    """

    name: str
    value: Any
    alternatives: tuple[Any, ...]
    device: str
    workloads: tuple[dict[str, dict[str, Any]], ...]
    driver: str
    date: str
    samples: dict[str, list[float]]
    margin: float = MARGIN


@cache
def rows() -> dict[str, Threshold]:
    """Return all rows by name."""
    found = json.loads(files(_PACKAGE).joinpath("thresholds.json").read_bytes())
    return {name: Threshold(name, **{key: _frozen(value) for key, value in row.items()}) for name, row in found.items()}


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


#: By name of a row: the function that turns its value into the constant.
_makers: dict[str, Callable[[Any], Any]] = {}


def threshold(name: str, make: Callable[[Any], Any] = lambda value: value) -> Any:
    """Return the constant of a row. make: turns the row's value into the constant."""
    _makers[name] = make
    return make(rows()[name].value)


@contextmanager
def overridden(name: str, value: Any) -> Iterator[None]:
    """Let the rules read another value of a row. Programs already compiled for the target are not recompiled."""
    module, _, constant = name.rpartition(".")
    owner = import_module(f"{_PACKAGE}.{module}" if module else _PACKAGE)
    before = getattr(owner, constant)
    setattr(owner, constant, _makers[name](value))
    try:
        yield
    finally:
        setattr(owner, constant, before)
