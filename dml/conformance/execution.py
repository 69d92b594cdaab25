"""Runs a case on a device and compares all bytes of its tensors, gaps included. The outcome is plain data."""

from __future__ import annotations

import time
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from dml.api.binding import BindingTable
from dml.api.device import Device
from dml.api.operator import CompiledOperator, Slot
from dml.api.recorder import CommandList
from dml.conformance import samples
from dml.conformance.axes import open_as
from dml.conformance.case import Case
from dml.conformance.compare import Comparison, Mismatch, compare
from dml.conformance.graphs import check, compiled_on
from dml.conformance.layouts import UNTOUCHED, Tensor, from_bytes, gaps_touched, repeated, tensors, to_bytes
from dml.conformance.limits import Expected
from dml.conformance.parameters import Skip
from dml.conformance.samples import Sample
from dml.conformance.subject import Inputs
from dml.conformance.values import without_subnormals
from dml.descriptors.base import OperatorDesc
from dml.descriptors.binding import DML_BINDING_TABLE_DESC, DML_BUFFER_ARRAY_BINDING, DML_BUFFER_BINDING
from dml.errors import HRESULT, DMLError
from dml.runtime.buffer import Buffer

Outcome = dict[str, Any]
Array = npt.NDArray[Any]

#: Guard bytes before and after an output, which nothing may write.
GUARD = 256

#: Contents of memory that nothing has written: NaNs, or -1.
_EARLIER = 0xFF

#: Fields of a comparison that a report has of each tensor.
_REPORTED = ("elements", "worst_ulp", "share", "ulp_limit", "why", "tight_share")
#: Errors of cases that exceed the device's limits, features or memory.
_BEYOND = (HRESULT.DXGI_ERROR_UNSUPPORTED, HRESULT.E_OUTOFMEMORY)


@dataclass(frozen=True)
class CaseData:
    """A case's description, its inputs as their layouts hold them, and its expected outputs.

    part: the sample that stands for a large operator, else None. expectations: one per output in binding order; if
    inputs are subnormal, a second one for inputs flushed to zero, which Vulkan allows. With a part, they cover only its
    elements.
    """

    desc: OperatorDesc
    inputs: Mapping[str, Any]
    part: Sample | None
    expectations: Sequence[tuple[Expected, Expected | None]]

    @classmethod
    def of(cls, case: Case, seed: int = 0) -> CaseData:
        """Make a case's data. Raises Skip for parameters that exclude each other, and DMLError for a fault of the
        suite."""
        desc = case.desc
        inputs = _as_laid_out(desc, case.inputs(seed))
        part = samples.of_large(desc, case.values(seed).rng)
        return cls(desc, inputs, part, _references(case, desc, inputs, part))


def run_case(device: Device, case: Case, seed: int = 0) -> Outcome:
    """Run a case on a device; return its outcome as in reports (see report.schema.json).

    Raises DMLError if the device is lost: it can run nothing more.
    """
    outcome = without_results(case, "passed", None)
    start = time.perf_counter()
    try:
        desc = case.desc
        outcome["dimension_count"] = (tensors(desc.inputs()) or tensors(desc.outputs()))[0][2].rank
        data = CaseData.of(case, seed)
        check(desc)
    except Skip as why:
        return {**outcome, "status": "not_tested", "reason": str(why)}
    except DMLError as error:
        return _failed(outcome, start, "suite", f"the suite's own fault: {error}")
    try:
        compiled = compiled_on(device, desc)
    except DMLError as error:
        _leave_if_lost(device, error)
        if error.hresult not in _BEYOND:
            return _failed(outcome, start, "compilation", str(error))
        return {**outcome, "status": "unsupported", "reason": str(error), "seconds": time.perf_counter() - start}
    kind = "compilation"  # the driver creates pipelines while commands are recorded
    try:
        run = _recorded_run(device, compiled, data, case)
        kind = "refused"
        found, wrong = _run(device, run)
    except DMLError as error:
        _leave_if_lost(device, error)
        if error.hresult == HRESULT.E_OUTOFMEMORY:
            return {**outcome, "status": "unsupported", "reason": str(error), "seconds": time.perf_counter() - start}
        return _failed(outcome, start, kind, str(error), compiled)
    judged = _judged(outcome, start, compiled, data, found)
    if data.part is not None and wrong is None and (disagreement := _disagreement(device, desc, data.inputs, found)):
        wrong = "values", disagreement
    if wrong is not None and judged["status"] != "failed":
        return {**_failed(judged, start, *wrong, compiled), "loose": None}
    return judged


