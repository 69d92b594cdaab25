"""Command lists and the recorder that fills them (IDMLCommandRecorder)."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dml.api.binding import BindingTable
from dml.api.lifetimes import PersistentUse, follow
from dml.api.objects import DeviceChild, require_device
from dml.api.operator import CompiledOperator, Dispatchable, OperatorInitializer
from dml.api.weights import Constants
from dml.arguments import checked
from dml.compiler.program import Region, Space
from dml.errors import DMLError
from dml.runtime.queue import Fence
from dml.runtime.recording import JoinedRecordings, KernelTime, Place, Recording

if TYPE_CHECKING:
    from dml.api.device import Device


class CommandList(DeviceChild):
    """Recorded dispatches in order; ``execute`` runs them all and waits. Each sees what the ones before it wrote.

    timed: for ``profile`` as well.
    """

    def __init__(self, device: Device, *, timed: bool = False) -> None:
        super().__init__(device)
        self.timed = timed
        self._recordings: list[Recording] = []
        self._joined: JoinedRecordings | None = None
        self._joining = threading.Lock()
        self._uses: list[PersistentUse] = []

    def _about(self) -> str:
        return f"{len(self._recordings)} recorded"

    def append(self, recordings: Iterable[Recording], uses: Iterable[PersistentUse]) -> None:
        """Add a dispatchable's recordings, and what they initialize or need initialized."""
        self._recordings.extend(recordings)
        self._joined = None
        self._uses.extend(uses)

    @property
    def recordings(self) -> tuple[Recording | JoinedRecordings, ...]:
        """What to run, in order: all at once, where there are several whose kernels have run."""
        with self._joining:
            if self._joined is None:
                recordings = tuple(self._recordings)
                if self.timed or len(recordings) < 2 or any(recording.is_new for recording in recordings):
                    return recordings
                self._joined = JoinedRecordings(self._device.context, recordings)
            return (self._joined,)

    @property
    def persistent_uses(self) -> tuple[PersistentUse, ...]:
        """The persistent resources that are initialized and read, in order."""
        return tuple(self._uses)

    @checked
    def execute(self, *, wait: bool = True) -> Fence:
        """Run everything recorded, after all that was executed before. It can be run again.

        wait: False returns at once, with a fence that tells when the work is done. Reads and writes of buffers by the
        host wait for it in any case. Returns the fence.
        Raises DMLError, before anything runs, where a dispatch needs an initialization that was not executed before it,
        and (DXGI_ERROR_DEVICE_REMOVED) where the device is lost.
        """
        return self._device.execute_command_lists([self], wait=wait)

    def profile(self) -> list[KernelTime]:
        """Execute, and return (node, kernel, nanoseconds) for each dispatch of the programs recorded, in order.

        Raises DMLError where the list was not made with ``timed``. See ``CompiledOperator.profile``.
        """
        if not self.timed:
            raise DMLError("CommandList.profile: only of a list made with create_command_list(timed=True)")
        self._device.require_open()
        follow(self._uses, "CommandList.profile")
        return [taken for recording in self._recordings for taken in recording.profile()]

    def reset(self) -> None:
        """Forget what was recorded."""
        self._recordings.clear()
        self._joined = None
        self._uses.clear()

    def release(self) -> None:
        self.reset()


class CommandRecorder(DeviceChild):
    """Records dispatches into command lists. Stateless. Reference: idmlcommandrecorder."""

    @checked
    def record_dispatch(self, command_list: CommandList, dispatchable: Dispatchable, bindings: BindingTable) -> None:
        """Append a dispatch of ``dispatchable`` with the buffers now bound in ``bindings``.

        The table may be changed or reset afterwards. Raises DMLError where a needed binding is missing, bindings
        overlap that may not, the table is for another dispatchable, or one of the three belongs to another device.
        """
        for used in (command_list, dispatchable, bindings):
            require_device(used, self._device, "CommandRecorder.record_dispatch")
        if bindings.dispatchable is not dispatchable:
            raise DMLError("CommandRecorder.record_dispatch: the binding table is for another dispatchable")
        context = self._device.context
        bindings.check_hazards()
        if isinstance(dispatchable, CompiledOperator):
            work = [(dispatchable.program.dispatches, dispatchable.kernels, dispatchable.constants)]
        else:
            assert isinstance(dispatchable, OperatorInitializer)
            work = [
                (*c.initialization, Constants(context, c.program, c.program.initialize)) for c in dispatchable.operators
            ]
        recordings = []
        for index, (dispatches, kernels, known) in enumerate(work):

            def place(region: Region, known: Constants = known, index: int = index) -> Place:
                return known.place(region) if region.space is Space.CONSTANT else bindings.resolve(index, region)

            recordings.append(Recording(context, dispatches, kernels, place, timed=command_list.timed))
        command_list.append(recordings, bindings.persistent_uses())
