"""Pipelines: created once, on all cores, as soon as a program is compiled; errors are raised where they are
requested."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dml
from dml.compiler.program import Access, Dispatch, Region, Space, StorageBinding
from dml.glslang import Source
from dml.runtime import pipelines
from dml.runtime.devices import VulkanDevice
from dml.runtime.pipelines import Pipeline, Pipelines
from dml.runtime.queue import Gate
from harness import tensor

BINDING = StorageBinding(Region(Space.OUTPUT, 0, 0, 4), Access.WRITE)
BINDING_BY_TEXELS = StorageBinding(Region(Space.INPUT, 0, 0, 16), Access.READ, texel=4)


def dispatch(binding=BINDING, **more) -> Dispatch:
    return Dispatch("kernel", Source("", ""), (binding,), (1, 1, 1), **more)


def get(made: Pipelines, kernel: int) -> Pipeline:
    return made.get(dispatch(), bytes([kernel]))


def begin(made: Pipelines, *kernels: int) -> object:
    return made.begin([dispatch()] * len(kernels), [bytes([kernel]) for kernel in kernels])


class Driver:
    """Stands in for Kompute's Manager: records requests, and runs ``during`` meanwhile."""

    def __init__(self, during=lambda kernel: None) -> None:
        self.asked: list[tuple[object, ...]] = []
        self._during = during

    def pipeline(self, spirv, constants, buffers, push_size, uniform, texels):
        assert not len(constants)
        self.asked.append((spirv, buffers, push_size, uniform, texels))
        self._during(spirv[0])
        return object()

    def pipeline_cache_data(self):
        return b""


@pytest.fixture
def pipelines_of(vulkan: VulkanDevice, monkeypatch, tmp_path):
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    return lambda driver, late=False: Pipelines(vulkan, driver, Gate(), named=False, late=late)


def test_one_for_a_kernel_and_its_layout(pipelines_of):
    made = pipelines_of(driver := Driver())
    found = [
        made.get(one, spirv)
        for one, spirv in (
            (dispatch(), b"a"),
            (dispatch(parameters=(5,)), b"a"),
            (dispatch(push=(5,)), b"a"),
            (dispatch(BINDING_BY_TEXELS), b"a"),
            (dispatch(), b"b"),
        )
    ]
    assert len(set(found)) == len(driver.asked) == len(made) == made.made == 5
    storage, texels = (0,), (4,)
    assert driver.asked[:4] == [
        (b"a", 1, 4, False, storage),
        (b"a", 1, 4, True, storage),
        (b"a", 1, 8, False, storage),
        (b"a", 1, 4, False, texels),
    ]
    again = [made.get(dispatch(push=(6,), node="n"), b"a"), made.get(dispatch(parameters=(6,)), b"a")]
    assert again == [found[2], found[1]]
    assert made.made == 5


def test_requested_pipelines_are_found(pipelines_of):
    """Two pipelines are created at once, on two cores: each waits for the other."""
    both = threading.Barrier(2, timeout=30)
    made = pipelines_of(driver := Driver(lambda kernel: both.wait()))
    requested = begin(made, 1, 2, 1)
    found = [get(made, k) for k in (1, 2)]
    assert len(set(found)) == len(driver.asked) == 2
    del requested


def test_dropped_requests_are_cancelled(pipelines_of):
    started, go = threading.Event(), threading.Event()

    def wait(kernel):
        started.set()
        assert go.wait(30)

    made = pipelines_of(driver := Driver(wait))
    requested = begin(made, 0, 1)  # one for each core
    assert started.wait(30)
    dropped = begin(made, *range(2, 9))
    del dropped
    go.set()
    for k in (0, 1, 99):
        get(made, k)
    assert sorted(spirv[0] for spirv, *_ in driver.asked) == [0, 1, 99]
    del requested