def without_results(case: Case, status: str, reason: str | None) -> Outcome:
    """Return an outcome without tensors."""
    return {
        "case": case.id,
        "operator": case.subject.name,
        "data_type": case.data_type,
        "dimension_count": None,
        "layout": case.labels["layout"],
        "values": case.labels["values"],
        "status": status,
        "reason": reason,
        "seconds": 0.0,
        "tensors": [],
        "histogram": [],
        "failure": None,
        "loose": None,
    }


def kernels(compiled: CompiledOperator) -> list[str]:
    """Return the kernels that a compiled operator dispatches, without repetition, in order."""
    return list(dict.fromkeys(dispatch.source.name for dispatch in compiled.program.dispatches))


def _leave_if_lost(device: Device, error: DMLError) -> None:
    if device.get_device_removed_reason() != HRESULT.S_OK:
        raise error


def _as_laid_out(desc: OperatorDesc, inputs: Inputs) -> dict[str, Any]:
    """Return the inputs as their layouts hold them: a stride of 0 repeats the same element."""
    laid: dict[str, Any] = {}
    for name, field in desc.inputs():
        if isinstance(field, tuple):
            laid[name] = [repeated(array, tensor) for array, tensor in zip(inputs[name], field, strict=True)]
        elif field is not None:
            laid[name] = repeated(inputs[name], field)
    return laid


def _references(
    case: Case, desc: OperatorDesc, inputs: Inputs, part: Sample | None
) -> list[tuple[Expected, Expected | None]]:
    """Return each output's expectation, in binding order, and the one for subnormal inputs flushed to zero.

    For a large operator, they cover only a part of it.
    """
    if part is not None:
        desc, inputs = part.desc, part.of(inputs)
    plain = _in_order(desc, case.subject.reference(desc, inputs))
    flushed: dict[str, Any] = {
        name: [without_subnormals(each) for each in given] if isinstance(given, list) else without_subnormals(given)
        for name, given in inputs.items()
    }
    if all(_same(inputs[name], flushed[name]) for name in inputs):
        return [(expected, None) for expected in plain]
    return list(zip(plain, _in_order(desc, case.subject.reference(desc, flushed)), strict=True))


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, list):
        return all(_same(a, b) for a, b in zip(first, second, strict=True))
    return first is second or first.tobytes() == second.tobytes()


def _in_order(desc: OperatorDesc, outputs: Mapping[str, Expected | list[Expected]]) -> list[Expected]:
    found: list[Expected] = []
    for name, index, _ in tensors(desc.outputs()):
        array = outputs[name]
        if isinstance(array, list):
            assert index is not None
            found.append(array[index])
        else:
            found.append(array)
    return found


@dataclass(frozen=True)
class RecordedCase:
    """A case that ran: its commands, its outputs, and their bytes. temporary: its temporary resource."""

    case: str
    commands: CommandList
    outputs: Sequence[Buffer]
    found: Sequence[npt.NDArray[np.uint8]]
    dispatches: int
    temporary: DML_BUFFER_BINDING | None = None

    @property
    def bytes(self) -> int:
        return sum(map(len, self.found))

    def again(self) -> None:
        for buffer in self.outputs:
            buffer.write(np.full(buffer.size, UNTOUCHED, np.uint8))
        self.commands.execute()

    def differing(self) -> str:
        """Describe a difference between the outputs' present bytes and those of an earlier run; empty if there is
        none."""
        for index, (buffer, before) in enumerate(zip(self.outputs, self.found, strict=True)):
            if (wrong := buffer.read(np.uint8, len(before)) != before).any():
                return f"output {index} of {self.case} differs from its first run, from byte {int(np.argmax(wrong))} on"
        return ""


