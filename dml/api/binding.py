"""Binding tables (IDMLBindingTable): the buffers that a dispatchable reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dml import enums
from dml.api.bound_resources import BoundResources
from dml.api.hazards import BoundRange
from dml.api.objects import DeviceChild, require_device
from dml.api.operator import CompiledOperator, Dispatchable, OperatorInitializer
from dml.arguments import checked, counted, described
from dml.descriptors.binding import (
    DML_BINDING_DESC,
    DML_BINDING_TABLE_DESC,
    DML_BUFFER_ARRAY_BINDING,
    DML_BUFFER_BINDING,
)
from dml.errors import DMLError
from dml.runtime.buffer import Buffer
from dml.runtime.recording import Place
from dml.tensors import DML_BUFFER_TENSOR_DESC

if TYPE_CHECKING:
    from dml.api.device import Device

AnyBinding = DML_BINDING_DESC | DML_BUFFER_BINDING | DML_BUFFER_ARRAY_BINDING | None


class BindingTable(DeviceChild):
    """Buffers bound for one dispatchable. Bindings are read when a dispatch is recorded, or when it is executed for
    operators compiled with DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE.

    Reference: idmlbindingtable.
    """

    def __init__(self, device: Device, desc: DML_BINDING_TABLE_DESC | None) -> None:
        super().__init__(device)
        self.reset(desc)

    @checked
    def reset(self, desc: DML_BINDING_TABLE_DESC | None = None) -> None:
        """Remove all bindings and assign another dispatchable; without one the table is empty and refuses bindings.

        Dispatches already recorded keep their bindings. Reference: idmlbindingtable-reset.
        """
        dispatchable = None
        if desc is not None:
            dispatchable = desc.Dispatchable
            where = "DML_BINDING_TABLE_DESC.Dispatchable"
            if not isinstance(dispatchable, Dispatchable):
                raise DMLError(
                    f"{where}: must be a compiled operator or an initializer, found {type(dispatchable).__name__}"
                )
            require_device(dispatchable, self._device, where)
            needed = dispatchable.get_binding_properties().RequiredDescriptorCount
            if desc.SizeInDescriptors is not None and desc.SizeInDescriptors < needed:
                raise DMLError(
                    f"DML_BINDING_TABLE_DESC.SizeInDescriptors: must be at least {needed}, "
                    f"found {desc.SizeInDescriptors}"
                )
        self._bound: BoundResources | None = None if dispatchable is None else BoundResources(dispatchable)

    def _about(self) -> str:
        return "for nothing" if self._bound is None else f"for {self._bound.dispatchable!r}"

    def release(self) -> None:
        self._bound = None

    @property
    def bound(self) -> BoundResources:
        """The bindings until the next ``reset``. Raises DMLError for an empty table."""
        self._device.require_open()
        if self._bound is None:
            raise DMLError("BindingTable: the table has no dispatchable; reset it with a DML_BINDING_TABLE_DESC")
        return self._bound

    @property
    def dispatchable(self) -> Dispatchable:
        return self.bound.dispatchable

    @counted
    def bind_inputs(self, bindings: Sequence[AnyBinding] | None = ()) -> None:
        """Bind the inputs in the order of the descriptor's fields, tensor arrays one after another.

        An empty sequence unbinds all. A compiled operator takes a buffer binding per present tensor, and none for
        absent ones and those that DML owns; an initializer takes an array binding per operator. Offsets are multiples
        of 16, and of the tensor's GuaranteedBaseOffsetAlignment. References: idmlbindingtable-bindinputs,
        dml_buffer_tensor_desc.
        """
        bound, dispatchable = self.bound, self.dispatchable
        given = _unwrapped("bind_inputs", bindings)
        if not given:
            bound.inputs = None
        elif isinstance(dispatchable, OperatorInitializer):
            self._expect("bind_inputs", len(given), len(dispatchable.operators))
            places = []
            for compiled, binding in zip(dispatchable.operators, given, strict=True):
                if binding is not None and not isinstance(binding, DML_BUFFER_ARRAY_BINDING):
                    raise DMLError(
                        "BindingTable.bind_inputs: an initializer takes a DML_BUFFER_ARRAY_BINDING per operator"
                    )
                nothing = [None] * len(compiled.input_slots)
                own = nothing if binding is None or not binding.Bindings else list(binding.Bindings)
                places.append(self._tensors(compiled, own, owned=True))
            bound.inputs = places
        else:
            assert isinstance(dispatchable, CompiledOperator)
            bound.inputs = [self._tensors(dispatchable, given, owned=False)]

    def _tensors(self, compiled: CompiledOperator, given: Sequence[object], *, owned: bool) -> list[BoundRange | None]:
        self._expect(f"{compiled.label} inputs", len(given), len(compiled.input_slots))
        places: list[BoundRange | None] = []
        for index, (slot, binding) in enumerate(zip(compiled.input_slots, given, strict=True)):
            refused = ""
            if slot.tensor is None:
                refused = "the description leaves this tensor out"
            elif (index in compiled.program.owned) != owned:
                refused = (
                    "an initializer takes tensors with DML_TENSOR_FLAG_OWNED_BY_DML alone; bind it at each dispatch"
                    if owned
                    else "it has DML_TENSOR_FLAG_OWNED_BY_DML; bind it to the operator's initializer"
                )
            size = compiled.program.inputs[index] or 0
            places.append(self._range(binding, slot.where, refused, size, _alignment(slot.tensor), slot.tensor))
        return places

    @counted
    def bind_outputs(self, bindings: Sequence[AnyBinding] | None = ()) -> None:
        """Bind the outputs in the order of the fields; for an initializer, the operators' persistent resources. An
        empty sequence unbinds all. Offsets as for ``bind_inputs``. Reference: idmlbindingtable-bindoutputs."""
        bound, dispatchable = self.bound, self.dispatchable
        given = _unwrapped("bind_outputs", bindings)
        places: list[BoundRange | None] = []
        if not given:
            bound.outputs = None
            return
        if isinstance(dispatchable, OperatorInitializer):
            self._expect("bind_outputs", len(given), len(dispatchable.operators))
            for compiled, binding in zip(dispatchable.operators, given, strict=True):
                where, size = f"{compiled.label}: persistent resource", compiled.program.persistent_size
                refused = "" if size else "the operator has no persistent resource"
                places.append(self._range(binding, where, refused, size, enums.DML_PERSISTENT_BUFFER_ALIGNMENT))
        else:
            assert isinstance(dispatchable, CompiledOperator)
            self._expect(f"{dispatchable.label} outputs", len(given), len(dispatchable.output_slots))
            for index, (slot, binding) in enumerate(zip(dispatchable.output_slots, given, strict=True)):
                refused = "the description leaves this tensor out" if slot.tensor is None else ""
                size = dispatchable.program.outputs[index] or 0
                places.append(self._range(binding, slot.where, refused, size, _alignment(slot.tensor), slot.tensor))
        bound.outputs = places

    @checked
    def bind_temporary_resource(self, binding: AnyBinding) -> None:
        """Bind scratch memory of at least TemporaryResourceSize bytes, at a multiple of 256; None if it needs none.

        Reference: idmlbindingtable-bindtemporaryresource.
        """
        size = self.dispatchable.get_binding_properties().TemporaryResourceSize
        refused = "" if size else "the operator needs none"
        self.bound.temporary = self._range(
            _unwrap(binding), "temporary resource", refused, size, enums.DML_TEMPORARY_BUFFER_ALIGNMENT
        )

    @checked
    def bind_persistent_resource(self, binding: AnyBinding) -> None:
        """Bind the memory that the operator's initialization wrote, at a multiple of 256."""
        size = self.dispatchable.get_binding_properties().PersistentResourceSize
        refused = "" if size else "the operator needs none"
        self.bound.persistent = self._range(
            _unwrap(binding), "persistent resource", refused, size, enums.DML_PERSISTENT_BUFFER_ALIGNMENT
        )

    def _range(
        self,
        binding: object,
        where: str,
        refused: str,
        size: int,
        alignment: int,
        tensor: DML_BUFFER_TENSOR_DESC | None = None,
    ) -> BoundRange | None:
        """Return the bound range, ``size`` bytes at a multiple of ``alignment``; None if nothing is bound. refused: the
        reason why a binding is not allowed; if empty, one is required."""
        if binding is None or (isinstance(binding, DML_BUFFER_BINDING) and binding.Buffer is None):
            if not refused:
                raise DMLError(f"{where}: a buffer must be bound")
            return None
        if refused:
            raise DMLError(f"{where}: nothing may be bound here: {refused}")
        if not isinstance(binding, DML_BUFFER_BINDING) or not isinstance(binding.Buffer, Buffer):
            raise DMLError(f"{where}: takes a DML_BUFFER_BINDING of a buffer of this library, found {binding!r}")
        buffer, context = binding.Buffer, self._device.context
        if buffer.context is not context:
            raise DMLError(
                f"{where}: the buffer belongs to {buffer.context.device.name}, not to the table's {context.device.name}"
            )
        if binding.Offset % alignment:
            raise DMLError(f"{where}: the binding's Offset must be a multiple of {alignment}, found {binding.Offset}")
        end = binding.Offset + binding.SizeInBytes
        if end > buffer.size:
            raise DMLError(f"{where}: the binding ends at byte {end}, beyond the buffer's {buffer.size} bytes")
        if binding.SizeInBytes < size:
            raise DMLError(f"{where}: needs {size} bytes, the binding has {binding.SizeInBytes}")
        return BoundRange(where, Place(buffer, binding.Offset), size, tensor)

    def _expect(self, what: str, found: int, wanted: int) -> None:
        if found != wanted:
            raise DMLError(f"BindingTable: {what} takes {wanted} bindings, found {found}")


