"""Command lists and the recorder that fills them (IDMLCommandRecorder)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from dml.api.binding import BindingTable
from dml.api.bound_resources import BoundResources
from dml.api.lifetimes import PersistentUse, follow
from dml.api.objects import DeviceChild, require_device
from dml.api.operator import CompiledOperator, Dispatchable, OperatorInitializer
from dml.api.weights import Constants
from dml.arguments import checked
from dml.compiler.program import Region, Space
from dml.errors import DMLError
from dml.runtime.context import Context
from dml.runtime.queue import Fence
from dml.runtime.recording import JoinedRecordings, KernelTime, Place, Recording

if TYPE_CHECKING:
    from dml.api.device import Device


class RecordedDispatch:
    """A dispatch in a command list: its recordings over the bound buffers, one per operator of an initializer.

    late: bindings may change until each execution; otherwise the current ones are used. Raises DMLError, when recorded,
    for a missing binding or forbidden overlaps.
    """

    def __init__(self, context: Context, bound: BoundResources, *, timed: bool, late: bool) -> None:
        self._context = context
        self._timed = timed
        self._state: object = None
        self._late = bound if late else None
        if not late:
            self._record(bound)

    def current(self) -> tuple[list[Recording], list[PersistentUse]]:
        """Return the recordings, and the persistent resources that they initialize and read."""
        if self._late is not None and self._state != self._late.state:
            self._record(self._late)
            self._state = self._late.state
        return self._recordings, self._uses

    def _record(self, bound: BoundResources) -> None:
        bound.check_hazards()
        dispatchable = bound.dispatchable
        if isinstance(dispatchable, CompiledOperator):
            work = [(dispatchable.program.dispatches, dispatchable.kernels, dispatchable.constants)]
        else:
            assert isinstance(dispatchable, OperatorInitializer)
            work = [
                (*c.initialization, Constants(self._context, c.program, c.program.initialize))
                for c in dispatchable.operators
            ]
        recordings = []
        for index, (dispatches, kernels, known) in enumerate(work):

            def place(region: Region, known: Constants = known, index: int = index) -> Place:
                return known.place(region) if region.space is Space.CONSTANT else bound.resolve(index, region)

            recordings.append(Recording(self._context, dispatches, kernels, place, timed=self._timed))
        self._recordings, self._uses = recordings, bound.persistent_uses()


class CommandList(DeviceChild):
    """Recorded dispatches in order; ``execute`` runs them all and waits. Each sees the writes of earlier ones.

    timed: ``profile`` is available too.
    """

    def __init__(self, device: Device, *, timed: bool = False) -> None:
        super().__init__(device)
        self.timed = timed
        self._dispatches: list[RecordedDispatch] = []
        self._joined: tuple[tuple[Recording, ...], JoinedRecordings] | None = None
        self._joining = threading.Lock()

    def _about(self) -> str:
        return f"{len(self._dispatches)} recorded"

    def append(self, dispatch: RecordedDispatch) -> None:
        self._dispatches.append(dispatch)

    def current(self) -> tuple[tuple[Recording | JoinedRecordings, ...], list[PersistentUse]]:
        """Return the recordings to run, joined into one once all of their kernels have run, and the persistent
        resources that they initialize and read.

        Raises DMLError if late bindings cannot be executed.
        """
        with self._joining:
            dispatches = [dispatch.current() for dispatch in self._dispatches]
            recordings = tuple(recording for recorded, _ in dispatches for recording in recorded)
            uses = [use for _, used in dispatches for use in used]
            if self._joined is None or self._joined[0] != recordings:
                if self.timed or len(recordings) < 2 or any(recording.is_new for recording in recordings):
                    return recordings, uses
                self._joined = recordings, JoinedRecordings(self._device.context, recordings)
            return (self._joined[1],), uses

    @checked
    def execute(self, *, wait: bool = True) -> Fence:
        """Run everything recorded, after all earlier executions. It can be run again.

        wait: False returns at once. Returns the fence that signals completion; reads and writes of buffers by the host
        wait for it anyway. Raises DMLError if a dispatch needs an initialization that was not executed or a late
        binding is missing or overlaps, before anything runs; and (DXGI_ERROR_DEVICE_REMOVED) if the device is lost.
        """
        return self._device.execute_command_lists([self], wait=wait)

    def profile(self) -> list[KernelTime]:
        """Execute; return (node, kernel, nanoseconds) for each dispatch of the recorded programs, in order.

        Raises DMLError for a list made without ``timed``. See ``CompiledOperator.profile``.
        """
        if not self.timed:
            raise DMLError("CommandList.profile: needs a list made with create_command_list(timed=True)")
        self._device.require_open()
        recordings, uses = self.current()
        follow(uses, "CommandList.profile")
        return [taken for recording in recordings if isinstance(recording, Recording) for taken in recording.profile()]

    def reset(self) -> None:
        """Remove all recorded dispatches."""
        self._dispatches.clear()
        self._joined = None

    def release(self) -> None:
        self.reset()


class CommandRecorder(DeviceChild):
    """Records dispatches into command lists. Stateless. Reference: idmlcommandrecorder."""

    @checked
    def record_dispatch(self, command_list: CommandList, dispatchable: Dispatchable, bindings: BindingTable) -> None:
        """Append a dispatch of ``dispatchable`` with the current bindings of ``bindings``.

        The table may be changed or reset afterwards. An operator compiled with DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE
        reads its bindings at each execution instead, until the table's next reset, and execution reports missing or
        overlapping ones. Initializers take no flags: their bindings are always read when recorded. Raises DMLError for
        a missing binding, forbidden overlaps, a table of another dispatchable, or objects of different devices.
        References: idmlcommandrecorder-recorddispatch, dml_execution_flags.
        """
        for used in (command_list, dispatchable, bindings):
            require_device(used, self._device, "CommandRecorder.record_dispatch")
        if bindings.dispatchable is not dispatchable:
            raise DMLError("CommandRecorder.record_dispatch: the binding table is for another dispatchable")
        late = isinstance(dispatchable, CompiledOperator) and dispatchable.binds_late
        command_list.append(RecordedDispatch(self._device.context, bindings.bound, timed=command_list.timed, late=late))
