"""The package's only exception, its result codes, and its only warning."""

from __future__ import annotations

from enum import IntEnum


class HRESULT(IntEnum):
    """DirectML's result codes, with their Windows values.

    Reference: dml-errors ("Handling errors and device removal in DirectML").
    """

    S_OK = 0x00000000
    E_NOTIMPL = 0x80004001
    E_NOINTERFACE = 0x80004002
    E_POINTER = 0x80004003
    E_ABORT = 0x80004004
    E_FAIL = 0x80004005
    E_UNEXPECTED = 0x8000FFFF
    E_ACCESSDENIED = 0x80070005
    E_OUTOFMEMORY = 0x8007000E
    E_INVALIDARG = 0x80070057
    DXGI_ERROR_INVALID_CALL = 0x887A0001
    DXGI_ERROR_NOT_FOUND = 0x887A0002
    DXGI_ERROR_MORE_DATA = 0x887A0003
    DXGI_ERROR_UNSUPPORTED = 0x887A0004
    DXGI_ERROR_DEVICE_REMOVED = 0x887A0005
    DXGI_ERROR_DEVICE_HUNG = 0x887A0006
    DXGI_ERROR_DEVICE_RESET = 0x887A0007
    DXGI_ERROR_DRIVER_INTERNAL_ERROR = 0x887A0020


class DMLError(Exception):
    """A refused input or a failed device.

    `hresult` is the code DirectML would have returned; the message names the operator, the tensor or field, the rule
    and the value that broke it.
    """

    def __init__(self, message: str, hresult: HRESULT = HRESULT.E_INVALIDARG) -> None:
        super().__init__(message)
        self.message = message
        self.hresult = HRESULT(hresult)
        #: The kind of place that the message names: "model" for a node, "document" for a path in a JSON file.
        self.placed_in: frozenset[str] = frozenset()

    def at(self, place: str, of: str) -> None:
        """Put a place in front of the message, unless it has an inner place of the same model or document."""
        if of not in self.placed_in:
            self.message = f"{place}: {self.message}"
            self.args = (self.message, *self.args[1:])
            self.placed_in |= {of}

    def __str__(self) -> str:
        return f"{self.message} [{self.hresult.name} 0x{self.hresult.value:08X}]"

    def __reduce__(self) -> tuple[type[DMLError], tuple[str, HRESULT]]:
        return type(self), (self.message, self.hresult)


class HostNodesWarning(UserWarning):
    """Some nodes of a model run on the host, since no DirectML operators express them.

    Issued once per model; defined here so that a program can filter it without importing a front end.
    """


__all__ = ["HRESULT", "DMLError", "HostNodesWarning"]