def _alignment(tensor: DML_BUFFER_TENSOR_DESC | None) -> int:
    """Return the alignment in bytes, a power of two, that the offset of a tensor's binding needs."""
    guaranteed = 0 if tensor is None else tensor.GuaranteedBaseOffsetAlignment
    return max(enums.DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT, guaranteed)


def _unwrapped(
    method: str, bindings: Sequence[AnyBinding] | None
) -> list[DML_BUFFER_BINDING | DML_BUFFER_ARRAY_BINDING | None]:
    """Return the bindings without their DML_BINDING_DESC. Raises DMLError for other objects, and says how a buffer is
    bound."""
    where = f"BindingTable.{method}"
    wanted = "takes a sequence of DML_BUFFER_BINDING, DML_BUFFER_ARRAY_BINDING, DML_BINDING_DESC or None"
    if bindings is None:
        return []
    if not isinstance(bindings, Sequence):
        raise DMLError(f"{where}: {wanted}, found {described(bindings)}{_how_to_bind(bindings, '[', ']')}")
    for index, binding in enumerate(bindings):
        if not isinstance(binding, DML_BINDING_DESC | DML_BUFFER_BINDING | DML_BUFFER_ARRAY_BINDING | None):
            raise DMLError(f"{where}: {wanted}, found {described(binding)} at index {index}{_how_to_bind(binding)}")
    return [_unwrap(binding) for binding in bindings]


def _how_to_bind(found: object, before: str = "", after: str = "") -> str:
    if not isinstance(found, Buffer):
        return ""
    return f"; a buffer is bound by {before}DML_BUFFER_BINDING(buffer, 0, {found.size}){after}"


def _unwrap(binding: AnyBinding) -> DML_BUFFER_BINDING | DML_BUFFER_ARRAY_BINDING | None:
    return binding.Desc if isinstance(binding, DML_BINDING_DESC) else binding
