"""What every object of the API can do: carry a name and private data (IDMLObject)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from dml.arguments import checked
from dml.errors import HRESULT, DMLError

if TYPE_CHECKING:
    from dml.api.device import Device


class DMLObject:
    """An object with a name for messages and bytes that a program hangs on it. Reference: idmlobject."""

    def __init__(self) -> None:
        self._name = ""
        #: Bytes and objects.
        self._private: dict[UUID, Any] = {}

    def __repr__(self) -> str:
        about = self._about()
        name = f" {self._name!r}" if self._name else ""
        return f"<{type(self).__name__}{name}{f': {about}' if about else ''}>"

    def _about(self) -> str:
        """What its ``repr`` says of it."""
        return ""

    def set_name(self, name: str) -> None:
        """Have its ``repr`` say this name. Reference: idmlobject-setname."""
        self._name = str(name)

    def get_name(self) -> str:
        return self._name

    @checked
    def set_private_data(self, guid: UUID, data: bytes | bytearray | memoryview | None) -> None:
        """Keep a copy of ``data`` under ``guid``, in the place of what was there; None removes that.

        Reference: idmlobject-setprivatedata.
        """
        self.set_private_data_interface(guid, None if data is None else bytes(data))

    @checked
    def set_private_data_interface(self, guid: UUID, data: object | None) -> None:
        """Hold any Python object under ``guid``, in the place of what was there; None removes that.

        An interface is a reference that counts, as every reference to a Python object is: the object lives until it is
        replaced, or this object goes. Reference: idmlobject-setprivatedatainterface.
        """
        if data is None:
            self._private.pop(guid, None)
        else:
            self._private[guid] = data

    @checked
    def get_private_data(self, guid: UUID) -> Any:
        """The bytes, or the object, kept under ``guid``.

        Raises DMLError (DXGI_ERROR_NOT_FOUND) where nothing is. Reference: idmlobject-getprivatedata.
        """
        if guid not in self._private:
            raise DMLError(f"{type(self).__name__}: no private data under {guid}", HRESULT.DXGI_ERROR_NOT_FOUND)
        return self._private[guid]


class DeviceChild(DMLObject):
    """An object that belongs to a device. Reference: idmldevicechild.

    Raises DMLError where the device is closed.
    """

    def __init__(self, device: Device) -> None:
        super().__init__()
        device.adopt(self)
        self._device = device

    def get_device(self) -> Device:
        """The device that it belongs to. Reference: idmldevicechild-getdevice."""
        return self._device

    def release(self) -> None:
        """Let go of device memory: the device is being closed. Most objects hold none."""


def require_device(child: DeviceChild, device: Device, where: str) -> None:
    """Raise DMLError, starting with ``where``, unless ``child`` belongs to ``device``, and ``device`` is open.

    As in DirectML, where objects are their IDMLDevice's: two Device objects do not share them, though both may stand
    for one physical device.
    """
    device.require_open()
    owner = child.get_device()
    if owner is not device:
        name = device.vulkan.name
        other = owner.vulkan.name if owner.vulkan != device.vulkan else f"another Device object of {name}"
        raise DMLError(f"{where}: the {type(child).__name__} belongs to {other}, not to this device ({name})")
