"""A device under stress: nearly all of its memory in use, several devices and threads, long recordings, every result
compared.

Each thread takes random steps, determined by the seed and its number: it runs cases of the suite and compares them
with their references, repeats earlier cases in other orders, records chains of dispatches as long as a watchdog
allows, writes and reads memory that it holds, frees such memory and allocates other, and opens its device again.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dml import descriptors
from dml.api.device import Device
from dml.api.operator import CompiledOperator
from dml.conformance import execution
from dml.conformance.axes import seen_as
from dml.conformance.case import Case
from dml.conformance.suite import Suite
from dml.descriptors.binding import DML_BINDING_TABLE_DESC, DML_BUFFER_BINDING
from dml.enums import DML_FEATURE_LEVEL, DML_TENSOR_DATA_TYPE_UINT32
from dml.errors import HRESULT, DMLError
from dml.runtime.buffer import Buffer
from dml.runtime.devices import VulkanDevice
from dml.tensors import DML_BUFFER_TENSOR_DESC

#: Fraction of the memory to use.
SHARE = 0.9
#: Maximum and minimum bytes of a held block, and minimum blocks per thread.
_LARGEST_BLOCK, _SMALLEST_BLOCK, _BLOCKS = 64 << 20, 1 << 16, 8
#: Cases that each thread keeps for further runs.
_KEPT = 12
#: Elements and dispatches of a chain; shorter ones are timed first to find the number that takes this long.
_CHAIN_ELEMENTS, _CHAIN_FIRST, _CHAIN_MOST, _CHAIN_SECONDS = 4099, 64, 20_000, 1.0

Words = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Strain:
    """The requested run. memory: bytes to use; None for the device's. steps: number per thread, instead of a
    duration."""

    seconds: float = 60.0
    seed: int = 0
    threads: int = 4
    memory: int | None = None
    steps: int | None = None


@dataclass
class Done:
    """The work done, and the first fault; empty if there was none."""

    seconds: float = 0.0
    steps: int = 0
    dispatches: int = 0
    submissions: int = 0
    cases: int = 0
    bytes: int = 0
    allocations: int = 0
    refused: int = 0
    devices: int = 0
    compared: int = 0
    held: int = 0
    wrong: str = ""

    def record(self) -> dict[str, Any]:
        return asdict(self)


class WrongError(Exception):
    """A result that must not occur."""


def strain(vulkan: VulkanDevice, axis: str, asked: Strain, told: Callable[[Done], None] = lambda done: None) -> Done:
    """Stress a device. told: called about once a second with the work done so far."""
    shared = _StrainShared(seen_as(vulkan, axis), asked)
    threads = [threading.Thread(target=_Thread(shared, number).run, daemon=True) for number in range(asked.threads)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for thread in threads:
            thread.join(1.0 / len(threads))
        told(shared.done)
    shared.done.seconds = time.monotonic() - shared.start
    return shared.done


@dataclass
class _StrainShared:
    """State shared by all threads."""

    vulkan: VulkanDevice
    asked: Strain
    done: Done = field(default_factory=Done)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.cases = Suite("quick").cases()
        memory = self.vulkan.memory if self.asked.memory is None else min(self.asked.memory, self.vulkan.memory)
        #: Bytes that each thread holds.
        self.each = int(SHARE * memory) // self.asked.threads
        self.start = time.monotonic()

    @property
    def is_over(self) -> bool:
        return bool(self.done.wrong) or time.monotonic() - self.start >= self.asked.seconds

    def count(self, **more: int) -> None:
        with self.lock:
            for name, value in more.items():
                setattr(self.done, name, getattr(self.done, name) + value)

    def fail(self, message: str) -> None:
        """Record the first failure: others may follow from it."""
        with self.lock:
            self.done.wrong = self.done.wrong or message


@dataclass(frozen=True)
class _Block:
    """Held memory with known contents: numbers derived from a key."""

    buffer: Buffer
    key: int

    def words(self, start: int, count: int) -> Words:
        """Return the block's numbers starting at an index."""
        indices = np.arange(start, start + count, dtype=np.uint64)
        mixed = (indices + np.uint64(self.key)) * np.uint64(0x9E3779B97F4A7C15)
        return np.asarray((mixed >> np.uint64(32)).astype(np.uint32))


