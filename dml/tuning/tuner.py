"""The contest: variants of one choice alternate on the device, and the fastest is kept."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dml.api.device import Device
from dml.api.recorder import CommandList
from dml.compiler.tuned import NOTHING_TUNED, Tuned, TunedChoice
from dml.enums import DML_FEATURE_LEVEL
from dml.errors import DMLError
from dml.runtime import tuned_file
from dml.runtime.buffer import Buffer
from dml.runtime.devices import VulkanDevice
from dml.tensors import DML_BUFFER_TENSOR_DESC
from dml.tuning.measuring import MeasuredOperator, compiled, keep_busy, numbers, seconds
from dml.tuning.works import FAMILIES, TuningWork, works

#: Seconds per family: by default, and with ``quick``.
BUDGET, QUICK_BUDGET = 60.0, 8.0
#: Approximate seconds of a submission, long enough that submitting costs little; and its maximum runs.
_SUBMISSION, _MOST_RUNS = 0.02, 20
#: Rounds, with one turn per variant each; variants slower than the best by the factor _HOPELESS drop out after the
#: first.
_ROUNDS, _HOPELESS = 5, 1.5
#: Seconds of warm-up before the first measurement.
_BUSY = 0.1
#: Minimum relative gain over the rules' variant; repeated runs of one variant differ by less.
_GAIN = 0.03
#: Maximum difference from the rules' variant, relative to the largest result. Reordered sums of thousands of products
#: differ by at most 1e-5 in float32, Winograd by 1e-4; FLOAT16 rounds results by 5e-4, and recurrent steps accumulate
#: that. A larger difference is a driver's fault.
_DIFFERENCE = {np.dtype(np.float32): 1e-3, np.dtype(np.float16): 1e-2}


class TuningQuestion(NamedTuple):
    """A choice that selection asks a tuning table for."""

    family: str
    work: str
    rule: str
    variants: tuple[str, ...]


@dataclass(frozen=True)
class ListeningTable(Tuned):
    """A table that also records the requested choices."""

    asked: list[TuningQuestion] = field(default_factory=list, compare=False)

    def __bool__(self) -> bool:
        return True

    def variant(self, family: str, work: str, rule: str, variants: Sequence[str]) -> str | None:
        question = TuningQuestion(family, work, rule, tuple(variants))
        if question not in self.asked:
            self.asked.append(question)
        return super().variant(family, work, rule, variants)


#: Receives a line about each measurement.
Report = Callable[[str], None]
#: Describes the fault of an operator's outputs, "" if there is none. Takes its description, inputs and outputs (arrays
#: by field).
Judge = Callable[[Any, Mapping[str, Any], Mapping[str, Any]], str]
#: Measures the seconds of one submission of a variant.
Timer = Callable[[str, CommandList], float]


class Tuner:
    """Measures on one device.

    report: called with a line per choice. judge: checks each variant's results before it is timed; without a judge they
    are only compared with the rules' variant. timer: times submissions. clock: for the budgets.
    """

    def __init__(
        self,
        vulkan: VulkanDevice,
        report: Report,
        *,
        judge: Judge | None = None,
        timer: Timer = lambda variant, commands: seconds(commands),
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._vulkan = vulkan
        self.report = report
        self.judge = judge
        self.timer = timer
        self._clock = clock
        #: The choices measured by this tuner.
        self.table = NOTHING_TUNED
        self._passed: set[tuple[str, str]] = set()
        #: Seconds per multiplication of the last operator of the family.
        self.pace: dict[str, float] = {}

    def tune(self, families: Collection[str] = FAMILIES, *, quick: bool = False) -> Tuned:
        """Measure these families, each within its budget. Each choice is saved at once."""
        for family in families:
            end = self._clock() + (QUICK_BUDGET if quick else BUDGET)
            for work in works(family, quick=quick):
                if self._clock() < end:
                    self.measure(work, end)
        return self.table

    def measure(self, work: TuningWork, end: float) -> None:
        """Make all choices of the family that compiling the operator needs, one after the other, until the clock
        reaches ``end``.

        A choice may lead to others, so the operator is compiled again after each.
        """
        while (question := self._next(work)) is not None:
            self._passed.add(question[:2])
            choice = _Contest(self, work, question, end).choice()
            if choice is None:
                continue
            self.table = self.table.with_choices(choice)
            tuned_file.keep(self._vulkan.file_name, choice)
            comparison = (
                "as the rules say" if choice.variant == choice.rule else f"{choice.rule} {_ms(choice.rule_seconds)}"
            )
            self.report(f"{choice.family}, {choice.work}: {choice.variant} {_ms(choice.seconds)} ({comparison})")

    def device(self, table: Tuned) -> Device:
        """Return the device with a table; devices of one kind share everything else."""
        return Device(self._vulkan.tuned_by(table), DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_6_4)

    def _next(self, work: TuningWork) -> TuningQuestion | None:
        listening = ListeningTable(self.table.choices)
        try:
            compiled(self.device(listening), work.desc, work.weights, work.scale)
        except DMLError:
            return None  # the device lacks the memory
        mine = (question for question in listening.asked if question.family == work.family)
        return next((q for q in mine if len(q.variants) > 1 and q[:2] not in self._passed), None)

    def is_over(self, end: float) -> bool:
        return self._clock() >= end

    def seconds_left(self, end: float) -> float:
        return end - self._clock()


class _Contest:
    """One choice: its variants by name, each with its recording."""

    def __init__(self, tuner: Tuner, work: TuningWork, question: TuningQuestion, end: float) -> None:
        self._tuner, self._work, self._question, self._end = tuner, work, question, end
        self._buffers: dict[str, Buffer] = {}

    def choice(self) -> TunedChoice | None:
        """Return the winner; None if time was short or only one variant ran."""
        rule, count, left = self._question.rule, len(self._question.variants), self._tuner.seconds_left(self._end)
        if self._tuner.pace.get(self._work.family, 0.0) * self._work.operations * 2 * count > left:
            self._say("no time for it")
            return None
        try:
            first = self._bound(rule)
            single = first.recorded(1)
            expected = first.results()
            if wrong := self._wrong(expected):
                self._say(f"{rule} is wrong, nothing is measured: {wrong}")
                return None
        except DMLError as error:
            self._say(f"{rule} does not run: {error.message}")
            return None
        once = self._tuner.timer(rule, single)
        self._tuner.pace[self._work.family] = once / self._work.operations
        if 2 * once * count > self._tuner.seconds_left(self._end):
            self._say(f"a run takes {_ms(once)}, more than the time left")
            return None
        runs = max(1, min(_MOST_RUNS, int(_SUBMISSION / max(once, 1e-9))))
        entrants = {rule: first.recorded(runs)}
        for variant in self._question.variants:
            if variant != rule and not self._tuner.is_over(self._end):
                recorded = self._entrant(variant, runs, first, expected)
                if recorded is not None:
                    entrants[variant] = recorded
        if len(entrants) == 1:
            return None
        taken = {variant: each / runs for variant, each in self._turns(entrants).items()}
        best = min(taken, key=lambda variant: taken[variant])
        if taken[best] > (1 - _GAIN) * taken[rule]:
            best = rule
        return TunedChoice(*self._question[:2], best, taken[best], rule, taken[rule])

    def _turns(self, entrants: Mapping[str, CommandList]) -> dict[str, float]:
        """Return the median time of each variant's turns."""
        keep_busy(entrants[self._question.rule], _BUSY)
        times: dict[str, list[float]] = {variant: [] for variant in entrants}
        for _ in range(_ROUNDS):
            for variant in times:
                times[variant].append(self._tuner.timer(variant, entrants[variant]))
            best = min(map(statistics.median, times.values()))
            hopeful = {variant: each for variant, each in times.items() if statistics.median(each) <= _HOPELESS * best}
            times = {self._question.rule: times[self._question.rule], **hopeful}
            if self._tuner.is_over(self._end) or len(times) == 1:
                break
        return {variant: statistics.median(each) for variant, each in times.items()}

    def _entrant(
        self, variant: str, runs: int, rule: MeasuredOperator, expected: Mapping[str, Any]
    ) -> CommandList | None:
        """Record a variant; None if it cannot be built, is identical to another, or is wrong."""
        try:
            bound = self._bound(variant)
            if bound.operator.program.dispatches == rule.operator.program.dispatches:
                return None
            bound.recorded(1)
            found = bound.results()
            if not all(_are_close(found[name], expected[name]) for name in expected):
                self._say(f"{variant} gives different results and is excluded")
                return None
            if wrong := self._wrong(found):
                self._say(f"{variant} is wrong and is excluded: {wrong}")
                return None
            return bound.recorded(runs)
        except DMLError as error:
            self._say(f"{variant} does not run: {error.message}")
            return None

    def _wrong(self, results: Mapping[str, Any]) -> str:
        """Return the fault that the judge finds in results; empty if there is none, or no judge."""
        judge, work = self._tuner.judge, self._work
        if judge is None:
            return ""

        def given(name: str, tensor: DML_BUFFER_TENSOR_DESC) -> Any:
            scale = work.scale if name in work.weights else 1.0
            return numbers(tensor, scale)[: tensor.element_count].reshape(tensor.Sizes)

        inputs = {
            name: given(name, tensor)
            for name, tensor in work.desc.inputs()
            if isinstance(tensor, DML_BUFFER_TENSOR_DESC)
        }
        outputs = {
            name: results[name][: tensor.element_count].reshape(tensor.Sizes)
            for name, tensor in work.desc.outputs()
            if isinstance(tensor, DML_BUFFER_TENSOR_DESC)
        }
        return judge(work.desc, inputs, outputs)

    def _bound(self, variant: str) -> MeasuredOperator:
        question = self._question
        choice = TunedChoice(question.family, question.work, variant, 1.0, question.rule, 1.0)
        device = self._tuner.device(self._tuner.table.with_choices(choice))
        operator = compiled(device, self._work.desc, self._work.weights, self._work.scale)
        return MeasuredOperator(operator, self._buffers)

    def _say(self, text: str) -> None:
        self._tuner.report(f"{self._question.family}, {self._question.work}: {text}")


def _are_close(found: Any, expected: Any) -> bool:
    """Whether floating results differ by no more than reordered sums explain, and others are equal."""
    most = _DIFFERENCE.get(expected.dtype)
    if most is None:
        return bool(np.array_equal(found, expected))
    a, b = found.astype(np.float32), expected.astype(np.float32)
    return bool(np.allclose(a, b, rtol=0.0, atol=most * float(np.nanmax(np.abs(b), initial=0.0)), equal_nan=True))


def _ms(each: float) -> str:
    return f"{1e3 * each:.4g} ms"
