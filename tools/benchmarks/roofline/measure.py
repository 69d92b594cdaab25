"""Measure an operator on a busy device, with its data in device memory."""

from __future__ import annotations

import statistics

import dml
from dml.tuning.measuring import MeasuredOperator, compiled, keep_busy, seconds
from roofline.work import Work

#: RUNS: runs in the longer of the two submissions whose difference is measured. TIMES: number of measurements, of which
#: the median is reported.
RUNS, TIMES = 21, 7
#: Seconds of work before measuring: an idle GPU lowers its clock.
BUSY = 0.15


def seconds_of(device: dml.Device, work: Work) -> float:
    """Return the seconds of one run: the slope between submissions of one run and of RUNS, which excludes the cost of a
    submission and includes the gaps between dispatches."""
    made = work.graph(device) if work.graph is not None else compiled(device, work.desc, work.weights)
    bound = MeasuredOperator(made)
    one, many = bound.recorded(1), bound.recorded(RUNS)
    keep_busy(many, BUSY)
    taken = [(seconds(many) - seconds(one)) / (RUNS - 1) for _ in range(TIMES)]
    return statistics.median(taken)
