"""The exception: its attributes and its text."""

from __future__ import annotations

import pickle

import pytest

import dml


def test_default_result_is_an_invalid_argument():
    error = dml.DMLError("GRU.Axis: must be 0, found 1")
    assert error.hresult is dml.HRESULT.E_INVALIDARG
    assert error.message == "GRU.Axis: must be 0, found 1"
    assert str(error) == "GRU.Axis: must be 0, found 1 [E_INVALIDARG 0x80070057]"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("E_NOTIMPL", 0x80004001),
        ("E_FAIL", 0x80004005),
        ("E_ACCESSDENIED", 0x80070005),
        ("E_OUTOFMEMORY", 0x8007000E),
        ("E_INVALIDARG", 0x80070057),
        ("DXGI_ERROR_UNSUPPORTED", 0x887A0004),
        ("DXGI_ERROR_DEVICE_REMOVED", 0x887A0005),
        ("DXGI_ERROR_DEVICE_HUNG", 0x887A0006),
    ],
)
def test_results_have_their_windows_values(name, value):
    assert dml.HRESULT[name] == value


def test_error_survives_pickling():
    error = pickle.loads(pickle.dumps(dml.DMLError("lost", dml.HRESULT.DXGI_ERROR_DEVICE_REMOVED)))
    assert (error.message, error.hresult) == ("lost", dml.HRESULT.DXGI_ERROR_DEVICE_REMOVED)


def test_a_place_is_named_once_for_each_model_or_document():
    error = dml.DMLError("must be 1, found 2", dml.HRESULT.E_OUTOFMEMORY)
    for place, of in (
        ("node Add", "model"),
        ("node Loop", "model"),
        ("commands[0]", "document"),
        ("commands", "document"),
    ):
        error.at(place, of)
    assert error.message == "commands[0]: node Add: must be 1, found 2"
    assert (error.args[0], error.hresult) == (error.message, dml.HRESULT.E_OUTOFMEMORY)
