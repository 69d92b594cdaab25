"""Operators, compiled operators and their initializer (IDMLOperator, IDMLCompiledOperator, IDMLOperatorInitializer)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dml import arrays
from dml.arguments import checked
from dml.compiler.program import Program, Region, Space
from dml.descriptors.base import OperatorDesc
from dml.descriptors.binding import DML_BINDING_PROPERTIES
from dml.errors import DMLError
from dml.objects import DeviceChild, require_device
from dml.runtime.arena import Arena
from dml.runtime.context import Buffer
from dml.runtime.recording import KernelTime, Place, Recording, spirv
from dml.tensors import DML_BUFFER_TENSOR_DESC

if TYPE_CHECKING:
    from dml.device import Device


class Operator(DeviceChild):
    """A validated description, not yet compiled. Made by ``Device.create_operator``."""

    def __init__(self, device: Device, desc: OperatorDesc) -> None:
        super().__init__(device)
        self.desc = desc


class Dispatchable(DeviceChild):
    """What a command recorder can record: a compiled operator or an initializer."""

    def get_binding_properties(self) -> DML_BINDING_PROPERTIES:
        raise NotImplementedError


class Slot:
    """An input or output binding point: its name for messages, and the tensor bound there (None: absent)."""

    def __init__(self, name: str, tensor: DML_BUFFER_TENSOR_DESC | None) -> None:
        self.name = name
        self.tensor = tensor


#: Name (index, for an unnamed input or output of a graph) and tensor, tensor array or None; in binding order.
Field = tuple[str | int, DML_BUFFER_TENSOR_DESC | tuple[DML_BUFFER_TENSOR_DESC, ...] | None]


def _slots(fields: Sequence[Field]) -> list[Slot]:
    slots: list[Slot] = []
    for name, tensor in fields:
        if isinstance(tensor, tuple):
            slots += [Slot(f"{name}[{i}]", t) for i, t in enumerate(tensor)]
        else:
            slots.append(Slot(str(name), tensor))
    return slots


class CompiledOperator(Dispatchable):
    """A program for one device. Made by ``Device.compile_operator`` or ``Device.compile_graph``.

    label: the operator's name in messages. inputs, outputs: its fields. in_place: whether an output may be bound where
    an input lies.
    """

    def __init__(
        self,
        device: Device,
        program: Program,
        label: str,
        inputs: Iterable[Field],
        outputs: Iterable[Field],
        *,
        in_place: bool = False,
    ) -> None:
        super().__init__(device)
        self.program = program
        self.label = label
        self.in_place = in_place
        self.input_fields = list(inputs)
        self.output_fields = list(outputs)
        self.input_slots = _slots(self.input_fields)
        self.output_slots = _slots(self.output_fields)
        self.kernels = spirv(program.dispatches)
        self.initialize_kernels = spirv(program.initialize)
        self._resident: _Resident | None = None
        self._constants: Buffer | None = None
        if program.constants:
            self._constants = device.context.buffer(len(program.constants))
            self._constants.write(np.frombuffer(program.constants, np.uint8))

    @property
    def constants(self) -> Place:
        """Where the program's own constants lie."""
        assert self._constants is not None
        return Place(self._constants)

    def get_binding_properties(self) -> DML_BINDING_PROPERTIES:
        """Descriptors, and bytes of temporary and persistent resource, that a dispatch needs."""
        count = len(self.input_slots) + len(self.output_slots)
        program = self.program
        return DML_BINDING_PROPERTIES(
            count + (program.temporary_size > 0) + (program.persistent_size > 0),
            program.temporary_size,
            program.persistent_size,
        )

    def release(self) -> None:
        self._resident = self._constants = None

    def describe(self) -> str:
        """The program in words: a line per dispatch, with regions and bytes."""
        return f"{self.label}: {self.program.describe()}"

    @checked
    def dispatch(self, inputs: Mapping[Any, Any]) -> dict[Any, Any]:
        """Run on NumPy arrays by tensor name and return the outputs by name.

        A graph's inputs and outputs go by the names of their edges, or by index where they have none; inputs by index
        in any case.

        inputs: for each present input tensor an array of its sizes and data type; for a tensor array a sequence of
        them. Tensors owned by DML are given to the first dispatch, and again only to replace them. Outputs are new
        packed arrays. Buffers, pipelines and the recording are kept for the next call.
        Raises DMLError for a missing, unknown or wrong array, before anything runs.
        """
        if self._resident is None:
            self._resident = _Resident(self)
        return self._resident.dispatch(inputs)

    @checked
    def profile(self, inputs: Mapping[Any, Any]) -> list[KernelTime]:
        """Run as ``dispatch`` does; return (node, kernel, nanoseconds) for each of the program's dispatches, in order.

        The device's timestamps measure where it has them; ``Device.has_timestamps`` says whether. Else each dispatch is
        submitted on its own and the host's clock measures, submission and waiting included.
        """
        if self._resident is None:
            self._resident = _Resident(self)
        return self._resident.profile(inputs)

    def run_again(self) -> None:
        """Run on what the last ``dispatch`` left in the device's buffers, and move nothing to or from the host.

        Raises DMLError where nothing was dispatched yet.
        """
        self._device.require_open()
        if self._resident is None:
            raise DMLError(f"{self.label}: run_again needs a dispatch before it")
        self._resident.run_again()


