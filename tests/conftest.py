"""Options of the suite: the Vulkan devices it runs on, the kinds of device it presents them as, and the Khronos
validation layer."""

from __future__ import annotations

import functools
import gc
import os
import shutil
import sys
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path

import hypothesis
import pytest

import coverage_record
import device_texts
import dml
import short_run
import validation
from dml.compiler import repeated
from dml.compiler.features import FloatMode
from dml.compiler.kernels import sources
from dml.conformance import axes
from dml.recent import Recent
from dml.runtime import devices
from dml.runtime.devices import VulkanDevice

# A developer's measurements on this machine must not affect tests
os.environ.setdefault("DML_DISABLE_TUNING", "1")

# The first example may include a shader's compilation, and CI should not fail on a time that does not recur.
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
        "--all",
        action="store_true",
        help="run all tests; without it, and without paths, -k or -m, a few minutes' worth run",
    )
    group.addoption(
        "--short",
        action="store_true",
        help="run a few minutes' worth of the chosen tests: a test with many parameters runs with one set",
    )
    group.addoption(
        "--as",
        action="append",
        default=[],
        metavar="AXIS",
        help=f"test the device as another kind: {', '.join(axes.AXES)}, or 'all'; may be repeated (default: plain)",
    )
    group.addoption(
        "--vulkan-validation",
        action="store_true",
        help="run under the Khronos validation layer with synchronization validation; any message fails",
    )
    group.addoption(
        "--vulkan-bounds",
        action="store_true",
        help="the same with GPU-assisted validation in its place: an access outside a binding fails (slow)",
    )


def pytest_configure(config: pytest.Config) -> None:
    coverage_record.register(config)
    short_run.register(config)
    try:
        axes.selected(config.getoption("--as"))  # an invalid axis is reported before anything is collected
    except dml.DMLError as error:
        raise pytest.UsageError(error.message) from None
    chosen = config.getoption("--device")
    if chosen and len(chosen) == 1 and chosen[0] != "all":
        # Commands that tests start, and tests that open the default device, use this device, too.
        os.environ.setdefault(devices.DEVICE_VARIABLE, chosen[0])
    bounds = config.getoption("--vulkan-bounds")
    if bounds or config.getoption("--vulkan-validation"):
        # Before any test module is imported: the layer is chosen when an instance is created.
        config.pluginmanager.register(validation.Plugin(config, bounds=bounds), "dml-validation")
    device_texts.check(config)
    config.pluginmanager.register(device_texts.DeviceTexts(), "dml-device-texts")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    chosen = metafunc.config.getoption("--device")
    if "vulkan" in metafunc.fixturenames and chosen:
        names = _device_names(tuple(chosen))
        metafunc.parametrize(
            "vulkan", names, ids=[name.split(" (")[0] for name in names], indirect=True, scope="session"
        )
    kinds = axes.selected(metafunc.config.getoption("--as"))
    if "device" in metafunc.fixturenames and kinds:
        metafunc.parametrize("device", kinds, indirect=True, scope="session")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that run on a device, so that `-m device` skips those that are the same on all devices, and the
    tests that --as changes, so that `-m kind` skips those that choose the kinds of device themselves."""
    for item in items:
        for name, mark in (("vulkan", pytest.mark.device), ("device", pytest.mark.kind)):
            if name in getattr(item, "fixturenames", ()):
                item.add_marker(mark)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from visiting imported and collected objects, which stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


_names: dict[tuple[str, ...], list[str]] = {}


def _device_names(chosen: tuple[str, ...]) -> list[str]:
    """Return the selectors of --device; 'all' becomes the index of each device."""
    if chosen not in _names:
        names: list[str] = []
        for which in chosen:
            if which == "all":
                names.extend(device.name for device in dml.list_devices())
            else:
                names.append(which)
        _names[chosen] = list(dict.fromkeys(names))
    return _names[chosen]


@pytest.fixture(autouse=True)
def lowered_anew(request: pytest.FixtureRequest) -> None:
    """Give each test that patches something its own, empty cache of lowerings: the patch may change them."""
    if "monkeypatch" in request.fixturenames:
        request.getfixturevalue("monkeypatch").setattr(repeated, "_kept", Recent(repeated.MOST_KEPT))


@pytest.fixture(scope="session")
def vulkan(request: pytest.FixtureRequest) -> VulkanDevice:
    """The physical device under test, without --as; a test that takes it runs once on each --device. Fails if there is
    none."""
    which = getattr(request, "param", None)
    try:
        found = devices.choose(int(which) if which is not None and which.isdigit() else which)
        axes.open_as(found)
    except dml.DMLError as error:
        wanted = "no --device given" if which is None else f"--device {which}"
        pytest.fail(f"no device to test on ({wanted}): {error}", pytrace=False)
    return found


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest, vulkan: VulkanDevice) -> dml.Device:
    """The device under test; a test that takes it runs on each --device as each --as."""
    return axes.open_as(vulkan, getattr(request, "param", "plain"))


@pytest.fixture(scope="session")
def seen_as(vulkan: VulkanDevice) -> Callable[..., dml.Device]:
    """``seen_as("discrete", max_workgroup_invocations=256)``: the device under test on this axis of ``axes.AXES``, with
    these limits; without an axis, only with the limits."""
    return functools.partial(axes.open_as, vulkan)


@pytest.fixture(scope="session")
def fast_halves(device: dml.Device, request: pytest.FixtureRequest) -> dml.Device:
    """The device under test with its own FLOAT16 conversions, if its float controls promise their results; and
    lavapipe, which uses the processor's instructions and does not promise subnormals."""
    features = device.vulkan.target.features
    has_layer = request.config.pluginmanager.has_plugin("dml-validation")
    is_known = "llvmpipe Mesa" in device.vulkan.driver and not has_layer
    if not (features.float16_exact or is_known):
        pytest.skip("this device promises too little of its conversions of FLOAT16")
    names = ("SignedZeroInfNanPreserve", "DenormPreserve", "RoundingModeRTE")
    modes = features.float16_exact or tuple(FloatMode(name, 16) for name in names)
    return axes.open_as(device.vulkan, features=replace(features, float16_exact=modes))


