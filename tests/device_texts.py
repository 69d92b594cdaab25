"""Names of the devices that the suite runs on: in the header, in JUnit XML, and in the text of a failure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Generator

import pytest

import dml
import last_run
from dml.frontends.dxdispatch.writing import dispatchable
from dml.runtime import devices
from dml.runtime.devices import VulkanDevice


def chosen(config: pytest.Config) -> list[VulkanDevice]:
    """Return the devices of --device, or the default one. Raises DMLError if there is none."""
    found: list[VulkanDevice] = []
    for which in config.getoption("--device") or [None]:
        found += devices.list_devices() if which == "all" else [devices.choose(which)]
    return list(dict.fromkeys(found))


def check(config: pytest.Config) -> None:
    """Raise pytest.UsageError if --device names a missing device: once, not in each test."""
    try:
        if config.getoption("--device") and not hasattr(config, "workerinput"):
            chosen(config)
    except dml.DMLError as error:
        raise pytest.UsageError(f"--device: {error.message}") from None


class DeviceTexts:
    """A pytest plugin."""

    def pytest_report_header(self, config: pytest.Config) -> list[str]:
        try:
            return [f"Vulkan device: {told(device)}" for device in chosen(config)]
        except dml.DMLError as error:
            return [f"Vulkan device: none: {error.message}"]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        last_run.forget()
        arguments = getattr(item, "funcargs", {})
        if isinstance(vulkan := arguments.get("vulkan"), VulkanDevice):
            item.user_properties += [("device", vulkan.name), ("driver", vulkan.driver)]
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        ran = last_run.last()
        if report.failed and call.when == "call" and ran is not None:
            report.sections.append(("what ran", "\n".join(_what_ran(item, *ran))))
        return report


def told(device: VulkanDevice) -> str:
    version = ".".join(map(str, device.api_version))
    return f"{device.name}, driver {device.driver}, Vulkan {version}"


def _what_ran(item: pytest.Item, device: dml.Device, desc: dml.OperatorDesc) -> Generator[str, None, None]:
    yield f"device: {told(device.vulkan)}"
    try:
        yield f"descriptor: {json.dumps(dispatchable(desc))}"
    except dml.DMLError:  # DxDispatch cannot represent it
        yield f"descriptor: {desc}"
    words = ["tools/test", item.nodeid]
    for option in ("--device", "--as"):
        for value in item.config.getoption(option):
            words += [option, value]
    yield f"again: {shlex.join(words)}"
