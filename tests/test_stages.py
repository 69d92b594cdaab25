"""Stages: the attribution of their time, their counts, and that nothing is recorded unless someone collects."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import numpy as np
import pytest

from dml import glslang, stages
from dml.graph.builder import Builder
from dml.graph.operations import relu
from dml.runtime.pipelines import Pipelines


@pytest.fixture
def clock(monkeypatch):
    """Both clocks stand still; adding to the list's only element advances them."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(stages, "cpu_seconds", lambda: 10 * now[0])
    return now


def test_time_belongs_to_the_innermost_stage(clock):
    with stages.collect() as collected:
        clock[0] += 100
        for _ in range(2):
            with stages.stage("outer"):
                clock[0] += 1
                with stages.stage("inner"):
                    clock[0] += 2
                clock[0] += 4
        clock[0] += 100
    assert collected.stages == {"outer": stages.Spent(2, 10, 100), "inner": stages.Spent(2, 4, 40)}


def test_a_stage_that_fails_ends(clock):
    with stages.collect() as collected:
        with suppress(ValueError), stages.stage("outer"), stages.stage("inner"):
            clock[0] += 1
            raise ValueError
        clock[0] += 1
    assert collected.stages == {"outer": stages.Spent(1, 0, 0), "inner": stages.Spent(1, 1, 10)}


def test_other_threads_are_counted_but_take_no_time_of_ours(clock):
    def work():
        with stages.stage("pipelines"):
            clock[0] += 1
        stages.saw("kernels", b"a")

    with stages.collect() as collected, stages.stage("plan"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert collected.stages == {"plan": stages.Spent(1, 1, 10), "pipelines": stages.Spent(1, 0, 0)}
    assert collected.distinct == {"kernels": {b"a"}}


def test_equal_objects_count_once():
    with stages.collect() as collected:
        for kernel in (b"a", b"b", b"a"):
            stages.saw("kernels", kernel)
    assert len(collected.distinct["kernels"]) == 2


def test_an_inner_collection_hides_the_outer_one():
    with stages.collect() as outer:
        with stages.collect() as inner, stages.stage("a"):
            pass
        with stages.stage("b"):
            pass
    assert (list(outer.stages), list(inner.stages)) == (["b"], ["a"])


def test_nobody_collects():
    told = []
    with stages.collect(lambda *at: told.append(at)) as collected:
        stages.progress("glslang", 1, 2)
    with stages.stage("a"):
        stages.saw("kernels", b"a")
        stages.progress("glslang", 2, 2)
    assert told == [("glslang", 1, 2)]
    assert not collected.stages
    assert not collected.distinct
    assert stages.stage("a") is stages.stage("b")


def test_cpu_seconds_count_child_processes():
    import subprocess
    import sys

    before = stages.cpu_seconds()
    subprocess.run([sys.executable, "-c", "sum(range(10**6))"], check=True)
    own = time.process_time()
    assert stages.cpu_seconds() >= before
    assert stages.cpu_seconds() > own


@pytest.fixture
def fresh(device, tmp_path, monkeypatch):
    """Start with nothing compiled, on disk or in memory, and no pipeline."""
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path))
    glslang._memory.clear()
    vulkan = device.vulkan
    monkeypatch.setattr(
        device._context,
        "pipelines",
        Pipelines(vulkan, device._context.manager, device._context.gate, named=False, late=False),
    )
    return device


def test_preparing_a_graph_goes_through_the_stages(fresh):
    told = []
    with stages.collect(lambda *at: told.append(at)) as collected:
        graph = Builder(fresh)
        x = graph.input("x", (1, 1, 3, 7))
        weights = np.full((1, 1, 3, 7), 0.123456789, np.float32)
        compiled = graph.compile({"y": relu(x * graph.constant(weights))})
        compiled.dispatch({"x": weights})
    assert {"plan", "glslang", "upload"} <= set(collected.stages)
    assert {kind: len(seen) for kind, seen in collected.distinct.items()} == dict.fromkeys(
        ("compilations", "kernels", "pipelines"), 1
    )
    assert {("glslang", 0, 1), ("glslang", 1, 1), ("pipelines", 1, 1)} <= set(told)
    with stages.collect() as again:
        compiled.dispatch({"x": weights})
        graph = Builder(fresh)
        x = graph.input("x", (1, 1, 3, 7))
        graph.compile({"y": relu(x * graph.constant(weights))}).dispatch({"x": weights})
    assert not again.distinct