@pytest.fixture(scope="session")
def as_discrete(seen_as: Callable[..., dml.Device]) -> dml.Device:
    """The device under test as a discrete GPU: its buffers are staged, and it gets the kernels for GPUs."""
    return seen_as("discrete")


@pytest.fixture(scope="session")
def on_matrices(seen_as: Callable[..., dml.Device]) -> dml.Device:
    """The device as a GPU with its own subgroups and FLOAT16 matrix units that only load and multiply."""
    device = seen_as("subgroups")
    wanted = ("FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32")
    features = device.vulkan.target.features
    if wanted not in [shape[3:] for shape in features.cooperative_matrices]:
        pytest.skip("the device has no matrices of FLOAT16 with sums in FLOAT32")
    return seen_as("subgroups", features=features.without("matrix_reductions"))


@pytest.fixture(scope="session")
def on_matrix_reductions(seen_as: Callable[..., dml.Device], on_matrices: dml.Device) -> dml.Device:
    """The same device with the reductions and conversions of VK_NV_cooperative_matrix2."""
    device = seen_as("subgroups")
    if not device.vulkan.target.features.matrix_reductions:
        pytest.skip("the device has no reductions of matrices, or the compiler does not know them")
    return device


@pytest.fixture(scope="session", params=["dot product", "matrices"])
def on_bytes(request: pytest.FixtureRequest, seen_as: Callable[..., dml.Device]) -> dml.Device:
    """The device as a GPU that multiplies 8-bit integers: with the integer dot product, then with INT8 matrix units."""
    device = seen_as("subgroups")
    features = device.vulkan.target.features
    if request.param == "matrices":
        if not features.byte_matrices:
            pytest.skip("the device has no matrices of INT8 with sums in INT32")
        return device
    if not features.integer_dot_product:
        pytest.skip("the device has no integer dot product")
    return seen_as("subgroups", features=features.without("cooperative_matrix"))


@pytest.fixture
def without_matrices(seen_as: Callable[..., dml.Device], as_discrete: dml.Device) -> dml.Device:
    """The device of ``as_discrete`` without matrix units: FLOAT16 uses FLOAT32's kernels."""
    return seen_as("discrete", features=as_discrete.vulkan.target.features.without("cooperative_matrix"))


@pytest.fixture
def computes_in_halves(seen_as: Callable[..., dml.Device], as_discrete: dml.Device) -> dml.Device:
    """The device as a GPU with FLOAT16 arithmetic, used where flags allow it, and without matrix units."""
    features = as_discrete.vulkan.target.features
    if not features.float16:
        pytest.skip("the device does not compute in FLOAT16")
    return seen_as("discrete", features=features.without("cooperative_matrix"))


@pytest.fixture(scope="session", params=["plain", "discrete"])
def each_kind(request: pytest.FixtureRequest, seen_as: Callable[..., dml.Device]) -> dml.Device:
    """The device under test, then the same as a discrete GPU: for tests of both sets of kernels."""
    return seen_as(request.param)


@pytest.fixture(scope="module")
def benchmarks() -> Iterator[None]:
    """Add the folder of the benchmarks' scripts to the module path, as the scripts import each other."""
    folder = str(Path(__file__).parents[1] / "tools" / "benchmarks")
    sys.path.append(folder)
    yield
    sys.path.remove(folder)


def _forget_texts() -> None:
    sources._text.cache_clear()
    sources.identifiers.cache_clear()


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[Callable[[str, str, str], None]]:
    """``broken(file, before, after)``: puts this fault into kernels until the test ends."""
    patch = pytest.MonkeyPatch()

    def use(file: str, before: str, after: str) -> None:
        root = tmp_path / "broken" / "shaders"
        shutil.copytree(sources.directory(), root)
        text = (root / file).read_text()
        assert before in text
        (root / file).write_text(text.replace(before, after))
        patch.setattr(sources, "directory", lambda: root)
        _forget_texts()

    yield use
    patch.undo()
    _forget_texts()
