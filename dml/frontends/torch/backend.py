"""The backend: runs dynamo's graphs on the device, and otherwise with PyTorch."""

from __future__ import annotations

import struct
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch._guards import CompileContext

from dml.api.device import Device, create_device
from dml.errors import HRESULT, DMLError
from dml.frontends.torch.arguments import Taken, numbers_of, taken, value_of
from dml.frontends.torch.export import NotTaken, exported
from dml.frontends.torch.modules import OnDevice, on_device
from dml.frontends.torch.views import Views


class EagerWarning(UserWarning):
    """A graph, or a part of one, runs with PyTorch instead of the device; the message names it and the reason."""


@dataclass(frozen=True)
class _Settings:
    device: Device
    fallback: bool
    freeze: bool


def dml(
    graph: fx.GraphModule, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None, mode: str = ""
) -> Any:
    """Compile a graph as a backend of ``torch.compile``: ``torch.compile(model, backend="dml", options={"device":
    "RTX"})``.

    options: ``device``, an index, a part of a name, or a dml.Device (default: the best one); ``fallback``, False to
    raise DMLError instead of running with PyTorch (default True); ``freeze``, True to keep each weight's values of
    its first run; otherwise its bytes are compared before each run (default False). mode: from torch.compile; only
    "default" is accepted. Raises DMLError for other options, and for a device that does not exist.
    """
    given = dict(options or {})
    device, fallback, freeze = given.pop("device", None), given.pop("fallback", True), given.pop("freeze", False)
    if given:
        raise DMLError(
            f"torch.compile: backend dml has no option {next(iter(given))!r}; it has device, fallback, freeze"
        )
    if mode not in ("", "default"):
        raise DMLError(f"torch.compile: backend dml has no mode {mode!r}")
    opened = device if isinstance(device, Device) else _opened(device)
    return _DynamoGraph(graph, _Settings(opened, bool(fallback), bool(freeze)))


_devices: dict[int | str | None, Device] = {}
_lock = threading.Lock()


def _opened(which: int | str | None) -> Device:
    """Return the open device, which all graphs of a model share."""
    with _lock:
        if which not in _devices or _devices[which].is_closed:
            _devices[which] = create_device(which)
        return _devices[which]


#: Number of dynamo's frame -> messages already shown, so that recompilation does not repeat them.
_said: dict[int, set[str]] = {}
#: Maximum exports of a graph for different values of its constant numbers.
_MOST_VALUES = 8
#: Maximum number of calls run by PyTorch before a device that was out of memory is retried.
_LONGEST_PAUSE = 64


