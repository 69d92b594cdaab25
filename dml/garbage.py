"""Python's search for cycles of garbage, held off while a plan is made.

A plan makes some ten thousand small objects that mostly outlive it or need no search. What looks for cycles among them
meanwhile looks again and again at all that the process holds: a fifth of the time of a decoder's next plan.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
        gc.enable()
