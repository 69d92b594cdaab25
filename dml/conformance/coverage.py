"""Coverage: the share of selection's kernels and variants that a run enters, and additional cases for the rest.

Selection determines the existing variants, without a device: every case of the full suite and of the catalogue of real
shapes is lowered for the target. For each variant that the suite's cases miss, the smallest case that gets it is
added.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dml import cache as disk
from dml.compiler.target import Target
from dml.conformance import catalogue, code
from dml.conformance.case import Case, case_ids
from dml.conformance.graphs import check
from dml.conformance.layouts import element_count
from dml.conformance.parameters import OpenLabels, Skip
from dml.conformance.subject import Subject
from dml.conformance.variants import kernel_of, variants
from dml.descriptors.base import OperatorDesc
from dml.errors import DMLError

#: Elements and work (see Dispatch) that cost as much as the overhead of a case.
_ELEMENTS, _WORK = 20_000, 20_000_000
#: Rounds of minimizing each size of a case.
_ROUNDS = 3
_FORMAT = 1


@dataclass(frozen=True)
class Coverage:
    """The kernel variants that a target can get, and the cases that enter them.

    added: cases in addition to the suite's own. entered: by case, the variants that it enters, as indices of names.
    names: every variant, by kernel.
    """

    added: tuple[str, ...]
    entered: Mapping[str, tuple[int, ...]]
    names: tuple[str, ...]

    def record(self, run: Iterable[str]) -> dict[str, Any]:
        """Return the report's coverage for the cases that were run."""
        found = {number for case in run for number in self.entered.get(case, ())}
        kernels: dict[str, Counter[bool]] = defaultdict(Counter)
        for number, name in enumerate(self.names):
            kernels[kernel_of(name)][number in found] += 1
        return {
            "kernels": [
                {"kernel": kernel, "variants": counts.total(), "run": counts[True]}
                for kernel, counts in kernels.items()
            ],
            "missing": [name for index, name in enumerate(self.names) if index not in found],
            "added": list(self.added),
        }


def coverage(target: Target, own: Sequence[str], subjects: Sequence[Subject], share: float, seed: int) -> Coverage:
    """Compute the coverage of these subjects on a target.

    own: the suite's cases. share: the fraction of variants to enter. Every kernel is entered, with each value of its
    macros. Cached on disk by code and target, since it takes a minute or two.
    """
    found = cached_coverage(target, own, subjects, share, seed)
    if found is None:
        found = _Search(target, own, subjects, seed).coverage(share)
        as_json = {"added": found.added, "entered": found.entered, "names": found.names}
        disk.write(_entry(target, own, subjects, share, seed), json.dumps(as_json).encode())
    return found


def cached_coverage(
    target: Target, own: Sequence[str], subjects: Sequence[Subject], share: float, seed: int
) -> Coverage | None:
    """Read the coverage from the cache; None if it was not computed yet."""
    held = disk.read(_entry(target, own, subjects, share, seed))
    if held is None:
        return None
    found = json.loads(held)
    return Coverage(tuple(found["added"]), found["entered"], tuple(found["names"]))


def _entry(target: Target, own: Sequence[str], subjects: Sequence[Subject], share: float, seed: int) -> Path:
    names = [subject.name for subject in subjects]
    given = _FORMAT, code.compiling(), asdict(target), own, names, share, seed
    return disk.folder("coverage") / hashlib.sha256(json.dumps(given, default=_as_json).encode()).hexdigest()


def _as_json(value: Any) -> Any:
    """Return a value of a target as JSON. A set's repr depends on the hash of strings, which differs by process."""
    return sorted(value) if isinstance(value, frozenset) else repr(value)


def total(record: Mapping[str, Any]) -> dict[str, int]:
    """Sum up a report's coverage: existing kernels and variants, and those run."""
    kernels = record["kernels"]
    return {
        "kernels": len(kernels),
        "kernels_run": sum(1 for kernel in kernels if kernel["run"]),
        "variants": sum(kernel["variants"] for kernel in kernels),
        "variants_run": sum(kernel["run"] for kernel in kernels),
    }