class _Resident:
    """The short way: buffers of a compiled operator's own, and one recording over them."""

    def __init__(self, compiled: CompiledOperator) -> None:
        self._compiled = compiled
        program = compiled.program
        context = compiled.get_device().context
        owned = program.owned
        self._inputs = [None if size is None else context.buffer(size) for size in program.inputs]
        self._outputs = [None if size is None else context.buffer(size) for size in program.outputs]
        everything = [*program.initialize, *program.dispatches]
        arenas = {space: Arena(context, space, everything) for space in (Space.TEMPORARY, Space.PERSISTENT)}

        def place(region: Region) -> Place:
            if region.space is Space.INPUT:
                buffer = self._inputs[region.index]
            elif region.space is Space.OUTPUT:
                buffer = self._outputs[region.index]
            elif region.space is Space.CONSTANT:
                return compiled.constants
            else:
                return arenas[region.space].place(region)
            assert buffer is not None, region
            return Place(buffer)

        self._place = place
        self._bare: Recording | None = None
        bound = [b for i, b in enumerate(self._inputs) if b is not None and i not in owned]
        results = [b for b in self._outputs if b is not None]

        def record(timed: bool = False) -> Recording:
            return Recording(context, program.dispatches, compiled.kernels, place, bound, results, timed=timed)

        self._record = record
        self._recording = record()
        self._timed: Recording | None = None
        kept = [b for i, b in enumerate(self._inputs) if b is not None and i in owned]
        self._initialization = Recording(context, program.initialize, compiled.initialize_kernels, place, kept)
        self._initialized = False

    def _gather(self, given: Mapping[Any, Any]) -> dict[int, arrays.Array]:
        """The checked array of each slot that was given one."""
        compiled = self._compiled
        known = [name for name, _ in compiled.input_fields]
        inputs: dict[str | int, Any] = {}
        for key, value in given.items():
            name = known[key] if isinstance(key, int) and 0 <= key < len(known) else key
            if name not in known:
                raise DMLError(f"{compiled.label}: no input tensor {key!r}; it has {', '.join(map(str, known))}")
            inputs[name] = value
        found: dict[int, arrays.Array] = {}
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
                elif slot.tensor is not None and not (at in compiled.program.owned and self._initialized):
                    raise DMLError(f"{compiled.label}.{slot.name}: an array must be given")
                at += 1
        return found

    def _prepare(self, found: Mapping[int, arrays.Array]) -> None:
        compiled = self._compiled
        for at, array in found.items():
            buffer, tensor = self._inputs[at], compiled.input_slots[at].tensor
            assert buffer is not None
            assert buffer.words is not None
            assert tensor is not None
            arrays.store(array, buffer.words, tensor)
        if not self._initialized or any(at in compiled.program.owned for at in found):
            self._initialization.run()
            self._initialized = True

    def profile(self, inputs: Mapping[Any, Any]) -> list[KernelTime]:
        found = self._gather(inputs)
        with self._compiled.get_device().context.lock:
            self._prepare(found)
            if self._timed is None:
                self._timed = self._record(timed=True)
            return self._timed.profile()

    def dispatch(self, inputs: Mapping[Any, Any]) -> dict[Any, Any]:
        compiled = self._compiled
        found = self._gather(inputs)
        with compiled.get_device().context.lock:
            self._prepare(found)
            self._recording.run()
            results: dict[Any, Any] = {}
            at = 0
            for name, field in compiled.output_fields:
                if isinstance(field, tuple):
                    results[name] = [self._load(at + i, t) for i, t in enumerate(field)]
                    at += len(field)
                    continue
                if field is not None:
                    results[name] = self._load(at, field)
                at += 1
        return results

    def run_again(self) -> None:
        if self._bare is None:
            self._bare = Recording(
                self._compiled.get_device().context,
                self._compiled.program.dispatches,
                self._compiled.kernels,
                self._place,
            )
        self._bare.run()

    def _load(self, at: int, tensor: DML_BUFFER_TENSOR_DESC) -> npt.NDArray[Any]:
        buffer = self._outputs[at]
        assert buffer is not None
        assert buffer.words is not None
        return arrays.load(buffer.words, tensor)


class OperatorInitializer(Dispatchable):
    """Prepares compiled operators: copies what DML owns into their persistent resources.

    Its binding table takes one input binding per operator (a DML_BUFFER_ARRAY_BINDING of that operator's inputs, empty
    where DML does not own them) and one output binding per operator (its persistent resource).
    """

    def __init__(self, device: Device, operators: Sequence[CompiledOperator]) -> None:
        super().__init__(device)
        self.reset(operators)

    @checked
    def reset(self, operators: Sequence[CompiledOperator]) -> None:
        """Initialize these operators instead."""
        for compiled in operators:
            require_device(compiled, self._device, "OperatorInitializer")
        self.operators = tuple(operators)

    def get_binding_properties(self) -> DML_BINDING_PROPERTIES:
        """What an initialization needs bound. Temporaries of the operators' initializations lie one after another."""
        count = sum(len(compiled.input_slots) + 1 for compiled in self.operators)
        return DML_BINDING_PROPERTIES(count, 0, 0)
