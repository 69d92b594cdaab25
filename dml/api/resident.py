"""The short way to run a compiled operator: buffers of its own, and one recording over them."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dml.api import arrays
from dml.api.weights import Constants, Weights
from dml.compiler.program import Region, Space
from dml.errors import DMLError
from dml.runtime.arena import Arena, Islands, bound_regions
from dml.runtime.buffer import Mirror
from dml.runtime.memory import Use
from dml.runtime.recording import KernelTime, Place, Recording
from dml.tensors import DML_BUFFER_TENSOR_DESC

if TYPE_CHECKING:
    from dml.api.operator import CompiledOperator

Array = npt.NDArray[Any]


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
        self._temporaries = Arena(context, Islands(bound_regions(Space.TEMPORARY, program.dispatches)))
        self._constants = Constants(context, program, program.dispatches)
        #: What initialization computed from constants and from the inputs that DirectML owns.
        self._weights: Weights | None = None
        self._recordings: dict[str, Recording] = {}

    @property
    def memory(self) -> int:
        """Bytes of its inputs, outputs and temporaries on the device, and of its kernels, estimated."""
        mirrors = [*self._inputs.values(), *self._outputs.values()]
        buffers = sum(buffer.size for buffer in (*(m.buffer for m in mirrors), *self._temporaries.buffers))
        kernels = max((recording.pipelines for recording in self._recordings.values()), default=0)
        return buffers + kernels * self._context.pipeline_bytes

    def dispatch(self, inputs: Mapping[Any, Any]) -> dict[Any, Any]:
        found = self._gather(inputs)
        with self._lock:
            self._prepare(found)
            self._recording("whole").run()
            results: dict[Any, Any] = {}
            at = 0
            for name, field in self._compiled.output_fields:
                if isinstance(field, tuple):
                    results[name] = [self._load(at + i, t) for i, t in enumerate(field)]
                    at += len(field)
                    continue
                if field is not None:
                    results[name] = self._load(at, field)
                at += 1
        return results

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

    def _gather(self, given: Mapping[Any, Any]) -> dict[int, Array]:
        """The checked array of each slot that was given one."""
        compiled = self._compiled
        known = [name for name, _ in compiled.input_fields]
        inputs: dict[str | int, Any] = {}
        for key, value in given.items():
            name = known[key] if isinstance(key, int) and 0 <= key < len(known) else key
            if name not in known:
                raise DMLError(f"{compiled.label}: no input tensor {key!r}; it has {', '.join(map(str, known))}")
            inputs[name] = value
        found: dict[int, Array] = {}
        at = 0
        for name, tensor in compiled.input_fields:
            value = inputs.get(name)
            if isinstance(tensor, tuple):
                count = len(tensor)
                if value is not None and (not isinstance(value, Sequence) or len(value) != count):
                    raise DMLError(
                        f"{compiled.label}.{name}: takes a sequence of {count} arrays, found {type(value).__name__}"
                    )
                values = list(value) if value is not None else [None] * count
            else:
                values = [value]
            for item in values:
                slot = compiled.input_slots[at]
                if item is not None and slot.tensor is None:
                    raise DMLError(f"{compiled.label}.{slot.name}: the description leaves this tensor out")
                if item is not None and slot.tensor is not None:
                    found[at] = arrays.check_array(item, slot.tensor, f"{compiled.label}.{slot.name}")
                elif slot.tensor is not None and not (at in compiled.program.owned and self._weights is not None):
                    raise DMLError(f"{compiled.label}.{slot.name}: an array must be given")
                at += 1
        return found

    def _prepare(self, found: Mapping[int, Array]) -> None:
        """Lay the arrays out where the next run finds them."""
        owned: dict[int, Array] = {}
        for at, array in found.items():
            tensor = self._compiled.input_slots[at].tensor
            assert tensor is not None
            if at in self._inputs:
                arrays.store(array, self._inputs[at].words, tensor)
            else:
                owned[at] = arrays.packed_bytes(array, tensor)
        if owned or self._weights is None:
            self._initialize(owned)

    def _initialize(self, owned: dict[int, Array]) -> None:
        program = self._compiled.program
        missing = [slot for slot in program.owned if slot not in owned]
        if missing and self._weights is not None:
            # Inputs that are not given again keep their values, which only the device still has
            owned |= {slot: self._read_owned(slot) for slot in missing}
        self._weights = Weights(self._context, program, self._compiled.initialize_kernels, owned)
        self._recordings.clear()

    def _read_owned(self, slot: int) -> Array:
        assert self._weights is not None
        region = self._compiled.program.owned[slot]
        place = self._weights.place(region)
        return place.buffer.read(np.uint8, region.size, place.offset + region.offset)

    def _load(self, at: int, tensor: DML_BUFFER_TENSOR_DESC) -> Array:
        return arrays.load(self._outputs[at].words, tensor)
