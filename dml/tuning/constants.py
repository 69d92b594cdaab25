"""Measures selection's thresholds again: each row's value against its alternatives, on the row's workloads."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dml.api.device import Device
from dml.api.recorder import CommandList
from dml.compiler.selection.thresholds import Threshold, overridden, rows
from dml.compiler.target import Target
from dml.compiler.tuned import Tuned, TunedChoice
from dml.enums import DML_FEATURE_LEVEL
from dml.errors import DMLError
from dml.runtime.buffer import Buffer
from dml.runtime.devices import VulkanDevice
from dml.tuning.measuring import MeasuredOperator, compiled, keep_busy, seconds
from dml.tuning.workloads import Workload, workload

#: Approximate seconds of a submission, and its maximum runs; seconds of warm-up before the first turn; rounds.
_SUBMISSION, _MOST_RUNS, _BUSY, ROUNDS = 0.02, 100, 0.1, 15

_DEVICES: Mapping[str, tuple[str, Callable[[Target], bool]]] = {
    "cpu": ("drivers on CPUs", lambda target: target.is_cpu),
    "llvmpipe": ("llvmpipe", lambda target: target.llvmpipe > (0, 0)),
    "gpu": ("GPUs", lambda target: not target.is_cpu),
    "any": ("any device", lambda target: True),
}

#: Measures the seconds of one submission, given the row, the value and the commands.
Timer = Callable[[Threshold, Any, CommandList], float]


@dataclass(frozen=True)
class Remeasured:
    """New measurements of a row.

    samples: value (JSON) -> median milliseconds of each workload. faster: alternative (JSON) -> speed-up over the row's
    value, as the geometric mean of the workloads' median ratios. A workload with an identical program has ratio 1.0; an
    alternative with identical programs only is absent.
    """

    row: Threshold
    samples: dict[str, list[float]]
    faster: dict[str, float]

    @property
    def best(self) -> str | None:
        """The fastest alternative, as JSON, if it beats the row's value by the row's margin; else None."""
        best = max(self.faster, key=lambda value: self.faster[value], default=None)
        return best if best is not None and self.faster[best] >= self.row.margin else None

    @property
    def verdict(self) -> str:
        if not self.faster:
            return "makes no difference on this device"
        if self.best is None:
            return "holds"
        return f"does not hold: {self.best} is {self.faster[self.best]:.2f} times faster"


def wanted(names: Iterable[str], target: Target) -> list[Threshold]:
    """Return these rows; without names, all rows for the device's class.

    Raises DMLError for an unknown name, and for a row of another device class.
    """
    found = []
    for name in names:
        row = rows().get(name)
        if row is None:
            raise DMLError(f"--constants: there is no row {name!r}; without a name, all for the device are measured")
        words, fits = _DEVICES[row.device]
        if not fits(target):
            raise DMLError(f"--constants: {name} is for {words}, found a device of class {target.device_class.value}")
        found.append(row)
    return found or [row for row in rows().values() if _DEVICES[row.device][1](target)]


def remeasure(
    vulkan: VulkanDevice, row: Threshold, timer: Timer = lambda row, value, commands: seconds(commands)
) -> Remeasured:
    """Measure a row's value and its alternatives on the device, alternating."""
    values = [row.value, *row.alternatives]
    samples: dict[str, list[float]] = {_text(value): [] for value in values}
    ratios: dict[str, list[float]] = {_text(value): [] for value in row.alternatives}
    changed: set[str] = set()
    for named in row.workloads:
        recorded = _recorded(vulkan, row, workload(named), timer)
        times: dict[str, list[float]] = {text: [] for text in recorded}
        for _ in range(ROUNDS):
            for text, (value, commands, runs) in recorded.items():
                times[text].append(timer(row, value, commands) / runs)
        rule = times[_text(row.value)]
        for text, taken in samples.items():
            taken.append(float(f"{1e3 * statistics.median(times.get(text, rule)):.3g}"))
        for text in ratios:
            own = times.get(text, rule)
            ratios[text].append(statistics.median(a / b for a, b in zip(rule, own, strict=True)))
        changed |= times.keys() - {_text(row.value)}
    faster = {text: math.prod(each) ** (1 / len(each)) for text, each in ratios.items() if text in changed}
    return Remeasured(row, samples, faster)


def _recorded(
    vulkan: VulkanDevice, row: Threshold, work: Workload, timer: Timer
) -> dict[str, tuple[Any, CommandList, int]]:
    """Record the workload with each value, except for alternatives whose program equals that of the row's value."""
    buffers: dict[str, Buffer] = {}
    found: dict[str, tuple[Any, CommandList, int]] = {}
    own: MeasuredOperator | None = None
    runs = 1
    for value in (row.value, *row.alternatives):
        with overridden(row.name, value):
            operator = compiled(_device(vulkan, row, value), work.desc, work.weights, work.scale)
            if own is not None and operator.program.dispatches == own.operator.program.dispatches:
                continue
            measured = MeasuredOperator(operator, buffers)
            single = measured.recorded(1)
            if own is None:
                own, once = measured, timer(row, value, single)
                runs = max(1, min(_MOST_RUNS, int(_SUBMISSION / max(once, 1e-9))))
            commands = measured.recorded(runs)
            keep_busy(commands, _BUSY)
            found[_text(value)] = value, commands, runs
    return found


def _device(vulkan: VulkanDevice, row: Threshold, value: Any) -> Device:
    """Return the device with a separate target, so that no program cached for another value is used. The value is
    stored as a tuned choice of a family that no rule reads."""
    mark = TunedChoice("constants", row.name, _text(value), 1.0, "", 1.0)
    return Device(vulkan.tuned_by(Tuned((mark,))), DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_6_4)


def as_json(found: Remeasured, driver: str) -> dict[str, Any]:
    """Return a result as JSON data: the fields of a row, which can replace the measured one, and the measurements."""
    row = found.row
    return {
        "name": row.name, "value": row.value, "alternatives": row.alternatives, "device": row.device,
        "workloads": row.workloads, "driver": driver, "samples": found.samples, "faster": found.faster,
        "holds": found.best is None, "verdict": found.verdict,
    }  # fmt: skip


def _text(value: Any) -> str:
    return json.dumps(value)