#: The last case that ran on each device.
_BEFORE: MutableMapping[Device, RecordedCase] = WeakKeyDictionary()


def _recorded_run(device: Device, compiled: CompiledOperator, data: CaseData, case: Case) -> RecordedCase:
    """Record a case, with guard bytes before and after each output."""
    given = [_guarded(device, contents) for contents in _contents(data.desc, data.inputs)]
    sizes = [int(tensor.TotalTensorSizeInBytes) for _, _, tensor in tensors(data.desc.outputs())]
    results = [device.create_buffer(np.full(size + 2 * GUARD, UNTOUCHED, np.uint8)) for size in sizes]
    places = [DML_BUFFER_BINDING(buffer, GUARD, size) for buffer, size in zip(results, sizes, strict=True)]
    temporary = _scratch(device, compiled.get_binding_properties().TemporaryResourceSize)
    device.context.margin = GUARD
    try:
        commands = recorded(device, compiled, given, places, temporary)
    finally:
        device.context.margin = 0
    return RecordedCase(case.id, commands, results, (), len(compiled.program.dispatches), temporary)


def _contents(desc: OperatorDesc, inputs: Inputs) -> list[npt.NDArray[np.uint8]]:
    """Return the bytes of each input, in binding order."""
    return [
        to_bytes(inputs[name] if index is None else inputs[name][index], tensor)
        for name, index, tensor in tensors(desc.inputs())
    ]


def _run(device: Device, run: RecordedCase) -> tuple[list[npt.NDArray[np.uint8]], tuple[str, str] | None]:
    """Run a case; return all bytes of its outputs, and faults other than values: kind and message.

    It runs twice, and the device's previous case once more after it: all runs must return the same bits.
    """
    run.commands.execute()
    found = [buffer.read(np.uint8, buffer.size) for buffer in run.outputs]
    this, before = replace(run, found=found), _BEFORE.pop(device, None)
    temporary_overrun = _temporary_overrun(this.temporary, _EARLIER)
    if this.temporary is not None:  # an atomic maximum of unsigned words changes 0, but not -1
        this.temporary.Buffer.write(np.zeros(GUARD, np.uint8), this.temporary.SizeInBytes)
    this.again()
    temporary_overrun = temporary_overrun or _temporary_overrun(this.temporary, 0)
    if before is not None:
        before.again()
    _BEFORE[device] = this
    wrong = None
    if overrun := _overrun(found) or temporary_overrun:
        wrong = "outside", overrun
    elif differing := this.differing() or (before.differing() if before is not None else ""):
        wrong = "repetition", differing
    return [data[GUARD : len(data) - GUARD] for data in found], wrong


def _overrun(found: Sequence[npt.NDArray[np.uint8]]) -> str:
    """Name the first guard byte that was written; empty if none was."""
    for index, data in enumerate(found):
        wrong = data != UNTOUCHED
        wrong[GUARD : len(data) - GUARD] = False
        if wrong.any():
            return f"output {index}: byte {int(np.argmax(wrong)) - GUARD}, outside the output, was written"
    return ""


def _temporary_overrun(temporary: DML_BUFFER_BINDING | None, guard: int) -> str:
    """Name the first byte after the temporary resource that differs from ``guard``; empty if there is none."""
    if temporary is None:
        return ""
    wrong = temporary.Buffer.read(np.uint8, GUARD, temporary.SizeInBytes) != guard
    if not wrong.any():
        return ""
    return f"byte {temporary.SizeInBytes + int(np.argmax(wrong))}, outside the temporary resource, was written"


def last_run(device: Device) -> RecordedCase | None:
    """Return the case that a device ran last, to run it again."""
    return _BEFORE.get(device)


