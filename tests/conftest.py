"""Options of the suite: which Vulkan devices it runs on, and whether the Khronos validation layer watches."""

from __future__ import annotations

import os
from typing import Any

import hypothesis
import pytest

import coverage_record
import validation

# A compiled shader may stand behind the first example, and CI should not fail on what another run will not show.
hypothesis.settings.register_profile(
    "dml",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
hypothesis.settings.load_profile("dml")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dml")
    group.addoption(
        "--device",
        action="append",
        default=[],
        metavar="WHICH",
        help="Vulkan device to test on: index, part of its name, or 'all'; may be repeated "
        "(default: $DML_VULKAN_DEVICE, else the best one)",
    )
    group.addoption(
        "--vulkan-validation",
        action="store_true",
        help="run under the Khronos validation layer with synchronization validation; any message fails",
    )


def pytest_configure(config: pytest.Config) -> None:
    coverage_record.register(config)
    if config.getoption("--vulkan-validation"):
        # Before any test module is imported: the layer is chosen when an instance is made.
        config.pluginmanager.register(validation.Plugin(config), "dml-validation")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    chosen = metafunc.config.getoption("--device")
    if "device" in metafunc.fixturenames and chosen:
        names = _device_names(tuple(chosen))
        metafunc.parametrize(
            "device", names, ids=[name.split(" (")[0] for name in names], indirect=True, scope="session"
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what runs on a device, so that `-m device` leaves out what is the same on all of them."""
    for item in items:
        if "device" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.device)


_names: dict[tuple[str, ...], list[str]] = {}


def _device_names(chosen: tuple[str, ...]) -> list[str]:
    """The selectors of --device; 'all' stands for the index of each device there is."""
    if chosen not in _names:
        names: list[str] = []
        for which in chosen:
            if which == "all":
                import dml

                names.extend(device.name for device in dml.list_devices())
            else:
                names.append(which)
        _names[chosen] = list(dict.fromkeys(names))
    return _names[chosen]


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> Any:
    """The device under test; a test that takes it runs once on each --device. Fails where there is none."""
    import dml

    which = getattr(request, "param", None)
    try:
        made = dml.create_device(int(which) if which is not None and which.isdigit() else which)
    except dml.DMLError as error:
        wanted = "no --device given" if which is None else f"--device {which}"
        pytest.fail(f"no device to test on ({wanted}): {error}", pytrace=False)
    return made