class _Thread:
    """One thread's steps."""

    def __init__(self, shared: _StrainShared, number: int) -> None:
        self._shared = shared
        self._number = number
        self._rng = random.Random(f"{shared.asked.seed} {number}")
        self._blocks: list[_Block] = []
        self._kept: list[execution.RecordedCase] = []
        self._chain = _CHAIN_FIRST
        self._step = 0
        self._doing = ""
        self._own: Device | None = None

    @property
    def _device(self) -> Device:
        assert self._own is not None
        return self._own

    def run(self) -> None:
        try:
            self._own = self._open()
            # at least one step, so that a run without work does not report success
            while self._step != self._shared.asked.steps and not (self._step and self._shared.is_over):
                self._one()
                self._step += 1
                self._shared.count(steps=1)
            self._check_all()
        except WrongError as error:
            self._fail(str(error))
        except DMLError as error:
            self._fail(f"{error.message} [{error.hresult.name}]")
        except Exception as error:  # a bug in dml counts as well
            self._fail(repr(error))
        finally:
            self._blocks.clear()
            self._kept.clear()
            if self._own is not None:
                execution.forget(self._own)
                self._own.close()

    def _fail(self, message: str) -> None:
        self._shared.fail(f"thread {self._number}, step {self._step} ({self._doing}): {message}")

    def _one(self) -> None:
        """Take one step; the most revealing ones are the most frequent."""
        steps: Sequence[tuple[int, Callable[[], None]]] = (
            (8, self._case), (6, self._again), (6, self._transfer), (3, self._exchange),
            (1, self._long), (1, self._reopen),
        )  # fmt: skip
        step = self._rng.choices([step for _, step in steps], [weight for weight, _ in steps])[0]
        self._doing = step.__name__.strip("_")
        if len(self._blocks) < _BLOCKS:
            self._take()
        step()

    def _open(self) -> Device:
        self._shared.count(devices=1)
        return Device(self._shared.vulkan, DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_6_4)

    # --- memory ---

    def _take(self) -> None:
        """Allocate another block, up to the thread's share of the memory."""
        allocated = sum(block.buffer.size for block in self._blocks)
        most = min(_LARGEST_BLOCK, self._shared.each // _BLOCKS, self._shared.each - allocated)
        if most < _SMALLEST_BLOCK:
            return
        size = self._rng.randrange(_SMALLEST_BLOCK, most + 1) // 4 * 4
        if len(self._blocks) == _BLOCKS - 1:  # the last block fills the thread's share
            size = most // 4 * 4
        try:
            buffer = self._device.create_buffer(size)
        except DMLError as error:
            if error.hresult != HRESULT.E_OUTOFMEMORY:
                raise
            self._shared.count(refused=1)
            return
        block = _Block(buffer, self._rng.getrandbits(32))
        buffer.write(block.words(0, size // 4))
        self._blocks.append(block)
        self._shared.count(allocations=1, bytes=size)
        with self._shared.lock:
            self._shared.done.held = max(self._shared.done.held, (allocated + size) * self._shared.asked.threads)

    def _transfer(self) -> None:
        """Read part of a block, or overwrite it with other numbers."""
        if not self._blocks:
            return
        number = self._rng.randrange(len(self._blocks))
        block = self._blocks[number]
        if self._rng.random() < 0.3:
            block = self._blocks[number] = _Block(block.buffer, self._rng.getrandbits(32))
            block.buffer.write(block.words(0, block.buffer.size // 4))
            self._shared.count(bytes=block.buffer.size)
        words = block.buffer.size // 4
        start = self._rng.randrange(words)
        self._check(block, start, min(words - start, self._rng.randrange(1, 1 << 18)))

    def _check(self, block: _Block, start: int, count: int) -> None:
        found = block.buffer.read(np.uint32, count, 4 * start)
        wrong = found != block.words(start, count)
        self._shared.count(bytes=4 * count, compared=1)
        if wrong.any():
            index = int(np.argmax(wrong))
            raise WrongError(
                f"held memory of {block.buffer.size} bytes: word {start + index} is {found[index]:#010x}, "
                f"expected {block.words(start + index, 1)[0]:#010x}"
            )

    def _exchange(self) -> None:
        """Check and free a block, and allocate another."""
        if self._blocks:
            block = self._blocks.pop(self._rng.randrange(len(self._blocks)))
            self._check(block, 0, block.buffer.size // 4)
            del block
        self._take()

    def _check_all(self) -> None:
        self._doing = "the end"
        for block in self._blocks:
            self._check(block, 0, block.buffer.size // 4)
        for item in self._kept:
            self._same(item)

    # --- work ---

    def _case(self) -> None:
        """Run a case of the suite and compare it with its reference; keep it."""
        case = Case.parse(self._rng.choice(self._shared.cases))
        outcome = execution.run_case(self._device, case, self._rng.getrandbits(16))
        self._shared.count(cases=1, compared=1)
        if outcome["status"] == "failed":
            raise WrongError(f"{case.id}: {outcome['reason']}")
        recorded = execution.last_run(self._device)
        if recorded is None or recorded.case != case.id:
            return
        self._shared.count(dispatches=2 * recorded.dispatches, submissions=2, bytes=2 * recorded.bytes)
        self._kept.append(recorded)
        if len(self._kept) > _KEPT:
            self._kept.pop(self._rng.randrange(_KEPT))

    def _again(self) -> None:
        """Run some of the kept cases again, in another order, with a transfer in between."""
        chosen = self._rng.sample(self._kept, min(len(self._kept), 4))
        for item in chosen:
            item.again()
            self._shared.count(dispatches=item.dispatches, submissions=1, bytes=item.bytes)
            if self._rng.random() < 0.3:
                self._transfer()
        for item in chosen:
            self._same(item)

    def _same(self, one: execution.RecordedCase) -> None:
        self._shared.count(compared=1, bytes=one.bytes)
        if differing := one.differing():
            raise WrongError(differing)

    def _long(self) -> None:
        """Record a chain of additions: each adds its input to the previous result."""
        start = np.arange(_CHAIN_ELEMENTS, dtype=np.uint32) * np.uint32(self._rng.getrandbits(16))
        add, one = self._add(), np.full(_CHAIN_ELEMENTS, self._rng.getrandbits(8), np.uint32)
        buffers = [self._device.create_buffer(start), self._device.create_buffer(4 * len(start))]
        addend = self._device.create_buffer(one)
        commands, recorder = self._device.create_command_list(), self._device.create_command_recorder()
        tables = []
        for turn in range(2):
            table = self._device.create_binding_table(DML_BINDING_TABLE_DESC(add))
            table.bind_inputs([DML_BUFFER_BINDING(buffers[turn]), DML_BUFFER_BINDING(addend)])
            table.bind_outputs([DML_BUFFER_BINDING(buffers[1 - turn])])
            tables.append(table)
        for number in range(self._chain):
            recorder.record_dispatch(commands, add, tables[number % 2])
        began = time.monotonic()
        commands.execute()
        taken = time.monotonic() - began
        found = buffers[self._chain % 2].read(np.uint32)
        self._shared.count(dispatches=self._chain, submissions=1, compared=1, bytes=3 * 4 * len(start))
        wanted = start + np.uint32(self._chain) * one
        if (wrong := found != wanted).any():
            index = int(np.argmax(wrong))
            raise WrongError(
                f"a chain of {self._chain} additions: element {index} is {found[index]}, not {wanted[index]}"
            )
        if taken < _CHAIN_SECONDS / 2:
            self._chain = min(2 * self._chain, _CHAIN_MOST)

    def _add(self) -> CompiledOperator:
        words = DML_BUFFER_TENSOR_DESC(DML_TENSOR_DATA_TYPE_UINT32, (1, 1, 1, _CHAIN_ELEMENTS))
        operator: Any = descriptors.DML_ELEMENT_WISE_ADD_OPERATOR_DESC
        desc = operator(ATensor=words, BTensor=words, OutputTensor=words)
        return self._device.compile_operator(self._device.create_operator(desc))

    def _reopen(self) -> None:
        """Check and free everything, and continue with another device."""
        self._check_all()
        self._doing = "reopen"
        self._blocks.clear()
        self._kept.clear()
        execution.forget(self._device)
        self._device.close()
        self._own = self._open()
