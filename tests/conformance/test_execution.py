"""Outcomes of cases: compilation errors, and accesses outside of bindings."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml.conformance.case import Case
from dml.conformance.execution import GUARD, forget, run_case
from dml.conformance.graphs import program_of
from dml.runtime.buffer import Buffer

CASE = "ACTIVATION_RELU:type=FLOAT32"


@pytest.mark.parametrize(("code", "status"), [
    (dml.HRESULT.DXGI_ERROR_UNSUPPORTED, "unsupported"),
    (dml.HRESULT.E_OUTOFMEMORY, "unsupported"),
    (dml.HRESULT.E_INVALIDARG, "failed"),
    (dml.HRESULT.E_NOTIMPL, "failed"),
])  # fmt: skip
def test_only_errors_of_device_limits_mean_unsupported(device, monkeypatch, code, status):
    def refuse(operator):
        raise dml.DMLError("elementwise.comp:3: syntax error", code)

    monkeypatch.setattr(device, "compile_operator", refuse)
    outcome = run_case(device, Case.parse(CASE))
    assert outcome["status"] == status
    assert outcome["reason"].startswith("elementwise.comp:3: syntax error")
    assert (outcome["failure"] is None) == (status == "unsupported")


@pytest.mark.parametrize(("case", "fault"), [
    # CPU drivers drop writes beyond a binding's range
    ("REVERSE_SUBSEQUENCES:type=INT8,sizes=7", "result_data[push_.result_OFFSET + 2u] = 7u;"),
    ("REVERSE_SUBSEQUENCES:type=INT32,sizes=7", "result_data[push_.result_OFFSET + 7u] = 7u;"),
])  # fmt: skip
def test_writes_beyond_a_region_are_seen(device, broken, case, fault):
    broken("lib/for_each.glsl", "void main() {", f"void main() {{\n    {fault}")
    outcome = run_case(device, Case.parse(case))
    forget(device)
    assert outcome["failure"]["kind"] == "outside", outcome["reason"]


def test_writes_beyond_the_temporary_resource_are_seen(device, broken):
    case = Case.parse("MAX_UNPOOLING:type=FLOAT32,sizes=1x1x8x8")
    assert run_case(device, case)["status"] == "passed"
    broken("pooling/claim.comp", "index < winner_SIZE_0", "index <= winner_SIZE_0")
    outcome = run_case(device, case)
    forget(device)
    assert outcome["failure"]["kind"] == "outside"
    assert outcome["reason"] == "byte 256, outside the temporary resource, was written"


def test_reads_beyond_a_region_find_nan(device, broken):
    """A broken kernel reads the element after its input, which is NaN, not zero."""
    broken("movement/reverse_subsequences.comp", "return source_load(source_at(c));",
           "return source_load(source_at(c) + (source_at(c) == 6u ? 1u : 0u));")  # fmt: skip
    outcome = run_case(device, Case.parse("REVERSE_SUBSEQUENCES:type=FLOAT32,sizes=7"))
    forget(device)
    assert outcome["failure"]["kind"] == "values"
    assert outcome["failure"]["found"] == "nan"


def test_temporaries_that_nothing_wrote_hold_nan(device, broken):
    """A convolution without its padded copy of the input reads NaN, not zeros."""
    broken("convolution/pad.comp", "result_vector_store(unit, value(c))", "")
    case = Case.parse("CONVOLUTION:type=FLOAT32,sizes=1x8x13x13,outputs=8,padding=1")
    assert "convolution/pad.comp" in [one.label for one in program_of(case.desc, device.vulkan.target).dispatches]
    outcome = run_case(device, case)
    forget(device)
    assert outcome["failure"]["found"] == "nan"


def test_writes_next_to_an_output_are_detected(device, monkeypatch):
    """The output is bound as a part of a buffer; changes of the other bytes are detected."""
    case = Case.parse("ELEMENT_WISE_ADD:type=INT8,sizes=7")
    assert run_case(device, case)["status"] == "passed"
    read = Buffer.read

    def beside(buffer, dtype=np.uint8, count=None, offset=0):
        found = read(buffer, dtype, count, offset).copy()
        if found.size > 2 * GUARD:
            found[-GUARD] ^= 1
        return found

    monkeypatch.setattr(Buffer, "read", beside)
    outcome = run_case(device, case)
    forget(device)  # prevents the rerun of this case after the next one, which would differ
    assert outcome["status"] == "failed"
    assert outcome["reason"] == "output 0: byte 8, outside the output, was written"
