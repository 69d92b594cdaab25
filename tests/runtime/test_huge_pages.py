"""On CPU drivers, large buffers request huge pages from Linux."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest

from dml.runtime.huge_pages import huge_pages

SIZE = 16 << 20


def flags_at(address: int) -> list[str]:
    """Return Linux's flags of the memory at an address."""
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        head = line.split()[0]
        if "-" in head and not head.endswith(":"):
            start, end = (int(part, 16) for part in head.split("-"))
            inside = start <= address < end
        elif inside and head == "VmFlags:":
            return line.split()[1:]
    return []


@pytest.fixture(autouse=True)
def linux():
    if not Path("/sys/kernel/mm/transparent_hugepage").exists() or not Path("/proc/self/smaps").exists():
        pytest.skip("this system has no transparent huge pages")
    memory = mmap.mmap(-1, SIZE)
    memory.madvise(mmap.MADV_HUGEPAGE)
    if "hg" not in flags_at(np.frombuffer(memory, np.uint8).ctypes.data):
        pytest.skip("this system ignores requests for huge pages, as the emulator qemu-user does")


def test_a_large_buffer_of_a_cpu_asks_for_them(device):
    if not device.context.compiles_late:
        pytest.skip("the memory of a GPU is not the process's own")
    buffer = device.context.buffer(SIZE)
    view = buffer.piece.view
    assert "hg" in flags_at(view.ctypes.data + SIZE // 2)
    numbers = np.arange(SIZE // 4, dtype=np.uint32)
    buffer.write(numbers)
    np.testing.assert_array_equal(buffer.read(np.uint32), numbers)


def test_pages_around_the_memory_are_unchanged():
    whole = np.frombuffer(mmap.mmap(-1, SIZE), np.uint8)
    start = -whole.ctypes.data % (2 << 20)
    huge_pages(whole[start + 1 : start + (4 << 20) - 1])  # neither of the two large pages is complete
    found = ["hg" in flags_at(whole.ctypes.data + start + (at << 20)) for at in (1, 3, 5)]
    assert found == [False, False, False]
    huge_pages(whole[start + 1 : start + (4 << 20)])  # the second one is complete
    found = ["hg" in flags_at(whole.ctypes.data + start + (at << 20)) for at in (1, 3, 5)]
    assert found == [False, True, False]
