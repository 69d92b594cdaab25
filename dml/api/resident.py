"""The fast path of ``dispatch``: buffers that belong to one operator, and a recording that is replayed over them."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dml.api import arrays
from dml.api.arrays import TensorMemory
from dml.api.bound import BoundRecordings, OutputBuffers
from dml.api.device_array import ArrayCheck, DeviceArray, Lease
from dml.api.hazards import BoundRange, check_execution
from dml.api.weights import Constants, Weights
from dml.api.working import WorkingMemory
from dml.compiler.program import Region, Space
from dml.errors import DMLError
from dml.runtime.arena import Arena, Islands, bound_regions
from dml.runtime.buffer import Buffer
from dml.runtime.context import Context
from dml.runtime.memory import Use
from dml.runtime.needs import explaining_needs
from dml.runtime.recording import KernelTime, Place, Recording
from dml.tensors import DML_BUFFER_TENSOR_DESC, numpy_dtype

if TYPE_CHECKING:
    from dml.api.operator import CompiledOperator, Slot

Array = npt.NDArray[Any]


class SharedMemory:
    """Memory shared by programs of one device that run one at a time: their working memory, and buffers for outputs
    that callers keep. Allocated when the first of these programs runs."""

    def __init__(self) -> None:
        self._made: tuple[WorkingMemory, OutputBuffers] | None = None
        self._making = threading.Lock()

    def on(self, context: Context) -> tuple[WorkingMemory, OutputBuffers]:
        with self._making:
            if self._made is None:
                self._made = WorkingMemory(context), OutputBuffers(context)
            return self._made


class _Output(NamedTuple):
    """An output field: the tensor of each slot (binding point), and the host memory that each is copied to."""

    name: str | int
    slots: dict[int, DML_BUFFER_TENSOR_DESC]
    memory: list[TensorMemory]
    is_array: bool

    def load(self) -> Any:
        found = [memory.load() for memory in self.memory]
        return found if self.is_array else found[0]

    def left_in(self, buffers: Mapping[int, Buffer], leases: Mapping[int, Lease]) -> Any:
        """Return the arrays that a run left in these buffers."""
        found = [
            DeviceArray(tensor, buffers[slot], leases[slot], dtype=numpy_dtype(tensor.DataType))
            for slot, tensor in self.slots.items()
        ]
        return found if self.is_array else found[0]


class Resident:
    """Runs a compiled operator on arrays. Thread-safe: runs are serialized."""

    def __init__(self, compiled: CompiledOperator) -> None:
        #: Weak, because the operator refers to this object: a reference cycle would keep the device memory of both
        #: until garbage collection.
        self._compiled: CompiledOperator = weakref.proxy(compiled)
        program = compiled.program
        self._context = context = compiled.get_device().context
        working, self._output_buffers = (compiled.shared or SharedMemory()).on(context)
        self._lock = working.lock
        islands = Islands(bound_regions(Space.TEMPORARY, program.dispatches))
        with working.working_set() as working_set:
            self._inputs = {
                slot: working_set.mirror(size, Use.UPLOAD)
                for slot, size in enumerate(program.inputs)
                if size is not None and slot not in program.owned
            }
            self._outputs = {
                slot: working_set.mirror(size, Use.READBACK)
                for slot, size in enumerate(program.outputs)
                if size is not None
            }
            self._temporaries = Arena(
                context, islands, [working_set.buffer(end - start) for start, end in islands.spans]
            )
        self._known = [name for name, _ in compiled.input_fields]
        self._names = set(self._known)
        #: Each input field's name, and its number of arrays if it takes a sequence.
        self._fields = [(name, len(t) if isinstance(t, tuple) else None) for name, t in compiled.input_fields]
        slots = compiled.input_slots
        self._checks = [None if slot.tensor is None else ArrayCheck(slot.tensor, slot.where, context) for slot in slots]
        self._written = {
            slot: TensorMemory(mirror.words, tensor)
            for slot, mirror in self._inputs.items()
            if (tensor := slots[slot].tensor) is not None
        }
        for memory in self._written.values():
            memory.clear()
        self._read = self._outputs_by_name(compiled)
        self._constants = Constants(context, program, program.dispatches)
        #: Results of initialization, computed from constants and owned inputs.
        self._weights: Weights | None = None
        self._recordings: dict[str, Recording] = {}
        self._bound = BoundRecordings()
        #: The last result of ``kept``, and the state that it describes.
        self._kept: tuple[tuple[int, int, int], dict[object, int]] | None = None

    def _outputs_by_name(self, compiled: CompiledOperator) -> list[_Output]:
        found: list[_Output] = []
        first = 0
        for name, field in compiled.output_fields:
            tensors = field if isinstance(field, tuple) else (field,)
            if field is not None:
                slots = {first + i: tensor for i, tensor in enumerate(tensors) if tensor is not None}
                memory = [TensorMemory(self._outputs[slot].words, tensor) for slot, tensor in slots.items()]
                found.append(_Output(name, slots, memory, isinstance(field, tuple)))
            first += len(tensors)
        return found

    @property
    def kept(self) -> dict[object, int]:
        """Return the bytes of its inputs, outputs and temporaries on the device, and of its kernels (estimated)."""
        state = len(self._recordings), self._bound.changes, self._output_buffers.changes
        if self._kept is None or self._kept[0] != state:
            self._kept = state, self._found_kept()
        return self._kept[1]

    def _found_kept(self) -> dict[object, int]:
        mirrors = [*self._inputs.values(), *self._outputs.values()]
        kept: dict[object, int] = {m.buffer: m.buffer.size for m in mirrors}
        buffers = {*self._temporaries.buffers, *self._bound.buffers, *self._output_buffers.buffers}
        kept |= {buffer: buffer.size for buffer in buffers}
        return kept | dict.fromkeys(self.kept_kernels, self._context.pipelines.bytes_each)

    @property
    def kept_kernels(self) -> set[object]:
        """Return the pipelines of its recordings, which operators may share."""
        recordings = [*self._recordings.values(), *self._bound.recordings]
        return {kernel for recording in recordings for kernel in recording.pipelines}

    def dispatch(
        self,
        inputs: Mapping[Any, Any],
        *,
        every: bool = False,
        keep: Sequence[str | int] = (),
        into: Mapping[str | int, DeviceArray] | None = None,
    ) -> dict[Any, Any]:
        """Run on arrays; see ``CompiledOperator.dispatch``. every: inputs owned by DML must be given again."""
        found = self._gather(inputs, every=every)
        kept = self._outputs_called(keep)
        given = self._outputs_into(into or {})
        with self._lock:
            bound = self._prepare(found)
            if not bound and not kept and not given:
                self._recording("whole").run()
                return {output.name: output.load() for output in self._read}
            return self._run_bound(bound, kept, given)

    def _outputs_into(self, given: Mapping[str | int, DeviceArray]) -> dict[str | int, DeviceArray]:
        """Return the arrays by output name. Raises DMLError for another layout, data type or device."""
        self._outputs_called(list(given), "into")
        for output in self._read:
            array = given.get(output.name)
            if array is None:
                continue
            (slot, tensor), *more = output.slots.items()
            where = f"{self._compiled.label}: into: output {output.name!r}"
            if more:
                raise DMLError(f"{where}: must be a single tensor, found {len(output.slots)}")
            ArrayCheck(tensor, where, self._context)(array)
            assert array.desc is not None
            assert array.buffer is not None
            if array.desc.strides != tensor.strides or array.buffer.size < self._outputs[slot].words.nbytes:
                raise DMLError(f"{where}: must have strides {tensor.strides}, found {array.desc.strides}")
        return dict(given)

    def _outputs_called(self, names: Sequence[str | int], argument: str = "keep") -> set[str | int]:
        known: set[str | int] = {output.name for output in self._read}
        for name in names:
            if name not in known:
                words = ", ".join(map(str, sorted(known, key=str)))
                raise DMLError(f"{self._compiled.label}: {argument}: no output tensor {name!r}; it has {words}")
        return set(names)

    def _run_bound(
        self, inputs: Mapping[int, Buffer], kept: set[str | int], into: Mapping[str | int, DeviceArray]
    ) -> dict[Any, Any]:
        """Run on the caller's input buffers. Outputs in ``into`` are written there; those in ``kept`` get new buffers,
        which the caller keeps."""
        leases: dict[int, Lease] = {}
        outputs: dict[int, Buffer] = {}
        for output in self._read:
            if output.name in into:
                (slot,), buffer = output.slots, into[output.name].buffer
                assert buffer is not None
                outputs[slot] = buffer
            elif output.name in kept:
                for slot in output.slots:
                    outputs[slot], leases[slot] = self._output_buffers.take(slot, self._outputs[slot].words.nbytes)
        places = {(Space.INPUT, slot): Place(buffer) for slot, buffer in inputs.items()}
        places |= {(Space.OUTPUT, slot): Place(buffer) for slot, buffer in outputs.items()}

        def place(region: Region) -> Place:
            return places.get(region[:2]) or self._place(region)

        def make() -> Recording:
            read, written = _ranges(self._compiled.input_slots, inputs), _ranges(self._compiled.output_slots, outputs)
            check_execution(self._compiled, read, written, None, None)
            return Recording(
                self._context,
                self._compiled.program.dispatches,
                self._compiled.kernels,
                place,
                [mirror for slot, mirror in self._inputs.items() if slot not in inputs],
                [mirror for slot, mirror in self._outputs.items() if slot not in outputs],
            )

        buffers = [inputs.get(slot, mirror.buffer) for slot, mirror in self._inputs.items()]
        buffers += [outputs.get(slot, mirror.buffer) for slot, mirror in self._outputs.items()]
        self._bound.get(tuple(buffers), make).run()

        def result(output: _Output) -> Any:
            if output.name in into:
                return into[output.name]
            return output.left_in(outputs, leases) if output.name in kept else output.load()

        return {output.name: result(output) for output in self._read}

    def profile(self, inputs: Mapping[Any, Any]) -> list[KernelTime]:
        found = self._gather(inputs)
        with self._lock:
            self._prepare({slot: np.asarray(array) for slot, array in found.items()})
            if "timed" not in self._recordings:
                self._recording("timed").run()  # drivers finish compiling in a first run
            return self._recording("timed").profile()

    def run_again(self) -> None:
        """Run on the contents of the device's buffers."""
        with self._lock:
            self._recording("bare").run()

    def _recording(self, kind: str) -> Recording:
        """Return the recording of a kind. whole: includes copies from and to the host. timed: like whole, with
        profiling. bare: no copies."""
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

    def _gather(self, given: Mapping[Any, Any], *, every: bool = False) -> dict[int, Array | DeviceArray]:
        """Return the checked array of each slot. every: owned inputs must be given again."""
        named = self._by_name(given)
        kept = () if every or self._weights is None else self._compiled.program.owned
        found: dict[int, Array | DeviceArray] = {}
        slot = 0
        for name, count in self._fields:
            value = named.get(name)
            for item in (value,) if count is None else self._sequence(name, value, count):
                check = self._checks[slot]
                if item is not None and check is None:
                    raise DMLError(
                        f"{self._where(slot)}: takes no array: the description leaves it out, or no output depends "
                        "on it"
                    )
                if item is not None and check is not None:
                    found[slot] = check(item)
                elif check is not None and slot not in kept:
                    raise DMLError(f"{self._where(slot)}: an array must be given")
                slot += 1
        return found

    def _by_name(self, given: Mapping[Any, Any]) -> dict[str | int, Any]:
        inputs: dict[str | int, Any] = {}
        for key, value in given.items():
            name = self._known[key] if isinstance(key, int) and 0 <= key < len(self._known) else key
            if name not in self._names:
                called = f"by index {key}" if isinstance(key, int) else f"tensor {key!r}"
                raise DMLError(f"{self._compiled.label}: no input {called}; it has {self._inputs_in_words()}")
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

    def _where(self, index: int) -> str:
        return self._compiled.input_slots[index].where

    def _inputs_in_words(self) -> str:
        """Return the inputs' names, or indices of unnamed ones, as text for messages."""
        named = [str(name) for name in self._known if isinstance(name, str)]
        unnamed = [str(name) for name in self._known if isinstance(name, int)]
        indices = f"{'without a name ' if named else ''}by index {' and '.join(unnamed)}"
        return ", ".join([*named, *([indices] if unnamed else [])]) or "none"

    def _prepare(self, found: Mapping[int, Array | DeviceArray]) -> dict[int, Buffer]:
        """Write the arrays to where the next run reads them; return the buffers of those that it reads in place."""
        owned: dict[int, Array] = {}
        bound: dict[int, Buffer] = {}
        for slot, array in found.items():
            tensor = self._compiled.input_slots[slot].tensor
            assert tensor is not None
            memory = self._written.get(slot)
            if isinstance(array, DeviceArray):
                if memory is not None and array.desc is not None and array.desc.strides == tensor.strides:
                    assert array.buffer is not None
                    bound[slot] = array.buffer
                    continue
                array = array.stored()
            if memory is not None:
                memory.store(array)
            else:
                owned[slot] = arrays.packed_bytes(array, tensor)
        if owned or self._weights is None:
            with explaining_needs(self._compiled.label, self._compiled.program):
                self._initialize(owned)
        return bound

    def _initialize(self, owned: dict[int, Array]) -> None:
        program = self._compiled.program
        missing = [slot for slot in program.owned if slot not in owned]
        if missing and self._weights is not None:
            # Owned inputs that are not given again keep their values, which only the device has
            owned |= {slot: self._read_owned(slot) for slot in missing}
        weights = Weights(self._context, program, self._compiled.initialize_kernels, owned)
        if self._weights is None or weights.buffers != self._weights.buffers:
            self._bound.clear()
            self._recordings.clear()  # equal contents stay in the same buffers
        self._weights = weights

    def _read_owned(self, slot: int) -> Array:
        assert self._weights is not None
        region = self._compiled.program.owned[slot]
        place = self._weights.place(region)
        return place.buffer.read(np.uint8, region.size, place.offset + region.offset)


def _ranges(slots: Sequence[Slot], buffers: Mapping[int, Buffer]) -> list[BoundRange]:
    """Return the bytes that tensors occupy in these buffers."""
    tensors = ((slots[slot], slots[slot].tensor, buffer) for slot, buffer in buffers.items())
    return [
        BoundRange(slot.where, Place(buffer), int(tensor.TotalTensorSizeInBytes or 0), tensor)
        for slot, tensor, buffer in tensors
        if tensor is not None
    ]
