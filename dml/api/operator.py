"""Operators, compiled operators and their initializer (IDMLOperator, IDMLCompiledOperator, IDMLOperatorInitializer)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dml.api.device_array import DeviceArray
from dml.api.objects import DeviceChild, require_device
from dml.api.resident import Resident, SharedMemory
from dml.api.weights import Constants
from dml.arguments import checked
from dml.compiler.program import Access, Dispatch, Program
from dml.descriptors.base import OperatorDesc
from dml.descriptors.binding import DML_BINDING_PROPERTIES
from dml.errors import DMLError
from dml.runtime.needs import check_fits, explaining_needs
from dml.runtime.recording import KernelTime, spirv
from dml.tensors import DML_BUFFER_TENSOR_DESC
from dml.words import bytes_text, html_table

if TYPE_CHECKING:
    from dml.api.device import Device


#: Accesses that read (inputs), and accesses that write (outputs).
_DIRECTIONS = ((Access.READ, Access.READ_WRITE), (Access.WRITE, Access.READ_WRITE))


class Operator(DeviceChild):
    """A validated description, not yet compiled. ``Device.create_operator`` makes it."""

    def __init__(self, device: Device, desc: OperatorDesc) -> None:
        super().__init__(device)
        self.desc = desc

    def _about(self) -> str:
        return repr(self.desc)


class Dispatchable(DeviceChild):
    """An object that a command recorder can record: a compiled operator or an initializer."""

    def get_binding_properties(self) -> DML_BINDING_PROPERTIES:
        raise NotImplementedError


class Slot:
    """A binding point of an input or output: its name, its name in messages, and its tensor (None if absent)."""

    def __init__(self, name: str, where: str, tensor: DML_BUFFER_TENSOR_DESC | None) -> None:
        self.name = name
        self.where = where
        self.tensor = tensor


#: Name (index, for an unnamed input or output of a graph) and tensor, tensor array or None; in binding order.
Field = tuple[str | int, DML_BUFFER_TENSOR_DESC | tuple[DML_BUFFER_TENSOR_DESC, ...] | None]


def _slots(fields: Sequence[Field], label: str, graphs: str) -> list[Slot]:
    """Return the binding points of fields. label: the operator's name in messages. graphs: "input" or "output" if they
    are inputs or outputs of a graph, for messages; "" for fields of an operator."""
    slots: list[Slot] = []
    for name, tensor in fields:
        if isinstance(tensor, tuple):
            slots += [Slot(f"{name}[{i}]", f"{label}.{name}[{i}]", t) for i, t in enumerate(tensor)]
        else:
            where = f"{label}: {graphs} {name!r}" if graphs else f"{label}.{name}"
            slots.append(Slot(str(name), where, tensor))
    return slots


def _of_fields(slots: Sequence[Slot], fields: Iterable[Field]) -> list[Slot]:
    """Return the slots with their tensors replaced by those of a graph's fields, one per field."""
    return [
        slot if slot.tensor is tensor or isinstance(tensor, tuple) else Slot(slot.name, slot.where, tensor)
        for slot, (_, tensor) in zip(slots, fields, strict=True)
    ]


