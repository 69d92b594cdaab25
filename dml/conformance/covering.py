"""Covering arrays: few combinations of parameters that contain every combination of any t of them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any

Row = tuple[str, ...]
Columns = tuple[int, ...]

#: Maximum completions of a combination to consider, and attempts before it counts as impossible.
_CANDIDATES = 12
_TRIES = 60


def covering(
    parameters: Mapping[str, Sequence[str]], strength: int, seed: int, makes_sense: Callable[[Mapping[str, str]], bool]
) -> list[dict[str, str]]:
    """Return rows with a label per parameter, so that any ``strength`` compatible labels occur together at least once.

    The first row has every parameter's first label, if possible. Greedy: each row takes a missing combination and, of
    some random completions, the one that covers most others. Deterministic for a seed.
    """
    names, labels = list(parameters), [list(of) for of in parameters.values()]
    rng = random.Random(seed)

    @cache
    def allowed(row: Row) -> bool:
        return makes_sense(dict(zip(names, row, strict=True)))

    strength = min(strength, len(names))
    # The combinations still missing, in order, by their columns; itemgetter returns a single label for strength 1.
    missing: list[tuple[Columns, Callable[[Row], Any], dict[Any, None]]] = []
    for columns in itertools.combinations(range(len(names)), strength):
        combinations = itertools.product(*(labels[i] for i in columns)) if strength > 1 else labels[columns[0]]
        missing.append((columns, itemgetter(*columns), dict.fromkeys(combinations)))

    def take(row: Row) -> None:
        rows.append(dict(zip(names, row, strict=True)))
        for _, part, left in missing:
            left.pop(part(row), None)

    rows: list[dict[str, str]] = []
    first = tuple(of[0] for of in labels)
    if allowed(first):
        take(first)
    while missing := [entry for entry in missing if entry[2]]:
        columns, _, left = missing[0]
        wanted = next(iter(left))
        fixed = dict(zip(columns, wanted if strength > 1 else (wanted,), strict=True))
        best: Row | None = None
        most = found = 0
        # Every other attempt stays near the defaults, where most combinations are possible.
        for attempt in range(_TRIES):
            free = 0.5 if attempt % 2 else 1.0
            row = tuple(
                [
                    fixed[i] if i in fixed else (rng.choice(of) if rng.random() < free else of[0])
                    for i, of in enumerate(labels)
                ]
            )
            if not allowed(row):
                continue
            found += 1
            if (new := sum([part(row) in left for _, part, left in missing])) > most:
                best, most = row, new
            if found == _CANDIDATES:
                break
        if best is None:
            left.pop(wanted)  # these labels exclude each other
        else:
            take(best)
    return rows
