"""A dispatchable's bindings, independent of the binding table, which may be reset."""

from __future__ import annotations

from dml.api import hazards
from dml.api.hazards import BoundRange
from dml.api.lifetimes import PersistentUse
from dml.api.operator import CompiledOperator, Dispatchable, OperatorInitializer
from dml.compiler.program import Region, Space
from dml.errors import DMLError
from dml.runtime.recording import Place


class BoundResources:
    """The ranges bound for a dispatchable; None if nothing is bound.

    Resetting the table does not change them: its page says that previous bindings are not modified. Dispatches recorded
    with late binding read them when executed. Reference: idmlbindingtable-reset.
    """

    def __init__(self, dispatchable: Dispatchable) -> None:
        self.dispatchable = dispatchable
        #: One list for a compiled operator; one per operator for an initializer.
        self.inputs: list[list[BoundRange | None]] | None = None
        self.outputs: list[BoundRange | None] | None = None
        self.temporary: BoundRange | None = None
        self.persistent: BoundRange | None = None

    @property
    def state(self) -> tuple[object, ...]:
        """A value that stays equal as long as the same ranges are bound."""
        inputs = None if self.inputs is None else [tuple(each) for each in self.inputs]
        return inputs, self.outputs and tuple(self.outputs), self.temporary, self.persistent

    def resolve(self, operator: int, region: Region) -> Place:
        """Return where a region of operator number ``operator`` of the dispatchable is bound.

        Raises DMLError if nothing is bound for it.
        """
        bound: BoundRange | None
        if region.space is Space.INPUT:
            bound = self.inputs[operator][region.index] if self.inputs else None
        elif region.space is Space.OUTPUT:
            bound = self.outputs[region.index] if self.outputs else None
        elif region.space is Space.TEMPORARY:
            bound = self.temporary
        elif isinstance(self.dispatchable, OperatorInitializer):
            bound = self.outputs[operator] if self.outputs else None
        else:
            bound = self.persistent
        if bound is None:
            raise DMLError(
                f"BindingTable: the {region.space.value} resource {region.index} must be bound before a dispatch"
            )
        return bound.place

    def check_hazards(self) -> None:
        """Raise DMLError if a dispatch with these bindings would write bytes that it also reads or writes elsewhere."""
        inputs = [bound for each in self.inputs or () for bound in each if bound is not None]
        outputs = [bound for bound in self.outputs or () if bound is not None]
        if isinstance(self.dispatchable, CompiledOperator):
            hazards.check_execution(self.dispatchable, inputs, outputs, self.temporary, self.persistent)
        else:
            hazards.check_initialization(inputs, outputs)

    def persistent_uses(self) -> list[PersistentUse]:
        """Return the persistent resources that a dispatch with these bindings initializes or reads."""
        if isinstance(self.dispatchable, OperatorInitializer):
            written = zip(self.dispatchable.operators, self.outputs or (), strict=False)
            return [PersistentUse(compiled, bound, True) for compiled, bound in written if bound is not None]
        assert isinstance(self.dispatchable, CompiledOperator)
        return [] if self.persistent is None else [PersistentUse(self.dispatchable, self.persistent, False)]