def test_who_needs_one_does_not_wait_for_those_begun_before_it(pipelines_of):
    go = threading.Event()
    made = pipelines_of(Driver(lambda kernel: kernel == 9 or go.wait(30)))
    requested = begin(made, 0, 1, 9)
    try:
        assert get(made, 9).native is not None, "made at once, while both cores are busy"
        assert made.made == 1
    finally:
        go.set()
    del requested


def test_an_error_reaches_the_requesting_thread(pipelines_of):
    """The thread that requests a pipeline gets its error; the next request tries again."""
    failing = [True]

    def fail(kernel):
        if failing[0]:
            raise RuntimeError("createComputePipelines: ErrorOutOfDeviceMemory")

    made = pipelines_of(Driver(fail))
    requested = begin(made, 1)
    for _ in range(2):
        with pytest.raises(dml.DMLError, match="making a compute pipeline: createComputePipelines") as raised:
            get(made, 1)
        assert raised.value.hresult == dml.HRESULT.E_OUTOFMEMORY
    failing[0] = False
    assert get(made, 1) is get(made, 1)
    del requested


def test_threads_that_ask_for_the_same_get_the_same(pipelines_of):
    made = pipelines_of(Driver())
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda k: get(made, k % 4), range(64)))
    assert all(found[k] is found[k % 4] for k in range(64))


def test_pipelines_are_created_when_an_operator_is_compiled(device, monkeypatch):
    """Pipelines are created before anything is dispatched; dispatching creates none."""
    made = device.context.pipelines
    x = np.linspace(0.1, 1, 7, dtype=np.float32)
    t = tensor("FLOAT32", x.shape)
    desc = dml.DML_ELEMENT_WISE_TAN_OPERATOR_DESC(t, t, dml.DML_SCALE_BIAS(1.25, 0.625))
    compiled = device.compile_operator(device.create_operator(desc))
    for one, kernel in zip(compiled.program.dispatches, compiled.kernels, strict=True):
        assert made._begun.get(key := pipelines._Key.of(one, kernel)) or made._present.get(key)
        made.get(one, kernel)
    before = made.made
    np.testing.assert_allclose(compiled.dispatch({"InputTensor": x})["OutputTensor"], np.tan(1.25 * x + 0.625), 1e-5)
    assert made.made == before


@pytest.mark.no_validation  # the layer aborts at exit, when it checks bounds
def test_a_process_can_exit_during_compilation(vulkan):
    """At exit, pipelines in progress are waited for, and no others are begun."""
    code = f"""
        from dml.compiler.program import Access, Dispatch, Region, Space, StorageBinding
        from dml.glslang import Source, compile
        from dml.runtime.context import open_context
        from dml.runtime.devices import choose

        text = "layout(binding = 0) buffer B {{ uint b[]; }}; void main() {{ b[gl_WorkGroupID.x] += K; }}"
        kernels = [compile(Source("add.comp", "#version 450\\n" + text, (("K", str(k) + "u"),))) for k in range(16)]
        binding = StorageBinding(Region(Space.OUTPUT, 0, 0, 4), Access.WRITE)
        dispatches = [Dispatch("", Source("", ""), (binding,), (1, 1, 1))] * len(kernels)
        held = open_context(choose({vulkan.name!r})).pipelines.begin(dispatches, kernels)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("late, trims", [(True, 1), (False, 0)], ids=["cpu", "gpu"])
def test_memory_freed_by_a_cpus_compiler_is_returned(pipelines_of, monkeypatch, late, trims):
    trimmed: list[int] = []
    done = threading.Event()

    class Libc:
        def malloc_trim(self, pad: int) -> None:
            trimmed.append(pad)
            done.set()

    monkeypatch.setattr("dml.runtime.pipelines.ctypes.CDLL", lambda name: Libc())
    made = pipelines_of(Driver(), late=late)
    requested = begin(made, *range(8))
    assert done.wait(5 if late else 0.2) is late
    assert len(trimmed) == trims
    del requested
