"""The common part of all API objects: a name and private data (IDMLObject)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn
from uuid import UUID

from dml.arguments import checked
from dml.enums.naming import no_attribute
from dml.errors import HRESULT, DMLError

if TYPE_CHECKING:
    from dml.api.device import Device


#: Replacements for Direct3D 12's methods, which a port of a C++ program looks for.
_DIRECT3D = {
    **dict.fromkeys(("close", "execute_command_list"), "execute() closes and submits a command list"),
    **dict.fromkeys(("copy_buffer_region", "copy_resource", "map", "unmap", "create_committed_resource"),
                    "device.create_buffer makes a buffer, its write and read copy"),
    **dict.fromkeys(("create_descriptor_heap", "set_descriptor_heaps"), "a binding table needs no descriptor heap"),
    **dict.fromkeys(("create_command_allocator", "create_command_queue"), "device.create_command_list needs neither"),
    **dict.fromkeys(("create_fence", "signal"), "execute(wait=False) returns a fence"),
    "resource_barrier": "the runtime places barriers",
}  # fmt: skip


class DMLObject:
    """An object with a name for messages, and private data of the program. Reference: idmlobject."""

    #: Attributes for the package itself, which ``dir`` leaves out.
    _internal: ClassVar[frozenset[str]] = frozenset({"release"})

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Suggest this project's name for a C method name."""
            raise no_attribute(self, name, dir(self), _DIRECT3D)

    def __dir__(self) -> list[str]:
        own = type(self)
        hidden = {name for kind in own.__mro__ for name in getattr(kind, "_internal", ())}
        return sorted(set(super().__dir__()) - hidden)

    def __init__(self) -> None:
        self._name = ""
        #: Bytes and objects, by GUID.
        self._private: dict[UUID, Any] = {}

    def __repr__(self) -> str:
        about = self._about()
        name = f" {self._name!r}" if self._name else ""
        return f"<{type(self).__name__}{name}{f': {about}' if about else ''}>"

    def _about(self) -> str:
        """Return the details that its ``repr`` shows."""
        return ""

    def set_name(self, name: str) -> None:
        """Set the name that its ``repr`` shows. Reference: idmlobject-setname."""
        self._name = str(name)

    def get_name(self) -> str:
        return self._name

    @checked
    def set_private_data(self, guid: UUID, data: bytes | bytearray | memoryview | None) -> None:
        """Store a copy of ``data`` under ``guid``, replacing any other; None removes it.

        Reference: idmlobject-setprivatedata.
        """
        self.set_private_data_interface(guid, None if data is None else bytes(data))

    @checked
    def set_private_data_interface(self, guid: UUID, data: object | None) -> None:
        """Store any Python object under ``guid``, replacing any other; None removes it.

        As with a reference-counted interface, the object lives until it is replaced or this object is deleted.
        Reference: idmlobject-setprivatedatainterface.
        """
        if data is None:
            self._private.pop(guid, None)
        else:
            self._private[guid] = data

    @checked
    def get_private_data(self, guid: UUID) -> Any:
        """Return the bytes or the object stored under ``guid``.

        Raises DMLError (DXGI_ERROR_NOT_FOUND) if there is none. Reference: idmlobject-getprivatedata.
        """
        if guid not in self._private:
            raise DMLError(f"{type(self).__name__}: no private data under {guid}", HRESULT.DXGI_ERROR_NOT_FOUND)
        return self._private[guid]


class DeviceChild(DMLObject):
    """An object that belongs to a device. Reference: idmldevicechild. Raises DMLError if the device is closed."""

    def __init__(self, device: Device) -> None:
        super().__init__()
        device.adopt(self)
        self._device = device

    def get_device(self) -> Device:
        """Return its device. Reference: idmldevicechild-getdevice."""
        return self._device

    def release(self) -> None:
        """Release device memory when the device is closed; most objects hold none."""


def require_device(child: DeviceChild, device: Device, where: str) -> None:
    """Raise DMLError, starting with ``where``, unless ``child`` belongs to ``device`` and ``device`` is open.

    As in DirectML, where objects belong to one IDMLDevice: two Device objects of one physical device do not share them.
    """
    device.require_open()
    owner = child.get_device()
    if owner is not device:
        name = device.vulkan.name
        other = owner.vulkan.name if owner.vulkan != device.vulkan else f"another Device object of {name}"
        raise DMLError(f"{where}: the {type(child).__name__} belongs to {other}, not to this device ({name})")
