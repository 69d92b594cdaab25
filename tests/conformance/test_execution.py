"""What becomes of a case whose operator does not compile."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml.conformance.case import Case
from dml.conformance.execution import GUARD, forget, run_case
from dml.runtime.buffer import Buffer

CASE = "ACTIVATION_RELU:type=FLOAT32"


@pytest.mark.parametrize(("code", "status"), [
    (dml.HRESULT.DXGI_ERROR_UNSUPPORTED, "unsupported"),
    (dml.HRESULT.E_OUTOFMEMORY, "unsupported"),
    (dml.HRESULT.E_INVALIDARG, "failed"),
    (dml.HRESULT.E_NOTIMPL, "failed"),
])  # fmt: skip
def test_only_what_is_beyond_a_device_is_unsupported(device, monkeypatch, code, status):
    def refuse(operator):
        raise dml.DMLError("elementwise.comp:3: syntax error", code)

    monkeypatch.setattr(device, "compile_operator", refuse)
    outcome = run_case(device, Case.parse(CASE))
    assert outcome["status"] == status
    assert outcome["reason"].startswith("elementwise.comp:3: syntax error")
    assert (outcome["failure"] is None) == (status == "unsupported")


def test_bytes_beside_an_output_that_are_written_are_seen(device, monkeypatch):
    """The output is bound as a part of a buffer, whose other bytes no kernel may touch."""
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
    forget(device)  # the next case would find other bytes when this one runs again
    assert outcome["status"] == "failed"
    assert outcome["reason"] == "output 0: byte 8 is beside the output's and was written"