class _DynamoGraph:
    """A graph in the form that dynamo calls, with its weights and numbers among the arguments.

    Ints are inputs of the exported program if possible, else constants; floats are constants until they change. The
    graph is exported for each set of values of the constants.
    """

    def __init__(self, graph: fx.GraphModule, settings: _Settings) -> None:
        self._graph = graph
        self._settings = settings
        self._ints, self._floats = numbers_of(graph)
        self._fixed = frozenset(self._floats)
        self._views = Views(graph)
        #: The exported graph and its function, by the values of the constant numbers.
        self._made: dict[tuple[Any, ...], tuple[Taken, Callable[..., Any]]] = {}
        self._eager: str | None = None
        #: Calls that PyTorch still runs after the device was out of memory, and their number at the start.
        self._left = self._pause = 0
        self._said = _said_of_frame()
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> Any:
        with self._lock:
            why = self._eager or _why_eager(arguments)
            if self._left:
                self._left -= 1
                return self._graph.forward(*arguments)
            if why is None:
                try:
                    found = self._run(arguments)
                    self._pause = 0
                    return found
                except NotTaken as error:
                    why = self._eager = str(error)
                except DMLError as error:
                    if error.hresult == HRESULT.DXGI_ERROR_DEVICE_REMOVED:
                        raise
                    why = str(error)
                    if error.hresult == HRESULT.E_OUTOFMEMORY:  # memory that others free may suffice later
                        self._left = self._pause = min(2 * self._pause or 1, _LONGEST_PAUSE)
                    else:
                        self._eager = why
            self._stays_eager(f"a graph of {len(self._graph.graph.nodes)} nodes runs with PyTorch", why)
            return self._graph.forward(*arguments)

    def _run(self, arguments: Sequence[Any]) -> Any:
        prepared = self._made.get(self._values(arguments)) or self._prepare(arguments)
        form, run = prepared
        return self._views.restore(arguments, run(*[arguments[index] for index in form.places]))

    def _values(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return the values of the constant numbers; floats as bytes, because 0.0 and -0.0 compare equal."""
        found = (value_of(arguments[index]) for index in sorted(self._fixed))
        return tuple(struct.pack("d", item) if isinstance(item, float) else item for item in found)

    def _prepare(self, arguments: Sequence[Any]) -> tuple[Taken, Callable[..., Any]]:
        """Export the graph for these numbers. Raises NotTaken if that is impossible."""
        before = self._fixed
        tries = [before]
        if not self._made:
            tries = [before, before | self._ints] if self._ints else [before]
        elif (changed := self._changed(arguments)) & self._floats:
            tries = [before - changed, before]
        for index, fixed in enumerate(tries):
            try:
                found = self._exported(arguments, fixed, whole=index < len(tries) - 1)
            except NotTaken:
                if index == len(tries) - 1:
                    raise
                continue
            if fixed != before:
                self._fixed = fixed
                self._made.clear()
            elif len(self._made) == _MOST_VALUES:
                raise NotTaken(f"more than {_MOST_VALUES} values of a number that has to be a constant")
            self._made[self._values(arguments)] = found
            return found
        raise AssertionError("unreachable")

    def _changed(self, arguments: Sequence[Any]) -> set[int]:
        """Return the indices of constant numbers whose values have changed since the last export."""
        last = list(self._made)[-1]
        pairs = zip(sorted(self._fixed), last, self._values(arguments), strict=True)
        return {index for index, old, new in pairs if old != new}

    def _exported(
        self, arguments: Sequence[Any], fixed: AbstractSet[int], whole: bool
    ) -> tuple[Taken, Callable[..., Any]]:
        """Export the graph with these numbers as constants. whole: raise NotTaken if a part would run with PyTorch."""
        form = taken(self._graph, arguments, fixed)
        examples = [_example(arguments[index]) for index in form.places]
        program = exported(form.module, examples, form.dynamic)
        settings = self._settings
        if whole:
            return form, OnDevice(program, examples, form.weights, settings.device, settings.freeze)
        return form, on_device(program, examples, form.weights, settings.device, settings.freeze, self._stays_eager)

    def _stays_eager(self, what: str, why: str = "") -> None:
        message = f"{what}: {why}" if why else what
        if not self._settings.fallback:
            raise DMLError(f"torch.compile: {message}")
        if (why or what) not in self._said:
            self._said.add(why or what)
            warnings.warn(EagerWarning(message), stacklevel=4)


def _example(argument: Any) -> Any:
    return argument.detach() if isinstance(argument, torch.Tensor) else argument


def _said_of_frame() -> set[str]:
    """Return the messages shown for the frame that dynamo is compiling; none when it compiles it for the first time."""
    now = CompileContext.current_compile_id()
    if now is None or now.frame_id is None:
        return set()
    if not now.frame_compile_id:
        _said[now.frame_id] = set()
    return _said.setdefault(now.frame_id, set())


def _why_eager(arguments: Sequence[Any]) -> str | None:
    tensors = [argument for argument in arguments if isinstance(argument, torch.Tensor)]
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return "gradients are required (use torch.no_grad() or torch.inference_mode())"
    elsewhere = next((tensor.device for tensor in tensors if tensor.device.type != "cpu"), None)
    if elsewhere is not None:
        return f"a tensor is on {elsewhere}; only tensors on the CPU are supported"
    return None
