"""Pools: pieces of a few allocations, which return to the pool with their last reference."""

from __future__ import annotations

import gc
import weakref

import hypothesis
import hypothesis.strategies as st
import pytest

from dml.runtime.memory import LARGEST_CHUNK, PIECE_ALIGNMENT, Pool


class Native:
    def __init__(self, size: int) -> None:
        self.size = size


def pool(own_from: int = 1 << 16) -> Pool:
    return Pool(Native, own_from, host=False)


@hypothesis.given(st.lists(st.tuples(st.integers(1, 5000), st.booleans(), st.integers(0, 30)), max_size=60))
def test_pieces_never_overlap(steps):
    pool_ = pool()
    pieces = []
    for size, keep, drop in steps:
        piece = pool_.take(size)
        assert piece.size >= size
        assert piece.offset % PIECE_ALIGNMENT == 0
        assert piece.offset + piece.size <= piece.native.size
        for other in pieces:
            assert (
                other.native is not piece.native
                or other.offset + other.size <= piece.offset
                or piece.offset + piece.size <= other.offset
            )
        if keep:
            pieces.append(piece)
        elif pieces:
            pieces.pop(drop % len(pieces))
        del piece
    other = None
    pieces.clear()  # without a garbage collection: the last reference frees a piece
    pool_.release()
    assert pool_.allocated == (0, 0)


@hypothesis.given(st.integers(1 << 20, (8 << 20) - 1))
@hypothesis.example(4 << 20)
def test_weights_of_one_size_leave_no_gaps(size):
    """256 pieces of one size, like the weights of a model's layers: only the last chunk may be partly unused."""
    pool_ = pool(own_from=8 << 20)
    pieces = [pool_.take(size) for _ in range(256)]
    _, allocated = pool_.allocated
    assert allocated <= sum(piece.size for piece in pieces) + LARGEST_CHUNK


@pytest.mark.parametrize("size", [9 << 20, 20 << 20, 79 << 20])
def test_a_full_device_needs_few_allocations(size):
    """80 GiB of pieces below the size of those with their own allocation; every driver allows 4,096."""
    pool_ = pool(own_from=80 << 20)
    pieces = [pool_.take(size) for _ in range((80 << 30) // size)]
    assert pool_.allocated[0] < 4096
    del pieces


def test_large_pieces_go_back_at_once():
    pool_ = pool()
    small, large = pool_.take(100), pool_.take(1 << 20)
    assert pool_.allocated[0] == 2
    assert large.native is not small.native
    gone = weakref.ref(large.native)
    del large
    gc.collect()
    assert gone() is None, "before the pool is used again"
    assert pool_.allocated[0] == 1
    assert small.size == PIECE_ALIGNMENT


def test_large_pieces_reuse_kept_allocations():
    pool_ = pool()
    small, first = pool_.take(100, keep=True), pool_.take(1 << 20, keep=True)
    kept = first.native
    assert small.native is not kept
    del first
    again, beside = pool_.take(1 << 19, keep=True), pool_.take(1 << 19)
    assert again.native is kept
    assert beside.native is not kept, "one that is freed with its piece"
    assert pool_.take(1000).native is not kept, "small pieces would hold it"
    assert pool_.keeps
    pool_.release(kept=True)
    assert again.native is kept
    del again
    larger = pool_.take(1 << 21, keep=True)
    assert larger.native is not kept
    assert pool_.allocated == (3, sum(piece.native.size for piece in (small, beside, larger)))
    del larger
    pool_.release(kept=True)
    assert not pool_.keeps


def test_free_ranges_are_reused():
    pool_ = pool()
    for _ in range(1000):
        pool_.take(10000)
    assert pool_.allocated[0] == 1
