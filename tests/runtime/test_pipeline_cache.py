"""The drivers' pipeline data: a file for each device and driver, from which drivers get only data that was written
there."""

from __future__ import annotations

import dataclasses
import os
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dml import cache
from dml.runtime import pipeline_cache
from dml.runtime.context import Context
from dml.runtime.devices import Identity, VulkanDevice


class Driver:
    """Stands in for Kompute's Manager."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = data
        self.given: bytes | None = None

    def pipeline_cache_data(self) -> bytes:
        return self.data

    def set_pipeline_cache_data(self, data: bytes) -> None:
        self.given = data


def header(vulkan: VulkanDevice, *, version: int = 1, **changed: object) -> bytes:
    identity = vulkan.identity._replace(**changed)
    return struct.pack("<IIII16s", 32, version, identity.vendor, identity.device, identity.cache_uuid)


@pytest.fixture
def folder(monkeypatch, tmp_path) -> Path:
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path))
    return tmp_path / "pipelines"


def given(device: VulkanDevice) -> bytes | None:
    pipeline_cache.load(device, driver := Driver())
    return driver.given


def kept(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_kept_data_is_restored(vulkan, folder):
    assert given(vulkan) is None
    data = header(vulkan) + bytes(range(256)) * 40
    pipeline_cache.keep(vulkan, Driver(data))
    assert given(vulkan) == data
    pipeline_cache.keep(vulkan, Driver(data + b"more"))
    assert given(vulkan) == data + b"more"
    assert len(kept(folder)) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"identity": Identity(1, 2, 3, bytes(16))},
        {"driver": "another build of the same driver"},
    ],
)
def test_another_driver_or_device_gets_nothing(vulkan, folder, changed):
    pipeline_cache.keep(vulkan, Driver(header(vulkan) + b"data"))
    assert given(dataclasses.replace(vulkan, **changed)) is None
    assert given(vulkan) is not None


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[:20],
        lambda data: b"",
        lambda data: data[:-7] + bytes([data[-7] ^ 1]) + data[-6:],
        lambda data: data + b"x",
        lambda data: bytes(len(data)),
    ],
)
def test_a_damaged_file_is_ignored_and_written_anew(vulkan, folder, damage):
    data = header(vulkan) + bytes(1000)
    pipeline_cache.keep(vulkan, Driver(data))
    (path,) = kept(folder)
    path.write_bytes(damage(path.read_bytes()))
    assert given(vulkan) is None
    pipeline_cache.keep(vulkan, Driver(data))
    assert given(vulkan) == data


@pytest.mark.parametrize("changed", [{"vendor": 7}, {"device": 7}, {"cache_uuid": b"another driver.."}, {"version": 2}])
def test_a_foreign_header_is_ignored(vulkan, folder, changed):
    """Whole files with another header, under the name of this device."""
    wrong = header(vulkan, **changed) + b"data"
    cache.write(pipeline_cache._entry(vulkan), wrong)
    assert given(vulkan) is None
    pipeline_cache.keep(vulkan, Driver(wrong))
    assert given(vulkan) is None


def test_an_empty_cache_is_not_kept(vulkan, folder):
    for nothing in (header(vulkan), header(vulkan)[:16], b""):
        pipeline_cache.keep(vulkan, Driver(nothing))
    assert not kept(folder)


def test_a_cache_that_grew_too_large_starts_again(vulkan, folder, monkeypatch):
    data = header(vulkan) + bytes(100)
    pipeline_cache.keep(vulkan, Driver(data))
    monkeypatch.setattr(pipeline_cache, "MOST_BYTES", 100)
    assert given(vulkan) is None
    pipeline_cache.keep(vulkan, Driver(data))
    assert not kept(folder)


def test_an_unwritable_folder_is_no_error(vulkan, monkeypatch, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path / "file" / "below"))
    pipeline_cache.keep(vulkan, Driver(header(vulkan) + b"data"))
    assert given(vulkan) is None


def test_a_driver_that_refuses_is_no_error(vulkan, folder):
    class Refusing(Driver):
        def set_pipeline_cache_data(self, data: bytes) -> None:
            raise RuntimeError("createPipelineCache: ErrorOutOfHostMemory")

    pipeline_cache.keep(vulkan, Driver(header(vulkan) + b"data"))
    pipeline_cache.load(vulkan, Refusing())


def test_a_context_loads_existing_data(vulkan, folder):
    """A driver accepts its own header. Only new data is written when the context is closed."""
    cache.write(pipeline_cache._entry(vulkan), header(vulkan))
    context = Context(vulkan)
    assert context.manager.pipeline_cache_data()[:32] == header(vulkan)
    (path,) = kept(folder)
    path.unlink()
    context.close()
    assert not kept(folder)


RADV = Path("/usr/share/vulkan/icd.d")


@pytest.mark.skipif(not list(RADV.glob("radeon_icd*.json")), reason="Mesa's RADV is not installed")
def test_a_driver_finds_its_pipelines_in_the_next_process(tmp_path):
    """RADV can create a device without hardware; its pipelines are in its data."""
    code = """
        from dml.compiler.program import Access, Dispatch, Region, Space, StorageBinding
        from dml.glslang import Source, compile
        from dml.runtime.context import open_context
        from dml.runtime.devices import choose

        text = "layout(binding = 0) buffer B { uint b[]; }; void main() { b[gl_WorkGroupID.x] += K; }"
        binding = StorageBinding(Region(Space.OUTPUT, 0, 0, 4), Access.WRITE)
        context = open_context(choose())
        sizes = [len(context.manager.pipeline_cache_data())]
        for k in range(4):
            source = Source("add.comp", "#version 450\\n" + text, (("K", f"{k}u"),))
            context.pipelines.get(Dispatch("", source, (binding,), (1, 1, 1)), compile(source))
        sizes.append(len(context.manager.pipeline_cache_data()))
        print(*sizes)
    """
    icd = str(next(RADV.glob("radeon_icd*.json")))
    environment = {
        **os.environ,
        "DML_CACHE_DIR": str(tmp_path),
        "VK_DRIVER_FILES": icd,
        "VK_ICD_FILENAMES": icd,
        "RADV_FORCE_FAMILY": "navi21",
        "MESA_SHADER_CACHE_DISABLE": "true",
    }
    environment.pop("DML_VULKAN_DEVICE", None)
    sizes = []
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=environment
        )
        if "RADV_FORCE_FAMILY=<family> has been removed" in run.stderr:
            pytest.skip("this RADV (from Mesa 26 on) makes no device out of nothing")
        assert run.returncode == 0, run.stderr
        sizes.append(tuple(map(int, run.stdout.split())))
    (empty, full), (found, unchanged) = sizes
    assert empty < full
    assert found == full
    # Mesa 25.0's data is 8 bytes shorter once its pipelines have been found
    assert full - 8 <= unchanged <= full, "the second process makes nothing anew"
    assert len(kept(tmp_path / "pipelines")) == 1
