"""Checks of sizes and axes, shared by the functions of several families."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dml.errors import DMLError
from dml.graph.builder import Tensor


@contextmanager
def named_by(name: str) -> Iterator[None]:
    """Prefix DMLErrors raised in the block with the function's name."""
    try:
        yield
    except DMLError as error:
        raise DMLError(f"{name}: {error.message}", error.hresult) from None


def sizes_of(name: str, x: Tensor, rank: int) -> tuple[int, ...]:
    """Return the sizes of a tensor that must have this rank."""
    if x.rank != rank:
        raise DMLError(f"{name}: takes tensors of {rank} dimensions, found sizes {x.sizes}")
    return x.sizes


def given_or(values: Sequence[int] | None, default: tuple[int, ...]) -> tuple[int, ...]:
    """Return the values, by default ``default``."""
    return tuple(values) if values is not None and len(values) else default
