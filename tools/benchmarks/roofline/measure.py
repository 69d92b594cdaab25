"""How long an operator takes on the device, its data there and the device at work."""

from __future__ import annotations

import statistics

import dml
from dml.tuning.measuring import MeasuredOperator, compiled, keep_busy, seconds
from roofline.work import Work

#: Runs in the longer of the two submissions whose difference is measured, and how often.
RUNS, TIMES = 21, 7
#: Seconds that the device works before: an idle GPU lowers its clock.
BUSY = 0.15


def seconds_of(device: dml.Device, work: Work) -> float:
    """Seconds of one run: the slope from a submission of one to one of RUNS, so that what a submission costs is not
    counted, and what lies between dispatches is."""
    made = work.graph(device) if work.graph is not None else compiled(device, work.desc, work.weights)
    bound = MeasuredOperator(made)
    one, many = bound.recorded(1), bound.recorded(RUNS)
    keep_busy(many, BUSY)
    taken = [(seconds(many) - seconds(one)) / (RUNS - 1) for _ in range(TIMES)]
    return statistics.median(taken)
