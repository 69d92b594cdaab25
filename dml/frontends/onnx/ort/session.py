"""onnxruntime's InferenceSession on the device, under its names: programs change one import.

    import dml.frontends.onnx as ort

    session = ort.InferenceSession("model.onnx", providers=["DmlExecutionProvider"])
    y, = session.run(None, {"x": x})

Errors are DMLErrors. Runs from several threads are executed one after another.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from dml.api.device import Device, create_device
from dml.api.device_array import DeviceArray
from dml.arguments import checked
from dml.enums import DML_EXECUTION_FLAGS, DML_FEATURE_LEVEL
from dml.errors import HRESULT, DMLError

from ..load.loading import load
from ..run.backend import PreparedModel, open_device
from ..run.severity import says_warnings
from .described import ModelMetadata, NodeArg, described, metadata, outputs_with_types
from .environment import HOST_PROVIDER, OWN_PROVIDER
from .missing_names import missing_method
from .ort_value import IOBinding, OrtValue
from .session_options import RunOptions, SessionOptions
from .session_profile import SessionProfile

#: Options of the provider: the device's index or a part of its name.
_DEVICE_OPTIONS = ("device_id", "device")


class InferenceSession:
    """A model, ready to run.

    path_or_bytes: a path or a serialized model. sess_options: see ``SessionOptions``. providers, provider_options: as
    for onnxruntime; DmlExecutionProvider with the option ``device_id``, the device's index, or ``device``, a part of
    its name. CPUExecutionProvider runs the nodes that cannot be mapped, and may be omitted. device: instead of these
    options, a Device or an argument of ``dml.create_device``.

    A session of a path can be pickled: it is created again from the path, options and choice of device (of a Device,
    its index, feature level and execution flags). Raises DMLError for a faulty model, for options that request a
    missing feature, and if providers are named without DmlExecutionProvider; unknown ones next to it are skipped with
    a warning, as in onnxruntime.
    """

    @checked
    def __init__(
        self,
        path_or_bytes: Any,
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Any] | None = None,
        *,
        device: int | str | Device | None = None,
        **kwargs: Any,
    ) -> None:
        if kwargs:
            raise DMLError(f"InferenceSession: no argument {sorted(kwargs)[0]!r}", HRESULT.E_NOTIMPL)
        self._path = None if isinstance(path_or_bytes, bytes) else _path(path_or_bytes)
        self._options = sess_options or SessionOptions()
        self._options.check()
        if providers is None and self._options.has_providers():
            providers = self._options.providers
        chosen = _chosen(_paired(providers, provider_options), self._options.log_severity_level)
        self._providers = (providers, provider_options)
        #: The device, or how to open it in another process.
        self._device = _Reopened.of(device) if isinstance(device, Device) else device
        if device is None:
            device = chosen
        opened = device if isinstance(device, Device) else open_device(device)
        loaded = load(path_or_bytes)
        severity = self._options.log_severity_level
        self._model = PreparedModel(loaded, opened, fallback=self._options.fallback, severity=severity)
        #: Times of runs, if the options request them and the profile has not ended.
        self._profile = SessionProfile(self._options.profile_file_prefix) if self._options.enable_profiling else None
        sizes, graph = self._options.sizes, self._model.model.graph
        self._inputs = {e.name: described(e, sizes) for e in graph.input if e.name in self._model.inputs}
        self._defaults = {e.name: described(e, sizes) for e in graph.input if e.name not in self._model.inputs}
        shapes = {name: array.shape for name, array in loaded.initial.items()}
        self._outputs = {e.name: described(e, sizes) for e in outputs_with_types(self._model.model, shapes)}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_method(self, name)

    def __repr__(self) -> str:
        model = self._path or "a model of bytes"
        inputs = ", ".join(f"{item.name} {item.shape}" for item in self._inputs.values())
        return f"<InferenceSession: {model} on {self.device.vulkan.name}; inputs {inputs}>"

    # Description

    @property
    def device(self) -> Device:
        """The session's device, for placing arrays there."""
        return self._model.device

    def get_inputs(self) -> list[NodeArg]:
        return list(self._inputs.values())

    def get_outputs(self) -> list[NodeArg]:
        return list(self._outputs.values())

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Return the inputs with a default value."""
        return list(self._defaults.values())

    def get_modelmeta(self) -> ModelMetadata:
        return metadata(self._model.model)

    def get_session_options(self) -> SessionOptions:
        return self._options

    def get_providers(self) -> list[str]:
        """Return the providers that run the model; CPUExecutionProvider if nodes run on the host."""
        return [OWN_PROVIDER, HOST_PROVIDER] if any(part.on_host for part in self._model.parts) else [OWN_PROVIDER]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        vulkan = self.device.vulkan
        own = {"device_id": str(vulkan.index), "device": vulkan.name}
        return {name: own if name == OWN_PROVIDER else {} for name in self.get_providers()}

    def check_input(self, name: str) -> None:
        """Raise DMLError unless the model has an input of that name."""
        if name not in self._inputs and name not in self._defaults:
            raise DMLError(f"the model has no input {name!r}; it has {', '.join(self._inputs)}")

    def check_output(self, name: str) -> None:
        """Raise DMLError unless the model has an output of that name."""
        if name not in self._outputs:
            raise DMLError(f"the model has no output {name!r}; it has {', '.join(self._outputs)}")

    # Running

    @checked
    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: RunOptions | None = None
    ) -> list[Any]:
        """Run and return the outputs of these names, by default all. input_feed: arrays, OrtValues, DeviceArrays by
        name."""
        found = self._run(input_feed, dict.fromkeys(output_names or self._outputs, False), run_options)
        return [found[name] for name in output_names or self._outputs]

    @checked
    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """Run with OrtValues; the outputs stay on the device if one of the inputs is there."""
        stay = any(isinstance(value, OrtValue) and value.is_on_device for value in input_dict_ort_values.values())
        found = self._run(input_dict_ort_values, dict.fromkeys(output_names or self._outputs, stay), run_options)
        return [OrtValue(found[name]) for name in output_names or self._outputs]

    @checked
    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any] | None, Any, str], object],
        user_data: Any = None,
        run_options: RunOptions | None = None,
    ) -> None:
        """Run in a separate thread, and call callback(outputs, user_data, error) there.

        error: empty if the run succeeded, else its message, and outputs are None.
        """

        def work() -> None:
            outputs, error = None, ""
            try:
                outputs = self.run(output_names, input_feed, run_options)
            except Exception as failed:  # whoever waits for the callback must be notified
                error = str(failed) or type(failed).__name__
            callback(outputs, user_data, error)

        threading.Thread(target=work, name="InferenceSession.run_async").start()

    def end_profiling(self) -> str:
        """Write the trace of all runs of the session, and return its path; "" without one.

        The option enable_profiling requests it: each run is then measured by running once more. The file has the
        format of `dml run --profile`, for Perfetto and chrome://tracing.
        """
        profile, self._profile = self._profile, None
        return "" if profile is None else profile.end()

    def get_profiling_start_time_ns(self) -> int:
        """Return the profile's start by time.monotonic_ns(); 0 without one."""
        return 0 if self._profile is None else self._profile.started

    def set_providers(
        self, providers: Sequence[Any] | None = None, provider_options: Sequence[Any] | None = None
    ) -> None:
        """Recreate a session that was created from a path, on the device that these providers' options choose."""
        if self._path is None:
            raise DMLError(
                "InferenceSession.set_providers: a session made from bytes cannot be created again; create a new one"
            )
        session = InferenceSession(self._path, self._options, providers, provider_options)
        self.__dict__ = session.__dict__  # last: if the new session cannot be created, this one is unchanged

    def enable_fallback(self) -> None:
        """Do nothing: a failed run is not retried elsewhere."""

    disable_fallback = enable_fallback

    def io_binding(self) -> IOBinding:
        return IOBinding(self)

    @checked
    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Run on the bound values; ``iobinding.get_outputs()`` returns the results."""
        iobinding.take(self._run(iobinding.feeds, iobinding.wanted, run_options, iobinding.bound_outputs))

    def _run(
        self,
        feeds: Mapping[str, Any],
        wanted: Mapping[str, bool],
        options: RunOptions | None,
        bound: Mapping[str, OrtValue] | None = None,
    ) -> dict[str, Any]:
        """Return the requested outputs by name, on the device if requested.

        bound: values that outputs are bound to; one that is also an input is written in place.
        """
        if options is not None:
            options.check()
        for name in wanted:
            self.check_output(name)
        given = {name: item.on(self.device) if isinstance(item, OrtValue) else item for name, item in feeds.items()}
        self._check_sizes(given)
        shared = _shared(given, {name: value.device_array for name, value in (bound or {}).items()})
        results = self._model.run(given, keep=[name for name, stays in wanted.items() if stays], shared=shared)
        profile = self._profile  # another thread may end the profile
        if profile is not None:
            profile.add(self._model, given)
        found = dict(zip(self._model.outputs, results, strict=True))
        return {name: found[name] for name in wanted}

    def _check_sizes(self, given: Mapping[str, Any]) -> None:
        """Check symbolic sizes against the values that the options gave them."""
        for name, item in given.items():
            entry = self._inputs.get(name)
            if not self._options.sizes or entry is None or not hasattr(item, "shape"):
                continue
            for size, found in zip(entry.shape, item.shape, strict=False):
                if isinstance(size, int) and size != found:
                    raise DMLError(f"input {name!r}: takes arrays of shape {entry.shape}, found {item.shape}")

    # Pickling

    def __reduce__(self) -> tuple[Any, ...]:
        if self._path is None:
            raise DMLError("InferenceSession: a session made from bytes cannot be pickled; create it from a path")
        return _again, (self._path, self._options, *self._providers, self._device)


def _shared(feeds: Mapping[str, Any], outputs: Mapping[str, Any]) -> dict[str, str]:
    """Return outputs with the inputs that share their device memory, if these correspond one to one."""
    inputs: dict[int, list[str]] = {}
    for name, item in feeds.items():
        if isinstance(item, DeviceArray) and item.buffer is not None:
            inputs.setdefault(id(item.buffer), []).append(name)
    found: dict[str, str] = {}
    for name, item in outputs.items():
        match inputs.pop(id(getattr(item, "buffer", None)), []):
            case [only]:
                found[name] = only
    return found


class _Reopened(NamedTuple):
    """The data for opening a Device in another process."""

    device: int
    feature_level: DML_FEATURE_LEVEL
    execution_flags: DML_EXECUTION_FLAGS

    @classmethod
    def of(cls, device: Device) -> _Reopened:
        return cls(device.vulkan.index, device.feature_level, device.execution_flags)

    def open(self) -> Device:
        return create_device(self.device, feature_level=self.feature_level, execution_flags=self.execution_flags)


def _again(path: str, options: SessionOptions, providers: Any, provider_options: Any, device: Any) -> InferenceSession:
    opened = device.open() if isinstance(device, _Reopened) else device
    return InferenceSession(path, options, providers, provider_options, device=opened)


def _path(source: Any) -> str:
    try:
        return str(os.path.abspath(os.fspath(source)))
    except TypeError:
        raise DMLError(f"InferenceSession: takes a path or bytes, found {type(source).__name__}") from None


def _paired(providers: Sequence[Any] | None, options: Sequence[Any] | None) -> list[tuple[str, Mapping[str, Any]]]:
    """Return each provider with its options."""
    if providers is None:
        return [(OWN_PROVIDER, options[0] if options else {})]
    if options and len(options) != len(providers):
        raise DMLError(f"provider_options: takes one for each of {len(providers)} providers, found {len(options)}")
    paired: list[tuple[str, Mapping[str, Any]]] = []
    for index, provider in enumerate(providers):
        name, own = (
            provider
            if isinstance(provider, tuple | list) and len(provider) == 2
            else (provider, options[index] if options else {})
        )
        if not isinstance(name, str) or not isinstance(own, Mapping):
            raise DMLError(f"providers: takes names, or names with options, found {provider!r}")
        paired.append((name, own))
    return paired


def _chosen(providers: list[tuple[str, Mapping[str, Any]]], severity: int) -> int | str | None:
    """Return the device that the providers' options choose."""
    strange = [name for name, _ in providers if name not in (OWN_PROVIDER, HOST_PROVIDER)]
    if all(name != OWN_PROVIDER for name, _ in providers):
        named = ", ".join(name for name, _ in providers) or "none"
        raise DMLError(
            f"providers: a session runs on {OWN_PROVIDER}, which must be named; found {named}. For a session on the "
            "CPU alone, use onnxruntime",
            HRESULT.E_NOTIMPL,
        )
    if strange and says_warnings(severity):
        warnings.warn(f"providers that are not available are ignored: {', '.join(strange)}", stacklevel=4)
    for name, options in providers:
        if name != OWN_PROVIDER:
            continue
        for key in options:
            if key not in _DEVICE_OPTIONS:
                raise DMLError(f"{OWN_PROVIDER}: has the options {', '.join(_DEVICE_OPTIONS)}, found {key!r}")
        found = options.get("device", options.get("device_id"))
        try:
            return int(found) if "device" not in options and found is not None else found
        except ValueError:
            raise DMLError(f"{OWN_PROVIDER}: device_id takes an index, found {found!r}") from None
    return None
