"""Python's search for cycles of garbage, held off while a plan is made.

A plan makes some ten thousand small objects that mostly outlive it or need no search. What looks for cycles among them
meanwhile looks again and again at all that the process holds: a fifth of the time of a decoder's next plan. And as it
goes on behind the plan, it looks at all of them, and behind every tenth plan at all that was made since the process
began: 12 to 24 ms. So what there is by then is taken for old, which costs nothing; Python goes through what is old
seldom, and is asked to when enough of it came from here.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: Objects taken for old, less those freed meanwhile, after which the old ones are gone through: those of some fifty
#: plans of a hundred nodes, a fifth of which are garbage.
MOST_UNSEARCHED = 500_000

_unsearched = 0


@contextmanager
def uncollected() -> Iterator[None]:
    """Nothing is searched for within, in no thread. Where the search is off already, it stays off."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        _grow_old()
        gc.enable()


def _grow_old() -> None:
    """Take all there is for old, unless somebody keeps objects from being searched at all, as before a fork."""
    global _unsearched
    if gc.get_freeze_count():
        return
    _unsearched += gc.get_count()[0]
    if _unsearched > MOST_UNSEARCHED:
        _unsearched = 0
        gc.collect()
    else:
        gc.freeze()
        gc.unfreeze()
