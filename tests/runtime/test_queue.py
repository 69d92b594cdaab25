"""Work without waiting, in processes that fork, are interrupted, or end meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import dml
from dml.runtime import commands, writing
from dml.runtime.queue import Gate
from harness import tensor

COUNT = 1 << 16


def doubling(device: dml.Device, buffer, times: int):
    """Return a command list that doubles the buffer's floats ``times`` times."""
    t = tensor("FLOAT32", (COUNT,))
    desc = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(ATensor=t, BTensor=t, OutputTensor=t)
    compiled = device.compile_operator(device.create_operator(desc))
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(compiled))
    binding = dml.DML_BUFFER_BINDING(buffer, 0, buffer.size)
    table.bind_inputs([binding, binding])
    table.bind_outputs([binding])
    commands = device.create_command_list()
    for _ in range(times):
        device.create_command_recorder().record_dispatch(commands, compiled, table)
    return commands


def test_work_without_waiting(device):
    buffer = device.create_buffer(np.ones(COUNT, np.float32))
    commands = doubling(device, buffer, 8)
    fence = commands.execute(wait=False)
    assert fence.wait()
    assert fence.is_done
    assert fence.wait(0)
    assert (buffer.read(np.float32) == 256).all()


def test_submissions_follow_each_other(device):
    """Submissions do not wait for each other on the host; a read waits for all."""
    buffer = device.create_buffer(np.ones(COUNT, np.float32))
    first, second = doubling(device, buffer, 3), doubling(device, buffer, 4)
    for _ in range(3):
        first.execute(wait=False)
        second.execute(wait=False)
    assert (buffer.read(np.float32) == 2.0**21).all()


def test_several_lists_go_in_one_submission(device, monkeypatch):
    buffer = device.create_buffer(np.ones(COUNT, np.float32))
    lists = [doubling(device, buffer, 2) for _ in range(3)]
    device.execute_command_lists(lists)  # the driver compiles the kernels during this call
    queue, submitted = device.context.queue, []
    submit = queue.submit
    monkeypatch.setattr(queue, "submit", lambda sequences, keep: submitted.append(1) or submit(sequences, keep))
    fence = device.execute_command_lists(lists, wait=False)
    assert submitted == [1]
    assert fence.wait(60)
    assert (buffer.read(np.float32) == 2.0**12).all()
    device.execute_command_lists([lists[0], lists[0]])
    assert (buffer.read(np.float32) == 2.0**16).all()


def test_a_fence_that_is_dropped_drops_no_work(device):
    buffer = device.create_buffer(np.ones(COUNT, np.float32))
    doubling(device, buffer, 5).execute(wait=False)
    assert (buffer.read(np.float32) == 32).all()


def test_lists_end_with_a_barrier_towards_the_host(device, monkeypatch):
    """With memory shared with the host, the host reads the results directly."""
    recorded = []
    to_host = commands.to_host
    monkeypatch.setattr(commands, "to_host", lambda: recorded.append(1) or to_host())
    doubling(device, device.create_buffer(np.ones(COUNT, np.float32)), 2)
    assert len(recorded) == 2


def test_a_list_is_one_sequence(device):
    """Once all kernels of a command list have run, the list is submitted as one sequence; dispatches recorded later
    become part of it."""
    buffer = device.create_buffer(np.ones(COUNT, np.float32))
    listed = doubling(device, buffer, 3)
    listed.execute()
    ((joined,), _) = listed.current()
    assert [len(batch.sequences) for batch in joined.batches] == [1]
    listed.execute()
    listed.execute(wait=False)
    assert (buffer.read(np.float32) == 2.0**9).all()
    (another,) = doubling(device, buffer, 1)._dispatches
    listed.append(another)
    listed.execute()
    assert (buffer.read(np.float32) == 2.0**13).all()
    listed.reset()
    assert listed.current() == ((), [])


def test_a_long_list_is_a_sequence_for_each_submission(device, monkeypatch):
    """The host sees the last submission's results."""
    buffer = device.create_buffer(np.ones(COUNT, np.float32))
    doubling(device, buffer, 1).execute()
    ((single,), _) = doubling(device, buffer, 1).current()
    work = sum(batch.work for batch in single.batches)
    # A submission takes two lists; the half is a margin for rounding
    share = 2.5 * work / writing.most_work(device.context)
    monkeypatch.setattr(writing, "SUBMISSION_SECONDS", share * writing.SUBMISSION_SECONDS)
    listed = doubling(device, buffer, 5)
    listed.execute()
    ((joined,), _) = listed.current()
    assert [len(batch.sequences) for batch in joined.batches] == [1, 1, 1]
    listed.execute()
    assert (buffer.read(np.float32) == 2.0**11).all()


