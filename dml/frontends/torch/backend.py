"""The backend: graphs of dynamo that run on the device, and with PyTorch where they cannot."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from dml.api.device import Device, create_device
from dml.errors import HRESULT, DMLError
from dml.frontends.torch.export import NotTaken, exported
from dml.frontends.torch.modules import on_device
from dml.frontends.torch.weights import Frozen, Version, freeze, versions


class EagerWarning(UserWarning):
    """A graph, or a part of one, runs with PyTorch and not on the device; the message says which and why."""


@dataclass(frozen=True)
class _Settings:
    device: Device
    fallback: bool


def dml(
    graph: fx.GraphModule, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None, mode: str = ""
) -> Any:
    """A backend of ``torch.compile``: ``torch.compile(model, backend="dml", options={"device": "RTX"})``.

    options: ``device``, an index, a part of a name, or a dml.Device (the best one where left out); ``fallback``, False
    to raise DMLError for what PyTorch would have to run (default True). mode: as torch.compile passes it; "default"
    alone is taken. Raises DMLError for other options and for a device that there is not.
    """
    given = dict(options or {})
    device, fallback = given.pop("device", None), given.pop("fallback", True)
    if given:
        raise DMLError(f"torch.compile: backend dml has no option {next(iter(given))!r}; it has device, fallback")
    if mode not in ("", "default"):
        raise DMLError(f"torch.compile: backend dml has no mode {mode!r}")
    return _DynamoGraph(graph, _Settings(device if isinstance(device, Device) else _opened(device), bool(fallback)))


_devices: dict[int | str | None, Device] = {}
_lock = threading.Lock()


def _opened(which: int | str | None) -> Device:
    """Graphs of one model share a device."""
    with _lock:
        if which not in _devices or _devices[which].is_closed:
            _devices[which] = create_device(which)
        return _devices[which]


class _DynamoGraph:
    """A graph as dynamo calls it: with its weights among the arguments."""

    def __init__(self, graph: fx.GraphModule, settings: _Settings) -> None:
        self._graph = graph
        self._settings = settings
        self._frozen: Frozen | None = None
        self._versions: list[Version] = []
        self._module: Any = None
        self._eager: str | None = None
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> Any:
        with self._lock:
            why = self._eager or _why_eager(arguments)
            if why is None:
                try:
                    self._prepare(arguments)
                except NotTaken as error:
                    why = self._eager = str(error)
            if why is not None:
                _stays_eager(
                    f"a graph of {len(self._graph.graph.nodes)} nodes runs with PyTorch: {why}", self._settings
                )
                return self._graph.forward(*arguments)
            try:
                return self._run(arguments)
            except DMLError as error:
                if error.hresult == HRESULT.DXGI_ERROR_DEVICE_REMOVED:
                    raise
                self._eager = str(error)
        return self(*arguments)

    def _run(self, arguments: Sequence[Any]) -> Any:
        assert self._frozen is not None
        return self._module(*[arguments[at] for at in self._frozen.varying])

    def _prepare(self, arguments: Sequence[Any]) -> None:
        """The graph on the device, with the weights as they are."""
        frozen = self._frozen
        if frozen is not None and versions(arguments, frozen.weights) == self._versions:
            return
        frozen = freeze(self._graph, arguments)
        examples = [arguments[at] for at in frozen.varying]
        program = exported(frozen.module, examples, frozen.dynamic)
        self._module = on_device(program, self._settings.device, lambda why: _stays_eager(why, self._settings))
        self._frozen, self._versions = frozen, versions(arguments, frozen.weights)


def _why_eager(arguments: Sequence[Any]) -> str | None:
    tensors = [argument for argument in arguments if isinstance(argument, torch.Tensor)]
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return "gradients are wanted (use torch.no_grad() or torch.inference_mode())"
    elsewhere = next((tensor.device for tensor in tensors if tensor.device.type != "cpu"), None)
    if elsewhere is not None:
        return f"a tensor lies on {elsewhere}; the CPU's are taken"
    return None


def _stays_eager(message: str, settings: _Settings) -> None:
    if not settings.fallback:
        raise DMLError(f"torch.compile: {message}")
    warnings.warn(EagerWarning(message), stacklevel=4)