def forget(device: Device) -> None:
    """Forget a device, which is about to be closed."""
    _BEFORE.pop(device, None)


def recorded(
    device: Device,
    compiled: CompiledOperator,
    inputs: Sequence[Buffer | DML_BUFFER_BINDING],
    outputs: Sequence[Buffer | DML_BUFFER_BINDING],
    temporary: DML_BUFFER_BINDING | None = None,
) -> CommandList:
    """Record commands that run an operator through DirectML's own objects, with its initialization.

    inputs, outputs: a buffer, or a part of one, for each tensor present, in order. Inputs that DirectML owns are bound
    to the initializer. temporary: the temporary resource; by default scratch memory.
    """
    given = _bindings(compiled.input_slots, inputs)
    owned = compiled.program.owned
    table = device.create_binding_table(DML_BINDING_TABLE_DESC(compiled))
    table.bind_inputs([None if index in owned else binding for index, binding in enumerate(given)])
    table.bind_outputs(_bindings(compiled.output_slots, outputs))
    if persistent := _scratch(device, compiled.get_binding_properties().PersistentResourceSize):
        initial = tuple(binding if index in owned else None for index, binding in enumerate(given))
        _initialize(device, compiled, initial, persistent)
        table.bind_persistent_resource(persistent)
    table.bind_temporary_resource(
        temporary or _scratch(device, compiled.get_binding_properties().TemporaryResourceSize)
    )
    return _record(device, compiled, table)


def _initialize(
    device: Device, compiled: CompiledOperator, owned: tuple[Any, ...], persistent: DML_BUFFER_BINDING
) -> None:
    initializer = device.create_operator_initializer([compiled])
    table = device.create_binding_table(DML_BINDING_TABLE_DESC(initializer))
    if any(owned):
        table.bind_inputs([DML_BUFFER_ARRAY_BINDING(owned)])
    table.bind_outputs([persistent])
    table.bind_temporary_resource(_scratch(device, initializer.get_binding_properties().TemporaryResourceSize))
    _record(device, initializer, table).execute()


def _disagreement(device: Device, desc: OperatorDesc, inputs: Inputs, found: Sequence[npt.NDArray[np.uint8]]) -> str:
    """Describe how the result of the portable kernels, which need only Vulkan 1.1, differs; empty if it agrees."""
    portable = open_as(device.vulkan, "minimum")
    try:
        compiled = compiled_on(portable, desc)
    except DMLError:
        return ""  # a tensor exceeds their largest binding
    given = [portable.create_buffer(contents) for contents in _contents(desc, inputs)]
    outputs = tensors(desc.outputs())
    results = [portable.create_buffer(int(tensor.TotalTensorSizeInBytes)) for _, _, tensor in outputs]
    recorded(portable, compiled, given, results).execute()
    for (name, _, tensor), result, other in zip(outputs, found, results, strict=True):
        expected = from_bytes(other.read(np.uint8, len(result)), tensor)
        if wrong := samples.disagreement(from_bytes(result, tensor), expected):
            return f"{name} {wrong}"
    return ""


def _record(device: Device, dispatchable: Any, table: BindingTable) -> CommandList:
    commands = device.create_command_list()
    device.create_command_recorder().record_dispatch(commands, dispatchable, table)
    return commands


def _guarded(device: Device, data: npt.NDArray[np.uint8]) -> DML_BUFFER_BINDING:
    """Return memory with these contents, followed by guard bytes (NaNs, or -1)."""
    buffer = device.create_buffer(np.concatenate([data, np.full(GUARD, _EARLIER, np.uint8)]))
    return DML_BUFFER_BINDING(buffer, 0, data.size)


def _scratch(device: Device, size: int) -> DML_BUFFER_BINDING | None:
    """Return scratch memory filled with NaNs, or -1: no operator may depend on its contents."""
    return _guarded(device, np.full(size, _EARLIER, np.uint8)) if size else None