class CompiledOperator(Dispatchable):
    """A program for one device. ``Device.compile_operator`` or ``Device.compile_graph`` makes it.

    label: the operator's name in messages. inputs, outputs: its fields. in_place: whether an output may be bound over
    an input. is_graph: the fields are inputs and outputs of a graph. binds_late: command lists read the bindings when
    executed.
    """

    _internal = frozenset({
        "binds_late", "constants", "dispatch_all", "forget_constants", "in_place", "initialization",
        "initialize_kernels", "input_slots", "kept", "kept_kernels", "kernels", "of_sizes", "output_slots", "shared",
    })  # fmt: skip

    def __init__(
        self,
        device: Device,
        program: Program,
        label: str,
        inputs: Iterable[Field],
        outputs: Iterable[Field],
        *,
        in_place: bool = False,
        is_graph: bool = False,
        binds_late: bool = False,
    ) -> None:
        super().__init__(device)
        self.program = program
        self.label = label
        self.in_place = in_place
        self.binds_late = binds_late
        self.input_fields = list(inputs)
        self.output_fields = list(outputs)
        self.input_slots = _slots(self.input_fields, label, "input" if is_graph else "")
        self.output_slots = _slots(self.output_fields, label, "output" if is_graph else "")
        every = [*program.dispatches, *program.initialize]
        kernels = spirv(every)
        self.kernels = kernels[: len(program.dispatches)]
        self.initialize_kernels = kernels[len(program.dispatches) :]
        #: Keeps the pipelines alive, which are compiled in the background; recordings find them.
        self._pipelines: object = device.context.pipelines.begin(every, kernels)
        #: Memory that ``dispatch`` shares with other programs, so that only one of them runs at a time. None: not
        #: shared.
        self.shared: SharedMemory | None = None
        self._resident: Resident | None = None
        self._making = threading.Lock()

    def of_sizes(self, program: Program, inputs: Iterable[Field], outputs: Iterable[Field]) -> CompiledOperator:
        """Return a compiled operator with the same kernels for other sizes of a graph's tensors."""
        resized = copy(self)
        DeviceChild.__init__(resized, self._device)
        resized.program = program
        resized.input_fields, resized.output_fields = list(inputs), list(outputs)
        resized.input_slots = _of_fields(self.input_slots, resized.input_fields)
        resized.output_slots = _of_fields(self.output_slots, resized.output_fields)
        known = {id(old.source): kernel for old, kernel in zip(self.program.dispatches, self.kernels, strict=True)}
        # kernels by source, since the dispatches' order may differ
        resized.kernels = [known[id(new.source)] for new in program.dispatches]
        resized._resident, resized._making = None, threading.Lock()
        resized.__dict__.pop("constants", None)
        return resized

    @cached_property
    def constants(self) -> Constants:
        """The constants that the program's dispatches read."""
        return Constants(self._device.context, self.program, self.program.dispatches)

    @property
    def initialization(self) -> tuple[list[Dispatch], list[bytes]]:
        """The dispatches that an initializer runs, and their kernels."""
        program = self.program
        # `dispatch` copies owned inputs itself, so the kernels that adopt them are compiled only for a recorded
        # initialization
        return [*program.adopt, *program.initialize], [*spirv(program.adopt), *self.initialize_kernels]

    def get_binding_properties(self) -> DML_BINDING_PROPERTIES:
        """Return the descriptors and the bytes of temporary and persistent resource that a dispatch needs."""
        count = len(self.input_slots) + len(self.output_slots)
        program = self.program
        return DML_BINDING_PROPERTIES(
            count + (program.temporary_size > 0) + (program.persistent_size > 0),
            program.temporary_size,
            program.persistent_size,
        )

    def _about(self) -> str:
        kernels = [dispatch.label for dispatch in self.program.dispatches]
        shown = ", ".join(f"{kernel} x {count}" if count > 1 else kernel for kernel, count in Counter(kernels).items())
        return f"{self.label}, {f'kernels {shown}' if shown else 'no kernels'}"

    def _repr_html_(self) -> str:
        program = self.program
        rows = [
            (stage, dispatch.node, dispatch.label, " x ".join(map(str, dispatch.groups)),
             *(bytes_text(sum(b.region.size for b in dispatch.bindings if b.access in kinds)) for kinds in _DIRECTIONS))
            for stage, dispatches in (("initialize", program.initialize), ("dispatch", program.dispatches))
            for dispatch in dispatches
        ]  # fmt: skip
        sizes = f"temporary {bytes_text(program.temporary_size)}, persistent {bytes_text(program.persistent_size)}"
        columns = ["stage", "nodes", "kernel", "workgroups", "reads", "writes"]
        return html_table(f"{self.label}: {sizes}", columns, rows)

    def release(self) -> None:
        self._resident = self._pipelines = None
        self.__dict__.pop("constants", None)

    @property
    def kept(self) -> dict[object, int]:
        """Return what ``dispatch`` keeps on the device for this operator, with bytes: buffers, and kernels, which
        operators may share. Constants and weights, shared if equal, are not included."""
        return {} if self._resident is None else self._resident.kept

    @property
    def kept_kernels(self) -> set[object]:
        """Return the kernels among ``kept``."""
        return set() if self._resident is None else self._resident.kept_kernels

    @property
    def memory(self) -> int:
        """The bytes of everything that ``dispatch`` keeps (see ``kept``)."""
        return sum(self.kept.values())

    def forget_constants(self) -> None:
        """Drop the host's copy of the constants once ``dispatch`` has uploaded them.

        Only for programs that are never recorded and own no inputs: others need them again.
        """
        if self._resident is not None and not self.program.owned:
            self.program.constants = []

    def describe(self) -> str:
        """Describe the program: a line per dispatch, with its regions and their bytes."""
        return f"{self.label}: {self.program.describe()}"

    @checked
    def dispatch(
        self,
        inputs: Mapping[Any, Any],
        *,
        keep: Sequence[str | int] = (),
        into: Mapping[str | int, DeviceArray] | None = None,
    ) -> dict[Any, Any]:
        """Run on NumPy arrays by tensor name and return the outputs by name.

        A graph's inputs and outputs are identified by the names of their edges, or by index if unnamed. An index is
        always valid for an input.

        inputs: for each present input tensor an array of its sizes and data type; for a tensor array a sequence of
        them. Tensors owned by DML are given to the first dispatch, and later only to replace them. Outputs are new
        packed arrays. A DeviceArray of this device can replace an array. keep: names of outputs to return as
        DeviceArrays, whose buffers are reused once unreferenced. into: DeviceArrays to write outputs to, by name; bytes
        that the program does not write stay, as in MULTIHEAD_ATTENTION1's cache. One of them may be an input of an
        operator that executes in place, as for a BindingTable. Buffers, pipelines and recordings are kept for the next
        call. Raises DMLError for a missing, unknown or wrong array, before anything runs.
        """
        return self._own().dispatch(inputs, keep=keep, into=into)

    def dispatch_all(self, inputs: Mapping[Any, Any], keep: Sequence[str | int]) -> dict[Any, Any]:
        """Like ``dispatch``, but every input must be given, as for the first dispatch."""
        return self._own().dispatch(inputs, every=True, keep=keep)

    @checked
    def profile(self, inputs: Mapping[Any, Any]) -> list[KernelTime]:
        """Run as ``dispatch`` does; return (node, kernel, nanoseconds) for each of the program's dispatches, in order.

        Uses the device's timestamps if it has them (``Device.has_timestamps``). Otherwise each dispatch is submitted
        alone and timed by the host, submission and waiting included. Compilation is excluded: the first profile runs
        twice.
        """
        return self._own().profile(inputs)

    def _own(self) -> Resident:
        """Return the buffers and recordings of ``dispatch``, which all threads share; create them at the first call."""
        with self._making:
            if self._resident is None:
                check_fits(self.label, self.program, self._device.context.memory_limit)
                with explaining_needs(self.label, self.program):
                    self._resident = Resident(self)
            return self._resident

    def run_again(self) -> None:
        """Run on the contents that the last ``dispatch`` left in the device's buffers, without transfers.

        Raises DMLError if nothing was dispatched yet.
        """
        self._device.require_open()
        if self._resident is None:
            raise DMLError(f"{self.label}: run_again needs a dispatch before it")
        self._resident.run_again()


class OperatorInitializer(Dispatchable):
    """Prepares compiled operators: copies the tensors that DML owns into their persistent resources.

    Its binding table takes one input binding per operator (a DML_BUFFER_ARRAY_BINDING of its inputs, empty for those
    that DML does not own) and one output binding per operator (its persistent resource).
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

    def _about(self) -> str:
        return ", ".join(compiled.label for compiled in self.operators)

    def get_binding_properties(self) -> DML_BINDING_PROPERTIES:
        """Return the bindings that an initialization needs. The operators' temporaries are placed one after another."""
        count = sum(len(compiled.input_slots) + 1 for compiled in self.operators)
        return DML_BINDING_PROPERTIES(count, 0, 0)
