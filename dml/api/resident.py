"""The short way to run a compiled operator: buffers of its own, and one recording over them."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dml.api import arrays
from dml.api.arrays import ArrayCheck, TensorMemory
from dml.api.weights import Constants, Weights
from dml.compiler.program import Region, Space
from dml.errors import DMLError
from dml.runtime.arena import Arena, Islands, bound_regions
from dml.runtime.buffer import Mirror
from dml.runtime.memory import Use
from dml.runtime.recording import KernelTime, Place, Recording

if TYPE_CHECKING:
    from dml.api.operator import CompiledOperator

Array = npt.NDArray[Any]


def _called(key: object) -> str:
    return f"by index {key}" if isinstance(key, int) else f"tensor {key!r}"


class Resident:
    """Runs a compiled operator on arrays. Safe from any thread; runs follow each other."""

    def __init__(self, compiled: CompiledOperator) -> None:
        #: Weak, since the operator holds this object: a cycle would keep both' device memory until garbage collection.
        self._compiled: CompiledOperator = weakref.proxy(compiled)
        self._lock = threading.RLock()
        program = compiled.program
        self._context = context = compiled.get_device().context
        self._inputs = {
            slot: Mirror(context.buffer(size), Use.UPLOAD)
            for slot, size in enumerate(program.inputs)
            if size is not None and slot not in program.owned
        }
        self._outputs = {
            slot: Mirror(context.buffer(size), Use.READBACK)
            for slot, size in enumerate(program.outputs)
            if size is not None
        }
        self._known = [name for name, _ in compiled.input_fields]
        #: The input fields: the name, and how many arrays one takes as a sequence.
        self._fields = [(name, len(t) if isinstance(t, tuple) else None) for name, t in compiled.input_fields]
        slots = compiled.input_slots
        self._checks = [None if slot.tensor is None else ArrayCheck(slot.tensor, slot.where) for slot in slots]
        self._written = {
            at: TensorMemory(mirror.words, tensor)
            for at, mirror in self._inputs.items()
            if (tensor := slots[at].tensor) is not None
        }
        self._read = self._outputs_by_name(compiled)
        self._temporaries = Arena(context, Islands(bound_regions(Space.TEMPORARY, program.dispatches)))
        self._constants = Constants(context, program, program.dispatches)
        #: What initialization computed from constants and from the inputs that DirectML owns.
        self._weights: Weights | None = None
        self._recordings: dict[str, Recording] = {}

    def _outputs_by_name(self, compiled: CompiledOperator) -> list[tuple[str | int, TensorMemory | list[TensorMemory]]]:
        found: list[tuple[str | int, TensorMemory | list[TensorMemory]]] = []
        at = 0
        for name, field in compiled.output_fields:
            if isinstance(field, tuple):
                found.append((name, [TensorMemory(self._outputs[at + i].words, t) for i, t in enumerate(field)]))
                at += len(field)
                continue
            if field is not None:
                found.append((name, TensorMemory(self._outputs[at].words, field)))
            at += 1
        return found

    @property
    def kept(self) -> dict[object, int]:
        """The bytes of each of its inputs, outputs and temporaries on the device, and of its kernels, estimated."""
        mirrors = [*self._inputs.values(), *self._outputs.values()]
        kept: dict[object, int] = {m.buffer: m.buffer.size for m in mirrors}
        kept |= {buffer: buffer.size for buffer in self._temporaries.buffers}
        each = self._context.pipelines.bytes_each
        return kept | {kernel: each for recording in self._recordings.values() for kernel in recording.pipelines}

    def dispatch(self, inputs: Mapping[Any, Any], *, every: bool = False) -> dict[Any, Any]:
        """every: inputs that DirectML owns have to be given, whatever was given before."""
        found = self._gather(inputs, every=every)
        with self._lock:
            self._prepare(found)
            self._recording("whole").run()
            return {
                name: [one.load() for one in memory] if isinstance(memory, list) else memory.load()
                for name, memory in self._read
            }

    def profile(self, inputs: Mapping[Any, Any]) -> list[KernelTime]:
        found = self._gather(inputs)
        with self._lock:
            self._prepare(found)
            if "timed" not in self._recordings:
                self._recording("timed").run()  # drivers finish compiling in a first run
            return self._recording("timed").profile()

    def run_again(self) -> None:
        """Run on what is on the device."""
        with self._lock:
            self._recording("bare").run()

    def _recording(self, kind: str) -> Recording:
        """whole: with the copies from and to the host around. timed: the same, to be profiled. bare: without them."""
        if kind not in self._recordings:
            bare = kind == "bare"
            self._recordings[kind] = Recording(
                self._context,
                self._compiled.program.dispatches,
                self._compiled.kernels,
                self._place,
                () if bare else list(self._inputs.values()),
                () if bare else list(self._outputs.values()),
                timed=kind == "timed",
            )
        return self._recordings[kind]

    def _place(self, region: Region) -> Place:
        if region.space is Space.INPUT:
            return Place(self._inputs[region.index].buffer)
        if region.space is Space.OUTPUT:
            return Place(self._outputs[region.index].buffer)
        if region.space is Space.CONSTANT:
            return self._constants.place(region)
        if region.space is Space.TEMPORARY:
            return self._temporaries.place(region)
        assert self._weights is not None
        return self._weights.place(region)

    def _gather(self, given: Mapping[Any, Any], *, every: bool = False) -> dict[int, Array]:
        """The checked array of each slot that was given one. every: what DirectML owns has to be given again."""
        named = self._by_name(given)
        kept = () if every or self._weights is None else self._compiled.program.owned
        found: dict[int, Array] = {}
        at = 0
        for name, count in self._fields:
            value = named.get(name)
            for item in (value,) if count is None else self._sequence(name, value, count):
                check = self._checks[at]
                if item is not None and check is None:
                    raise DMLError(f"{self._where(at)}: the description leaves this tensor out")
                if item is not None and check is not None:
                    found[at] = check(item)
                elif check is not None and at not in kept:
                    raise DMLError(f"{self._where(at)}: an array must be given")
                at += 1
        return found

    def _by_name(self, given: Mapping[Any, Any]) -> dict[str | int, Any]:
        inputs: dict[str | int, Any] = {}
        for key, value in given.items():
            name = self._known[key] if isinstance(key, int) and 0 <= key < len(self._known) else key
            if name not in self._known:
                raise DMLError(f"{self._compiled.label}: no input {_called(key)}; it has {self._inputs_in_words()}")
            inputs[name] = value
        return inputs

    def _sequence(self, name: str | int, value: Any, count: int) -> Sequence[Any]:
        if value is None:
            return [None] * count
        if not isinstance(value, Sequence) or len(value) != count:
            raise DMLError(
                f"{self._compiled.label}.{name}: takes a sequence of {count} arrays, found {type(value).__name__}"
            )
        return value

    def _where(self, at: int) -> str:
        return self._compiled.input_slots[at].where

    def _inputs_in_words(self) -> str:
        """The names of the inputs; those without one by their index."""
        named = [str(name) for name in self._known if isinstance(name, str)]
        unnamed = [str(name) for name in self._known if isinstance(name, int)]
        indices = f"{'without a name ' if named else ''}by index {' and '.join(unnamed)}"
        return ", ".join([*named, *([indices] if unnamed else [])]) or "none"

    def _prepare(self, found: Mapping[int, Array]) -> None:
        """Lay the arrays out where the next run finds them."""
        owned: dict[int, Array] = {}
        for at, array in found.items():
            memory = self._written.get(at)
            if memory is not None:
                memory.store(array)
            else:
                tensor = self._compiled.input_slots[at].tensor
                assert tensor is not None
                owned[at] = arrays.packed_bytes(array, tensor)
        if owned or self._weights is None:
            self._initialize(owned)

    def _initialize(self, owned: dict[int, Array]) -> None:
        program = self._compiled.program
        missing = [slot for slot in program.owned if slot not in owned]
        if missing and self._weights is not None:
            # Inputs that are not given again keep their values, which only the device still has
            owned |= {slot: self._read_owned(slot) for slot in missing}
        weights = Weights(self._context, program, self._compiled.initialize_kernels, owned)
        if self._weights is None or weights.buffers != self._weights.buffers:
            self._recordings.clear()  # (what is the same lies where it lay)
        self._weights = weights

    def _read_owned(self, slot: int) -> Array:
        assert self._weights is not None
        region = self._compiled.program.owned[slot]
        place = self._weights.place(region)
        return place.buffer.read(np.uint8, region.size, place.offset + region.offset)
