"""OpenVINO's InferRequest and AsyncInferQueue: asynchronous runs, each in its own thread."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dml.arguments import checked
from dml.errors import DMLError

from .compiled_model import CompiledModel, InferResults, empty_tensor
from .host_tensor import Tensor
from .ports import ConstOutput, port_of
from .refused import with_refused_names
from .states import Values, VariableState

#: Default number of requests in an AsyncInferQueue: one is prepared while another runs.
_JOBS = 2


@with_refused_names
@dataclass(frozen=True)
class ProfilingInfo:
    """Profile of a dispatch: its layer, its kernel and its time."""

    EXECUTED, NOT_RUN, OPTIMIZED_OUT = "EXECUTED", "NOT_RUN", "OPTIMIZED_OUT"

    node_name: str
    node_type: str
    exec_type: str
    real_time: timedelta
    cpu_time: timedelta
    status: str = "EXECUTED"


@with_refused_names
class InferRequest:
    """One run at a time of a compiled model, with input and output tensors kept between runs."""

    def __init__(self, model: CompiledModel) -> None:
        self._model = model
        self._tensors = {port: empty_tensor(port) for port in model.inputs}
        #: Tensors given for outputs or asked for; each run writes them.
        self._targets: dict[ConstOutput, Tensor] = {}
        #: The variables' values, by their ids.
        self._values: Values = {}
        self._results: InferResults | None = None
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._callback: Callable[[Any], object] | None = None
        self.userdata: Any = None
        #: Duration of the last run in milliseconds.
        self.latency = 0.0

    def __repr__(self) -> str:
        return repr(self._model).replace("<CompiledModel", "<InferRequest", 1)

    # Running

    @checked
    def infer(
        self,
        inputs: Any = None,
        share_inputs: bool = False,
        share_outputs: bool = False,
        *,
        decode_strings: bool = True,
    ) -> InferResults:
        """Run, and return the outputs. inputs: as for a CompiledModel; the others keep their values.

        Raises DMLError for an unknown or misshapen input, and while another run of the request is in progress.
        """
        self._check_idle()
        self._give(inputs)
        self._run()
        return self.results

    @checked
    def start_async(self, inputs: Any = None, userdata: Any = None, share_inputs: bool = False) -> None:
        """Run in another thread; ``wait`` returns when it has ended. The callback is called with ``userdata``."""
        self._check_idle()
        self._give(inputs)
        if userdata is not None:
            self.userdata = userdata
        self._error = None
        self._thread = threading.Thread(target=self._work, name="InferRequest", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until the run and its callback have ended. Raises the exception of either."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        error, self._error = self._error, None
        if error is not None:
            raise error

    def wait_for(self, timeout: int) -> bool:
        """Wait at most ``timeout`` milliseconds; return whether the run has ended."""
        if self._thread is not None:
            self._thread.join(timeout / 1000)
            if self._thread.is_alive():
                return False
        self.wait()
        return True

    def set_callback(self, callback: Callable[[Any], object], userdata: Any = None) -> None:
        """Call ``callback(userdata)`` at the end of each run of ``start_async``."""
        self._callback, self.userdata = callback, userdata

    def query_state(self) -> list[VariableState]:
        """Return the request's variables, which its runs keep."""
        return self._model.states(self._values)

    def reset_state(self) -> None:
        """Reset the variables to their initial values."""
        self._values.clear()

    # Tensors

    @property
    def model_inputs(self) -> list[ConstOutput]:
        return self._model.inputs

    @property
    def model_outputs(self) -> list[ConstOutput]:
        return self._model.outputs

    def get_compiled_model(self) -> CompiledModel:
        return self._model

    @property
    def input_tensors(self) -> list[Tensor]:
        return [self._tensors[port] for port in self._model.inputs]

    @property
    def output_tensors(self) -> list[Tensor]:
        return [self._output(port) for port in self._model.outputs]

    @property
    def results(self) -> InferResults:
        """Outputs of the last run. Raises DMLError before the first run has ended."""
        if self._results is None:
            raise DMLError("InferRequest.results: no run has ended yet")
        return self._results

    def get_input_tensor(self, index: int | None = None) -> Tensor:
        return self._tensors[self._model.input(index)]

    def get_output_tensor(self, index: int | None = None) -> Tensor:
        return self._output(self._model.output(index))

    def get_tensor(self, key: Any) -> Tensor:
        """Return the tensor of an input or output, by port or name."""
        port = self._port(key)
        return self._tensors[port] if port in self._tensors else self._output(port)

    def set_tensor(self, key: Any, tensor: Tensor) -> None:
        """Use a tensor, without a copy, for an input, or for an output that each run writes."""
        self._set(self._port(key), tensor)

    def set_tensors(self, inputs: Mapping[Any, Tensor]) -> None:
        for key, tensor in inputs.items():
            self.set_tensor(key, tensor)

    def set_input_tensor(self, *given: Any) -> None:
        """set_input_tensor(tensor), or set_input_tensor(index, tensor)."""
        self._set(self._model.input(*given[:-1]), given[-1])

    def set_output_tensor(self, *given: Any) -> None:
        """set_output_tensor(tensor), or set_output_tensor(index, tensor)."""
        self._set(self._model.output(*given[:-1]), given[-1])

    def set_input_tensors(self, inputs: Mapping[int, Tensor]) -> None:
        for index, tensor in inputs.items():
            self.set_input_tensor(index, tensor)

    def set_output_tensors(self, outputs: Mapping[int, Tensor]) -> None:
        for index, tensor in outputs.items():
            self.set_output_tensor(index, tensor)

    # Profiling

    @property
    def profiling_info(self) -> list[ProfilingInfo]:
        """The time of each dispatch, in order. Reading this property runs the request once more."""
        self._check_idle()
        network, times = self._model.profile(self._feeds())
        return [
            ProfilingInfo(
                *_layer(network.layer_names, item.node),
                item.kernel,
                timedelta(microseconds=item.nanoseconds / 1000),
                timedelta(),
            )
            for item in times
        ]

    def get_profiling_info(self) -> list[ProfilingInfo]:
        return self.profiling_info

    # Implementation

    def _port(self, key: Any) -> ConstOutput:
        return port_of([*self._model.inputs, *self._model.outputs], key, "tensor")

    def _set(self, port: ConstOutput, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise DMLError(f"{port.any_name}: takes a Tensor, found {type(tensor).__name__}")
        if tensor.element_type != port.element_type:
            raise DMLError(f"{port.any_name}: takes elements of {port.element_type}, found {tensor.element_type}")
        (self._tensors if port in self._tensors else self._targets)[port] = tensor

    def _output(self, port: ConstOutput) -> Tensor:
        if port not in self._targets:
            self._targets[port] = empty_tensor(port) if self._results is None else Tensor(self._results[port])
        return self._targets[port]

    def _give(self, inputs: Any) -> None:
        for port, array in self._model.feeds(inputs).items():
            self._tensors[port] = Tensor(array.astype(port.element_type.to_dtype()), shared_memory=True)

    def _feeds(self) -> dict[ConstOutput, Any]:
        return {port: tensor.data for port, tensor in self._tensors.items()}

    def _run(self) -> None:
        start = time.perf_counter()
        self._results = self._model.run(self._feeds(), self._values)
        self.latency = (time.perf_counter() - start) * 1000
        for port, array in self._results.items():
            if port in self._targets:
                self._targets[port].copy_from(array)

    def _work(self) -> None:
        try:
            self._run()
        except BaseException as error:  # wait() raises it in the caller's thread
            self._error = error
        if self._callback is not None:
            try:
                self._callback(self.userdata)
            except BaseException as error:
                self._error = self._error or error

    def _check_idle(self) -> None:
        thread = self._thread
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            raise DMLError("InferRequest: a run is in progress; call wait() first")


def _layer(names: Mapping[int, str], node: str) -> tuple[str, str]:
    """Split a dispatch's label, "node 3 (GEMM)", into the layer's name and the operators."""
    number, _, operators = node.removeprefix("node ").partition(" ")
    return names.get(int(number), node) if number.isdecimal() else node, operators.strip("()")


@with_refused_names
class AsyncInferQueue:
    """Requests of a model; ``start_async`` takes the next free one. jobs: their number; 0 means the default."""

    @checked
    def __init__(self, model: CompiledModel, jobs: int = 0) -> None:
        self._requests = [model.create_infer_request() for _ in range(max(0, jobs) or _JOBS)]
        self._free: queue.Queue[int] = queue.Queue()
        self._callback: Callable[[InferRequest, Any], object] | None = None
        self._errors: list[BaseException] = []
        self.userdata: list[Any] = [None] * len(self._requests)
        for number, request in enumerate(self._requests):
            request.set_callback(self._ended, number)
            self._free.put(number)

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[InferRequest]:
        return iter(self._requests)

    def __getitem__(self, index: int) -> InferRequest:
        return self._requests[index]

    @checked
    def start_async(self, inputs: Any = None, userdata: Any = None, share_inputs: bool = False) -> None:
        """Run on the next free request; wait for one if needed. Raises the exception of an earlier run."""
        number = self._free.get()
        try:
            self._raise_error()
            request = self._requests[number]
            if request._thread is not None:
                request._thread.join()  # its thread has released the request and is about to end
            self.userdata[number] = userdata
            request.start_async(inputs)
        except BaseException:
            self._free.put(number)
            raise

    def set_callback(self, callback: Callable[[InferRequest, Any], object]) -> None:
        """Call ``callback(request, userdata)`` at the end of each run."""
        self._callback = callback

    def is_ready(self) -> bool:
        """Return whether a request is free."""
        return not self._free.empty()

    def get_idle_request_id(self) -> int:
        """Wait for a free request; return its number. The next ``start_async`` takes it."""
        number = self._free.get()
        with self._free.mutex:
            self._free.queue.appendleft(number)
            self._free.not_empty.notify()
        return number

    def wait_all(self) -> None:
        """Wait for all runs. Raises the first exception of any of them."""
        for request in self._requests:
            if request._thread is not None:
                request._thread.join()
        self._raise_error()

    def _raise_error(self) -> None:
        if self._errors:
            error = self._errors[0]
            self._errors.clear()
            raise error

    def _ended(self, number: int) -> None:
        request = self._requests[number]
        try:
            error, request._error = request._error, None
            if error is not None:
                self._errors.append(error)
            elif self._callback is not None:
                self._callback(request, self.userdata[number])
        except BaseException as error:
            self._errors.append(error)
        finally:
            self._free.put(number)