def test_an_empty_list_is_done(device):
    assert device.create_command_list().execute(wait=False).is_done


def test_timeouts_are_seconds(device):
    fence = device.create_command_list().execute(wait=False)
    for wrong in (-1, float("nan"), "1"):
        with pytest.raises(dml.DMLError, match="timeout"):
            fence.wait(wrong)


def python(device: dml.Device, body: str, **more) -> subprocess.Popen:
    head = f"""
        import sys, os, threading, time
        import numpy as np
        import dml
        device = dml.create_device({device.vulkan.index})
        t = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (1 << 16,))
        desc = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(ATensor=t, BTensor=t, OutputTensor=t)
        x = np.ones(1 << 16, np.float32)
        def add(device):
            compiled = device.compile_operator(device.create_operator(desc))
            return compiled.dispatch({{"ATensor": x, "BTensor": x}})["OutputTensor"]
    """
    text = textwrap.dedent(head) + textwrap.dedent(body)
    return subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


@pytest.mark.no_validation
def test_a_forked_child_gets_errors(device):
    """It also exits with its own status, although drivers wait for threads that a fork does not copy."""
    process = python(
        device,
        """
        add(device)
        child = os.fork()
        if child == 0:
            for attempt in (lambda: add(device), lambda: dml.create_device(device.vulkan.index)):
                try:
                    attempt()
                except dml.DMLError as error:
                    print(error, flush=True)
            sys.exit(7)
        print("status", os.waitpid(child, 0)[1], add(device).sum())
        """,
    )
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert out.count("was opened before this process was forked") == 2
    assert f"status {7 << 8} 131072.0" in out


@pytest.mark.no_validation
def test_daemon_threads_end_with_the_interpreter(device):
    process = python(
        device,
        """
        def forever():
            compiled = device.compile_operator(device.create_operator(desc))
            buffer = device.create_buffer(x)
            while True:
                compiled.dispatch({"ATensor": x, "BTensor": x})
                buffer.write(x)
                buffer.read()
        for _ in range(3):
            threading.Thread(target=forever, daemon=True).start()
        time.sleep(1)
        print("end", flush=True)
        """,
    )
    out, err = process.communicate(timeout=120)
    assert (out, err) == ("end\n", "")
    assert process.returncode == 0


def test_an_interrupt_as_a_call_leaves_the_gate_blocks_no_exit():
    """After Ctrl-C at the first line of ``__exit__`` the call stays listed, and nothing removes it later."""
    gate = Gate()

    def interrupt(frame, event, _):
        if frame.f_code is Gate.__exit__.__code__ and event == "call":
            raise KeyboardInterrupt

    before = sys.gettrace()
    try:
        with pytest.raises(KeyboardInterrupt), gate:
            sys.settrace(interrupt)
    finally:
        sys.settrace(before)
    closing = threading.Event()

    def leave():
        with gate:
            entered.set()
            closing.wait()
            time.sleep(0.05)
            left.append(True)

    entered, left = threading.Event(), []
    thread = threading.Thread(target=leave)
    thread.start()
    entered.wait()
    closing.set()
    gate.close()
    assert left, "another thread was still inside"
    thread.join()
    with pytest.raises(dml.DMLError, match="the interpreter is exiting"), gate:
        pass


@pytest.mark.no_validation
def test_an_interrupt_is_noticed_during_compilation(device):
    """Ctrl-C ends a program cleanly after the kernel that the driver is compiling, not after all of them."""
    process = python(
        device,
        """
        import signal
        import dml.graph.operations as op
        from dml.graph.builder import Builder
        # A shell's background jobs ignore it, and so would their children
        signal.signal(signal.SIGINT, signal.default_int_handler)
        graph = Builder(device)
        value = graph.input("x", (1, 8, 40, 40))
        for k in range(1, 25):
            # The width of a window is in a kernel's text
            value = op.convolution(value, np.full((8, 8, 3, k), 0.01, np.float32), strides=(1, 1),
                                   start_padding=(1, k // 2), end_padding=(1, (k - 1) // 2))
        compiled = graph.compile({"y": value})
        try:
            print("ready", flush=True)
            compiled.dispatch({"x": np.ones((1, 8, 40, 40), np.float32)})
            print("done")
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            raise
        """,
        env={**os.environ, "MESA_SHADER_CACHE_DISABLE": "true"},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert "done" not in out
    assert "interrupted" in out, err
    assert process.returncode == -signal.SIGINT, err
