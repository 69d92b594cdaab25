"""What becomes of a case whose operator does not compile."""

from __future__ import annotations

import pytest

import dml
from dml.conformance.case import Case
from dml.conformance.execution import run_case

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