def _bindings(slots: Sequence[Slot], buffers: Sequence[Buffer | DML_BUFFER_BINDING]) -> list[DML_BUFFER_BINDING | None]:
    left = iter(buffers)
    found = [None if slot.tensor is None else next(left) for slot in slots]
    return [DML_BUFFER_BINDING(item, 0, item.size) if isinstance(item, Buffer) else item for item in found]


def _judged(
    outcome: Outcome, start: float, compiled: CompiledOperator, case: CaseData, found: Sequence[npt.NDArray[np.uint8]]
) -> Outcome:
    reports: list[dict[str, Any]] = []
    histogram = np.zeros(6, np.int64)
    failure: Outcome | None = None
    loose: Outcome | None = None
    outputs, part = tensors(case.desc.outputs()), case.part
    for (name, index, tensor), data, (expected, flushed) in zip(outputs, found, case.expectations, strict=True):
        label = name if index is None else f"{name}[{index}]"
        values = from_bytes(data, tensor)
        result = compare(values if part is None else values[part.outputs[name]], expected, flushed)
        histogram += result.histogram
        reports.append({"tensor": label, **{field: getattr(result, field) for field in _REPORTED}})
        if result.loose is not None:
            found_loose = _loose(label, result)
            loose = max(loose or found_loose, found_loose, key=lambda element: float(element["tight_share"]))
        touched = gaps_touched(data, tensor)
        if failure is None:
            failure = _failure(label, tensor, result, touched)
    outcome = {**outcome, "tensors": reports, "histogram": histogram.tolist(), "seconds": time.perf_counter() - start}
    if failure is None:
        return outcome if loose is None else {**outcome, "status": "loose", "loose": loose}
    return {
        **outcome,
        "status": "failed",
        "reason": failure["message"],
        "failure": {**failure, "kernels": kernels(compiled)},
    }


def _failure(label: str, tensor: Tensor, result: Comparison, touched: int | None) -> Outcome | None:
    wrong = result.mismatch
    if wrong is not None:
        allowed = {"allowed_ulp": wrong.allowed_ulp, "message": f"{label} {wrong}"}
        return {"kind": "values", "tensor": label, **_element(wrong), **allowed}
    if touched is not None:
        message = f"{label}: byte {touched}, in a gap of its strides {tensor.strides}, was written"
        return {**NO_ELEMENT, "kind": "outside", "tensor": label, "message": message}
    return None


def _loose(label: str, result: Comparison) -> Outcome:
    """Describe the worst element of an output whose errors are within the public limit but exceed the tight one."""
    far, share = result.loose, result.tight_share
    assert far is not None
    assert share is not None
    limit = (
        f"{far.ulp:.4g} ulp off, the tight limit is {far.allowed_ulp:.4g} ({result.tight_why})"
        if far.ulp is not None
        else ""
    )
    message = f"{label} at [{', '.join(map(str, far.index))}]: found {far.found}, expected {far.expected}, {limit}"
    return {
        "tensor": label,
        **_element(far),
        "tight_ulp": far.allowed_ulp,
        "tight_share": share,
        "why": result.tight_why,
        "message": f"{message}; {far.differing} of {far.elements} elements",
    }


def _element(wrong: Mismatch) -> Outcome:
    return {
        "index": list(wrong.index),
        "found": wrong.found,
        "expected": wrong.expected,
        "differing": wrong.differing,
        "of": wrong.elements,
        "ulp": wrong.ulp,
    }


#: Element fields of a failure that is not about a single element: all None.
NO_ELEMENT: Outcome = dict.fromkeys(("index", "found", "expected", "differing", "of", "ulp", "allowed_ulp"))


def _failed(
    outcome: Outcome, start: float, kind: str, message: str, compiled: CompiledOperator | None = None
) -> Outcome:
    names = [] if compiled is None else kernels(compiled)
    failure = {**NO_ELEMENT, "kind": kind, "tensor": None, "message": message, "kernels": names}
    return {
        **outcome,
        "status": "failed",
        "reason": message,
        "failure": failure,
        "seconds": time.perf_counter() - start,
    }
