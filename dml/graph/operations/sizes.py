"""What the functions of several families ask of sizes and axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dml.errors import DMLError
from dml.graph.builder import Tensor


@contextmanager
def told_by(name: str) -> Iterator[None]:
    """Raises the DMLErrors of its block with the function's name before them: the arithmetic of sizes knows none."""
    try:
        yield
    except DMLError as error:
        raise DMLError(f"{name}: {error.message}", error.hresult) from None


def sizes_of(name: str, x: Tensor, rank: int) -> tuple[int, ...]:
    """The sizes of a tensor that must have so many dimensions."""
    if x.rank != rank:
        raise DMLError(f"{name}: takes tensors of {rank} dimensions, found sizes {x.sizes}")
    return x.sizes


def given_or(values: Sequence[int] | None, default: tuple[int, ...]) -> tuple[int, ...]:
    """The values, or the default where none are given."""
    return tuple(values) if values is not None and len(values) else default