def merged(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge the coverage of several parts of one run."""
    missing = [name for name in records[0]["missing"] if all(name in set(item["missing"]) for item in records[1:])]
    left = Counter(map(kernel_of, missing))
    kernels = [{**item, "run": item["variants"] - left[item["kernel"]]} for item in records[0]["kernels"]]
    added = dict.fromkeys(case for item in records for case in item["added"])
    return {"kernels": kernels, "missing": missing, "added": list(added)}


@dataclass(frozen=True)
class _Candidate:
    """A case's id, the variants it enters, and the cost of running it, in cases of the suite.

    It does not hold its description: thousands of those would keep the garbage collector busy.
    """

    name: str
    variants: frozenset[str]
    cost: float


class _Search:
    def __init__(self, target: Target, own: Sequence[str], subjects: Sequence[Subject], seed: int) -> None:
        self._target = target
        self._own = own
        self._names = {subject.name for subject in subjects}
        self._subjects = subjects
        self._seed = seed
        self._candidates: dict[str, _Candidate | None] = {}

    def coverage(self, share: float) -> Coverage:
        own = self._known(self._own)
        entered = frozenset().union(*(candidate.variants for candidate in own))
        shapes = self._known([name for name in catalogue.names() if name.partition(":")[0] in self._names])
        triples = self._known([name for subject in self._subjects for name in case_ids(subject, 3, self._seed)])
        known = entered.union(*(candidate.variants for candidate in triples))
        small = list(self._smallest(shapes, known))
        every = known.union(*(candidate.variants for candidate in (*shapes, *small)))
        chosen = self._chosen([*triples, *small, *shapes], entered, every, share)
        names = sorted(every)
        index = {name: number for number, name in enumerate(names)}
        return Coverage(
            tuple(candidate.name for candidate in chosen),
            {
                candidate.name: tuple(sorted(index[name] for name in candidate.variants))
                for candidate in (*own, *chosen)
            },
            tuple(names),
        )

    def _known(self, names: Iterable[str]) -> list[_Candidate]:
        """Return a candidate for each of these cases that has a program; leave out cases whose labels exclude each
        other."""
        for name in names:
            if name not in self._candidates:
                self._candidates[name] = self._lowered(Case.parse(name))
        return [candidate for name in names if (candidate := self._candidates[name]) is not None]

    def _lowered(self, case: Case) -> _Candidate | None:
        """Lower a case; None if it has no description or no program."""
        try:
            desc = case.desc
        except Skip:
            return None
        found, work = variants(desc, self._target)
        return _Candidate(case.id, found, _cost(desc, work)) if found else None

    def _smallest(self, shapes: Sequence[_Candidate], entered: frozenset[str]) -> Iterator[_Candidate]:
        """Yield the smallest cases for variants that only real shapes enter."""
        left = frozenset().union(*(candidate.variants for candidate in shapes)) - entered
        for candidate in sorted(shapes, key=lambda candidate: candidate.cost):
            if wanted := candidate.variants & left:
                found = self._reduced(candidate, wanted)
                left -= found.variants
                yield found

    def _reduced(self, candidate: _Candidate, wanted: frozenset[str]) -> _Candidate:
        best = candidate
        for _ in range(_ROUNDS):
            before = best
            for parameter, position, value in _numbers(Case.parse(best.name)):
                best = self._least(best, wanted, parameter, position, value)
            if best is before:
                break
        return self._filled(best, wanted)

    def _filled(self, candidate: _Candidate, wanted: frozenset[str]) -> _Candidate:
        """Enlarge a convolution's outputs to a power of two, so that the last rows of a kernel's tile are not empty."""
        case = Case.parse(candidate.name)
        for parameter, position, value in _numbers(case):
            if parameter == "outputs":
                found = self._valid(_with_number(case, parameter, position, 1 << (value - 1).bit_length()))
                if found is not None and wanted <= found.variants:
                    return found
        return candidate

    def _least(self, best: _Candidate, wanted: frozenset[str], parameter: str, position: int, value: int) -> _Candidate:
        """Minimize one number by bisection: a variant is nearly always selected for all sizes above some threshold."""
        case, low, high = Case.parse(best.name), 0, value
        while low + 1 < high:
            middle = (low + high) // 2
            found = self._valid(_with_number(case, parameter, position, middle))
            if found is not None and wanted <= found.variants and found.cost <= best.cost:
                best, high = found, middle
            else:
                low = middle
        return best

    def _valid(self, case: Case) -> _Candidate | None:
        """Lower a case whose labels may be invalid."""
        name = case.id
        if name not in self._candidates:
            try:
                check(case.desc)
                self._candidates[name] = self._lowered(case)
            # Some subjects support only sizes that they list
            except (Skip, DMLError, ValueError, IndexError, ZeroDivisionError):
                self._candidates[name] = None
        return self._candidates[name]

    def _chosen(
        self, candidates: Sequence[_Candidate], entered: frozenset[str], every: frozenset[str], share: float
    ) -> list[_Candidate]:
        """Choose greedily by new variants per cost, until ``share`` of the variants and all features are covered."""
        missing = set(every - entered)
        needed = features(every) - features(entered)
        most = math.floor(len(every) * (1 - share) + 1e-9)  # number of variants that may be left out
        chosen: list[_Candidate] = []

        def gain(candidate: _Candidate) -> float:
            return len(candidate.variants & missing) / candidate.cost

        heap = [(-gain(candidate), index) for index, candidate in enumerate(candidates) if candidate.variants & missing]
        heapq.heapify(heap)
        while heap and (len(missing) > most or needed):
            priority, index = heapq.heappop(heap)
            candidate = candidates[index]
            if len(missing) <= most and not needed & features(candidate.variants):
                continue
            if not (now := gain(candidate)):
                continue
            if now < -priority:
                heapq.heappush(heap, (-now, index))
                continue
            chosen.append(candidate)
            missing -= candidate.variants
            needed -= features(candidate.variants)
        return chosen


def features(names: Iterable[str]) -> set[str]:
    """Split variants into features: each kernel, and each kernel with one macro's value or one tensor's type.

    Covering all features includes every value of a macro, even if few variants have it.
    """
    return {feature for name in names for feature in _features(name)}


@cache
def _features(name: str) -> tuple[str, ...]:
    kernel, *words = name.split()
    return kernel, *(f"{kernel} {word}" for word in words)


def _cost(desc: OperatorDesc, work: int) -> float:
    return 1.0 + element_count(desc) / _ELEMENTS + work / _WORK


def _numbers(case: Case) -> Iterator[tuple[str, int, int]]:
    """Yield the numbers in the labels of open parameters: (parameter, index, value)."""
    for name, values in case.subject.all_parameters.items():
        if isinstance(values, OpenLabels):
            for index, number in enumerate(re.findall(r"\d+", case.labels[name])):
                yield name, index, int(number)


def _with_number(case: Case, parameter: str, position: int, value: int) -> Case:
    """Return the case with another number in a parameter's label."""
    places = iter(range(len(case.labels[parameter])))
    replaced: Callable[[re.Match[str]], str] = lambda match: str(value) if next(places) == position else match[0]  # noqa: E731
    return Case(case.subject, {**case.labels, parameter: re.sub(r"\d+", replaced, case.labels[parameter])})
