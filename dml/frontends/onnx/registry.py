"""The registry of mappings: ``@onnx_op("Gemm", since=7)``.

A mapping takes an ``OnnxNode`` (its inputs, attributes and version) and returns its output, or a list of outputs; None
if the function body in the operator's schema should be used instead.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import onnx.defs

#: Takes an OnnxNode; returns its output, a list of outputs, or None.
Mapping = Callable[[Any], Any]
_Mapping = TypeVar("_Mapping", bound=Mapping)
#: (domain, name) -> mappings with the first version of each, newest first.
_MAPPINGS: dict[tuple[str, str], list[tuple[int, Mapping]]] = {}


@dataclass(frozen=True)
class Fold:
    """How ONNX's own operator is computed on the host when its inputs are constants.

    The functions take the node and its inputs. If one is missing or returns None, ONNX's reference computes the result.

    compute: returns the only output, given arrays of the dtypes that shapes have; with any_dtype, given any arrays.
    numbers: the same, given arrays of a few integers (dtype object), some of them traced. shape: returns the output's
    shape, given constants, some of them traced. size: returns the output's number of elements; by default the product
    of the inputs'. large_table: the first input may be large. constants: nodes of small constants are computed too, not
    only those without elements. empty: a node whose first input has no elements is computed, regardless of the others.
    """

    compute: Callable[..., Any] | None = None
    numbers: Callable[..., Any] | None = None
    shape: Callable[..., tuple[int, ...]] | None = None
    size: Callable[..., int] | None = None
    any_dtype: bool = False
    large_table: bool = False
    constants: bool = True
    empty: bool = True


#: Operator of ONNX's own domain -> how all of its versions are folded.
_FOLDS: dict[str, Fold] = {}
_UNKNOWN = Fold(constants=False)


def onnx_op(*names: str, since: int = 1, domain: str = "", fold: Fold | None = None) -> Callable[[_Mapping], _Mapping]:
    """Register a mapping of operators, beginning with a version of their domain, and how all versions are folded."""
    if fold is not None:
        onnx_fold(*names, fold=fold)

    def register(function: _Mapping) -> _Mapping:
        for name in names:
            entries = _MAPPINGS.setdefault((domain, name), [])
            entries.append((since, function))
            entries.sort(key=lambda entry: -entry[0])
        return function

    return register


def onnx_fold(*names: str, fold: Fold) -> None:
    """Register how operators without a mapping are folded."""
    _FOLDS.update(dict.fromkeys(names, fold))


@cache
def _load() -> None:
    """Import every module of mappings."""
    # imported by name, since these modules import this one
    operators = importlib.import_module(f"{__package__}.map.operators")
    for module in pkgutil.iter_modules(operators.__path__):
        importlib.import_module(f"{operators.__name__}.{module.name}")


def standard(domain: str) -> str:
    """Return the domain in its registered form: "ai.onnx" becomes the empty one."""
    return "" if domain == "ai.onnx" else domain


def mapping_of(name: str, domain: str, version: int) -> Mapping | None:
    """Return the mapping of an operator in a version of its domain; None if there is none."""
    _load()
    for since, function in _MAPPINGS.get((standard(domain), name), ()):
        if since <= version:
            return function
    return None


def fold_of(name: str) -> Fold:
    """Return how an operator of ONNX's own domain is folded."""
    _load()
    return _FOLDS.get(name, _UNKNOWN)


def mapped() -> dict[tuple[str, str], int]:
    """Return (domain, operator) -> the first mapped version."""
    _load()
    return {key: min(since for since, _ in entries) for key, entries in sorted(_MAPPINGS.items())}


@cache
def schema_of(name: str, domain: str, version: int) -> Any | None:
    """Return the operator's schema in a version of its domain, or None."""
    try:
        return onnx.defs.get_schema(name, version, standard(domain))
    except onnx.defs.SchemaError:
        return None
