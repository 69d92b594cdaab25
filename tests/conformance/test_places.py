"""Choosing devices and axes by options, and the options that name a device."""

from __future__ import annotations

import dataclasses
import shlex

import pytest

import dml
from dml.conformance import places as module
from dml.conformance.axes import AXES
from dml.conformance.places import DeviceAxis, find, places
from dml.runtime import devices


@pytest.fixture
def three(vulkan, monkeypatch):
    """Simulate three devices, two of which have the same name."""
    known = tuple(
        dataclasses.replace(vulkan, index=index, name=name) for index, name in enumerate(["Card", "Card", "Other Card"])
    )
    for place in (module, devices):
        monkeypatch.setattr(place, "list_devices", lambda: known)
    return known


def test_the_default_is_all_devices(three):
    assert places([], []) == [DeviceAxis(device, "plain") for device in three]
    assert places(["other", "all"], []) == [DeviceAxis(three[at], "plain") for at in (2, 0, 1)]
    assert [place.axis for place in places(["1"], ["all"])] == list(AXES)
    assert [place.axis for place in places(["1"], ["minimum", "plain", "minimum"])] == ["minimum", "plain"]


def test_a_command_names_the_device_so_that_it_is_found(three):
    for device in three:
        words = shlex.split(DeviceAxis(device, "discrete").command("GRU:type=FLOAT16", 3))
        options = dict(zip(words[2::2], words[3::2], strict=True))
        assert options == {
            "--case": "GRU:type=FLOAT16",
            "--device": options["--device"],
            "--as": "discrete",
            "--seed": "3",
        }
        assert devices.choose(options["--device"]) == device
    assert DeviceAxis(three[2], "plain").which == "Other Card"


def test_a_journals_devices_are_found_again(three):
    chosen = [DeviceAxis(three[1], "plain"), DeviceAxis(three[0], "plain"), DeviceAxis(three[0], "minimum")]
    found = find([place.record() for place in chosen])
    assert found == [DeviceAxis(three[0], "plain"), DeviceAxis(three[1], "plain"), DeviceAxis(three[0], "minimum")]
    gone = {**chosen[0].record(), "name": "Third"}
    with pytest.raises(dml.DMLError, match="this machine has no device 'Third' with driver"):
        find([gone])


def test_no_devices(monkeypatch):
    for place in (module, devices):
        monkeypatch.setattr(place, "list_devices", lambda: ())
    with pytest.raises(dml.DMLError, match="no Vulkan device; install"):
        places([], [])


def test_a_record_has_the_axis_changes(vulkan):
    plain, minimum = (DeviceAxis(vulkan, axis).record() for axis in ("plain", "minimum"))
    assert plain["limits"]["max_workgroup_invocations"] == vulkan.target.max_workgroup_invocations
    assert minimum["limits"]["max_workgroup_invocations"] == 128
    assert minimum["type"] == vulkan.device_class.value
