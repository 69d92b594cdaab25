"""Kompute's patches (tools/kompute), a test for each promise."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import kp
import numpy as np
import pytest

from dml.glslang import Source, compile

NONE = np.empty(0, np.uint32)
HEAD = """#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer B { uint b[]; };
"""


@pytest.fixture(scope="module")
def manager():
    return kp.Manager(0)


def sequence_of(manager, body, words=64):
    tensor = manager.tensor_t(np.zeros(words, np.uint32))
    spirv = compile(Source("body.comp", f"{HEAD}void main() {{ uint i = gl_GlobalInvocationID.x; {body} }}\n"))
    algorithm = manager.algorithm([tensor], spirv, (words // 64, 1, 1), NONE, NONE)
    # OpAlgoDispatch's own barrier orders copies before its reads only; this one also orders them before its writes.
    access, stage = kp.AccessFlagBits, kp.PipelineStageFlagBits
    copied = kp.OpMemoryBarrier(
        [tensor], access.transfer_write, access.shader_read | access.shader_write, stage.transfer, stage.compute_shader
    )
    sequence = manager.sequence().record(kp.OpTensorSyncDevice([tensor])).record(copied)
    sequence.record(kp.OpAlgoDispatch(algorithm))
    return sequence.record(kp.OpTensorSyncLocal([tensor])), tensor


def test_a_device_is_created_with_features(manager):
    """Enables 16-bit storage, whose first feature lavapipe has and SwiftShader lacks."""
    structure = 1000083000
    wanted = {structure: [True, False, False, False]}
    assert kp.Manager(0).features == {}
    if "SwiftShader" in manager.get_device_properties()["device_name"]:
        with pytest.raises(RuntimeError, match="FeatureNotPresent"):
            kp.Manager(0, features=wanted)
    else:
        assert kp.Manager(0, features=wanted, api_version=1 << 22 | 3 << 12).features == wanted


def test_kompute_is_self_contained():
    """The wheel needs no libfmt, includes the licenses of its code, and sets no upper bound on NumPy."""
    files = {path.name for path in importlib.metadata.files("kp") or ()}
    assert {"LICENSE", "LICENSE.fmt", "LICENSE.pybind11"} <= files
    assert b"libfmt.so" not in Path(kp.__file__).read_bytes()
    assert not any("<" in need for need in importlib.metadata.requires("kp") or ())


def test_types_of_somebody_elses_kompute_are_not_ours():
    """pybind11 refuses two types with the same name in one table of types, even from different modules."""
    assert re.search(rb"__pybind11_internals_v\d+_\w*_dml", Path(kp.__file__).read_bytes())


def test_flags_combine():
    access, stage = kp.AccessFlagBits, kp.PipelineStageFlagBits
    assert access.shader_read | access.shader_write | access.host_read == 0x20 | 0x40 | 0x2000
    assert stage.compute_shader | stage.host == 0x800 | 0x4000


def test_a_barrier_takes_masks(manager):
    sequence, tensor = sequence_of(manager, "b[i] += 1u;")
    access, stage = kp.AccessFlagBits, kp.PipelineStageFlagBits
    barrier = kp.OpMemoryBarrier(
        [tensor],
        src_access_mask=access.shader_write,
        dst_access_mask=access.shader_read | access.host_read,
        src_stage_mask=stage.compute_shader,
        dst_stage_mask=stage.compute_shader | stage.host,
    )
    sequence.record(barrier).eval()
    assert tensor.data().tolist() == [1] * 64


def test_a_barrier_on_staging_memory_that_is_not_there_is_an_error(manager):
    storage = manager.tensor_t(np.zeros(64, np.uint32), kp.TensorTypes.storage)
    with pytest.raises(RuntimeError, match="no staging buffer"):
        manager.sequence().record(kp.OpMemoryBarrier([storage], barrier_on_primary=False))


def test_out_of_memory_is_an_error_and_leaks_nothing(manager):
    """The process has little address space, for drivers that allocate in the process."""
    code = """
        import mmap, resource, sys
        import kp
        manager = kp.Manager(int(sys.argv[1]))
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20),) * 2)
        try:
            mmap.mmap(-1, 2 << 30).close()
            sys.exit(77)
        except OSError:
            pass
        # New versions of lavapipe map memory without host access on first use by a kernel, and fail only then.
        fitting = []
        for _ in range(8):
            for use in (kp.BufferUse.device, kp.BufferUse.shared):
                buffers = []
                try:
                    while len(buffers) < 64:
                        buffers.append(manager.buffer(45 << 20, use))
                        if use == kp.BufferUse.shared:
                            buffers[-1].data()[-1] = 1
                except RuntimeError as error:
                    assert "OutOf" in str(error), error
                fitting.append(len(buffers))
                del buffers
        assert 0 < max(fitting[1::2]) < 64, fitting
        # What one failure in each round left behind would be missing six times; one is left to the driver's threads.
        assert all(last >= first - 1 for first, last in zip(fitting[2:4], fitting[-2:])), fitting
    """
    environment = {
        **os.environ,
        "MALLOC_ARENA_MAX": "1",
    }  # without this, threads reserve address space for their heaps
    names = [properties["device_name"] for properties in manager.list_devices()]
    tried = [which for which, name in enumerate(names) if "llvmpipe" in name or "SwiftShader" in name]
    if not tried:
        pytest.skip("no device is a CPU driver: its memory is not this process's")
    for which in tried:
        command = [sys.executable, "-c", textwrap.dedent(code), str(which)]
        run = subprocess.run(command, capture_output=True, text=True, env=environment)
        if run.returncode == 77:
            pytest.skip("the limit of the address space is ignored, as in an emulator")
        assert run.returncode == 0, f"{names[which]}: {run.stderr}"


def test_timestamps_start_afresh_with_every_evaluation(manager):
    words = 64
    tensor = manager.tensor_t(np.zeros(words, np.uint32))
    spirv = compile(Source("body.comp", f"{HEAD}void main() {{ b[gl_GlobalInvocationID.x] += 1u; }}\n"))
    algorithm = manager.algorithm([tensor], spirv, (1, 1, 1), NONE, NONE)
    sequence = manager.sequence(0, 2)
    sequence.record(kp.OpAlgoDispatch(algorithm)).record(kp.OpMemoryBarrier([tensor]))
    with pytest.raises(RuntimeError, match="once an evaluation is over"):
        sequence.get_timestamps()
    with pytest.raises(RuntimeError, match="no timestamp left"):
        sequence.record(kp.OpAlgoDispatch(algorithm))
    stamps = []
    for _ in range(2):
        sequence.eval()
        stamps += sequence.get_timestamps()
    assert len(stamps) == 6
    assert stamps == sorted(stamps)
    assert stamps[3] > stamps[2]


# --- buffers, pipelines and submissions (0015) ------------------------------------------------------------------------

ADD = """#version 450
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint STEP = 1u;
layout(push_constant) uniform Push { uint from; } push_;
layout(std430, binding = 0) buffer B { uint b[]; };
void main() { b[push_.from + gl_LocalInvocationIndex] += STEP * (gl_WorkGroupID.x + 1u); }
"""


def barrier(access_to, stage_to):
    access, stage = kp.AccessFlagBits, kp.PipelineStageFlagBits
    written = access.shader_write | access.transfer_write
    return kp.OpBarrier(written, access_to, stage.compute_shader | stage.transfer, stage_to)


def test_ranges_are_bound_filled_and_copied(manager):
    """A dispatch with a base workgroup changes 64 words of the bound range; all others keep their values."""
    shared, device = manager.buffer(1024, kp.BufferUse.shared), manager.buffer(4096, kp.BufferUse.device)
    pipeline = manager.pipeline(compile(Source("add.comp", ADD)), [10], 1, 4)
    words = shared.data().view(np.uint32)
    words[:] = 7
    access, stage = kp.AccessFlagBits, kp.PipelineStageFlagBits
    both, anywhere = access.shader_read | access.shader_write, stage.compute_shader | stage.transfer
    sequence = manager.sequence()
    for operation in (
        kp.OpFill(device, 1024, 1024, 5),
        barrier(both | access.transfer_read, anywhere),
        manager.dispatch(pipeline, [(device, 1280, 512)], [32], (2, 0, 0), (1, 1, 1)),
        barrier(access.transfer_read, stage.transfer),
        kp.OpCopy(device, 1024, shared, 0, 1000),
        barrier(access.host_read, stage.host),
    ):
        sequence.record(operation)
    submission = manager.submit([sequence])
    while not submission.wait(10**9):
        pass
    assert submission.wait(0)
    expected = np.full(256, 5)
    expected[250:] = 7
    expected[64 + 32 : 128 + 32] += 10 * 3
    assert words.tolist() == expected.tolist()


def test_a_uniform_buffer_follows_the_storage_buffers(manager):
    """The uniform buffer has the next binding, also if it is the only one."""
    kernel = """#version 450
        layout(local_size_x = 4) in;
        layout(std430, binding = 0) writeonly buffer B { uint b[]; };
        layout(std140, binding = 1) uniform U { uvec4 u; };
        void main() { uint i = gl_LocalInvocationIndex; b[i] = u[i] + 1u; }
    """
    pipeline = manager.pipeline(compile(Source("uniform.comp", kernel)), [], 1, 0, uniform=True, name="reads u")
    buffer = manager.buffer(1024, kp.BufferUse.shared)
    words = buffer.data().view(np.uint32)
    words[:] = np.arange(256)
    ranges = [(buffer, 0, 256), (buffer, 512, 16)]
    operation = manager.dispatch(pipeline, ranges, [], (0, 0, 0), (1, 1, 1))
    submission = manager.submit([manager.sequence().record(operation)])
    while not submission.wait(10**9):
        pass
    assert words[:5].tolist() == [129, 130, 131, 132, 4]
    with pytest.raises(RuntimeError, match="as many ranges"):
        manager.dispatch(pipeline, ranges[:1], [], (0, 0, 0), (1, 1, 1))
    alone = compile(Source("none.comp", "#version 450\nlayout(binding = 0) uniform U { uvec4 u; };\nvoid main() {}\n"))
    pipeline = manager.pipeline(alone, [], 0, 0, uniform=True)
    manager.dispatch(pipeline, ranges[1:], [], (0, 0, 0), (1, 1, 1))


def slow_sequence(manager):
    """Return a sequence that takes tenths of a second on a CPU driver, and the words that it writes. An iteration has
    many steps, because llvmpipe ends loops after 65,535 iterations."""
    step = "x = x * 1664525u + b[x & 63u]; " * 16
    body = f"uint i = gl_GlobalInvocationID.x, x = i; for (int k = 0; k < 8000; ++k) {{ {step} }} b[i] = x + 1u;"
    pipeline = manager.pipeline(compile(Source("slow.comp", f"{HEAD}void main() {{ {body} }}\n")), [], 1, 0)
    buffer = manager.buffer(4 << 12, kp.BufferUse.shared)
    words = buffer.data().view(np.uint32)
    words[:] = 0
    dispatch = manager.dispatch(pipeline, [(buffer, 0, 4 << 12)], [], (0, 0, 0), ((1 << 12) // 64, 1, 1))
    return manager.sequence().record(dispatch), words


def test_a_wait_that_timed_out_can_be_repeated(manager):
    sequence, words = slow_sequence(manager)
    submission = manager.submit([sequence])
    assert not submission.wait(1)  # nanoseconds
    while not submission.wait(10**9):
        pass
    assert words.any()


def test_other_threads_run_while_one_waits(manager):
    sequence, _ = slow_sequence(manager)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    start = time.perf_counter()
    submission = manager.submit([sequence])
    while not submission.wait(10**9):
        pass
    end = time.perf_counter()
    done.set()
    ticker.join()
    assert sum(start < moment < end for moment in ticks) >= 3


def test_ranges_beyond_a_buffer_are_errors(manager):
    buffer = manager.buffer(1024, kp.BufferUse.device)
    pipeline = manager.pipeline(compile(Source("add.comp", ADD)), [1], 1, 4)
    for wrong in (
        lambda: kp.OpFill(buffer, 512, 516),
        lambda: kp.OpFill(buffer, 2, 4),
        lambda: kp.OpCopy(buffer, 0, buffer, 1020, 8),
        lambda: manager.dispatch(pipeline, [(buffer, 1024, 4)], [0], (0, 0, 0), (1, 1, 1)),
        lambda: manager.dispatch(pipeline, [(buffer, 0, 0)], [0], (0, 0, 0), (1, 1, 1)),
        lambda: manager.dispatch(pipeline, [], [0], (0, 0, 0), (1, 1, 1)),
        lambda: manager.dispatch(pipeline, [(buffer, 0, 4)], [], (0, 0, 0), (1, 1, 1)),
        lambda: manager.buffer(0, kp.BufferUse.device),
        lambda: buffer.data(),
    ):
        with pytest.raises(RuntimeError, match="Kompute"):
            wrong()


def test_a_sequence_runs_once_at_a_time(manager):
    """A sequence runs once at a time, and submitted objects live until the device has finished with them."""
    buffer = manager.buffer(256, kp.BufferUse.shared)
    buffer.data()[:] = 0
    pipeline = manager.pipeline(compile(Source("add.comp", ADD)), [1], 1, 4)
    sequence = manager.sequence().record(manager.dispatch(pipeline, [(buffer, 0, 256)], [0], (0, 0, 0), (1, 1, 1)))
    submission = manager.submit([sequence])
    with pytest.raises(RuntimeError, match="earlier submission"):
        manager.submit([sequence])
    words = buffer.data().view(np.uint32)
    del sequence, pipeline, buffer
    while not submission.wait(10**9):
        pass
    assert words.tolist() == [1] * 64


def test_heaps_have_sizes_and_budgets(manager):
    heaps = manager.heaps()
    assert heaps
    assert any(own for _, own, _, _ in heaps)
    for size, _, budget, usage in heaps:
        assert 0 < budget <= size or usage


# --- the pipelines' cache (0016) --------------------------------------------------------------------------------------


def test_pipeline_data_initializes_the_next_managers_cache():
    spirv = compile(Source("add.comp", ADD))
    first = kp.Manager(0)
    first.pipeline(spirv, [3], 1, 4)
    data = first.pipeline_cache_data()
    # VkPipelineCacheHeaderVersionOne
    assert np.frombuffer(data[:8], np.uint32).tolist() == [32, 1]
    second = kp.Manager(0)
    second.set_pipeline_cache_data(data)
    second.pipeline(spirv, [3], 1, 4)
    assert second.pipeline_cache_data()[:32] == data[:32]
    for wrong in (data, b""):
        with pytest.raises(RuntimeError, match="Kompute"):
            second.set_pipeline_cache_data(wrong)
