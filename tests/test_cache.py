"""The cache on disk: entries, their limit, and `dml cache`."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dml import cache
from dml.cli import app
from dml.errors import HRESULT, DMLError

DAY = 86_400


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """Each test has its own cache with a limit of 1 MiB."""
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("DML_CACHE_SIZE", "1")
    return tmp_path / "cache"


def entry(name, folder="spirv"):
    return cache.folder(folder) / name


def keep(name, kib, folder="spirv", age=0.0):
    """Write an entry of about ``kib`` KiB that was last used ``age`` seconds ago."""
    path = entry(name, folder)
    cache.write(path, name.encode() + bytes(kib << 10))
    os.utime(path, (time.time() - age,) * 2)
    return path


def names():
    return sorted(path.name for name in cache.FOLDERS for path in cache.folder(name).rglob("*") if path.is_file())


def test_the_cache_is_in_the_users_cache_directory(monkeypatch, tmp_path):
    monkeypatch.delenv("DML_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder("spirv") == Path(tmp_path, "dml", "spirv")


def test_written_reports_are_read_back():
    path = entry("a/b.bin", "pipelines")
    assert cache.read(path) is None
    cache.write(path, b"content")
    assert cache.read(path) == b"content"
    cache.write(path, b"")
    assert cache.read(path) == b""
    assert names() == ["b.bin"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:-1] + b"?",
        lambda data: data + b"?",
        lambda data: b"x",
    ],
)
def test_a_damaged_entry_is_ignored(damage):
    path = entry("a")
    cache.write(path, b"content")
    path.write_bytes(damage(path.read_bytes()))
    assert cache.read(path) is None


def test_an_entry_at_another_entrys_path_is_ignored():
    """A swapped, copied or linked entry is refused: content is valid only under its own name."""
    a, b = entry("a"), entry("b")
    cache.write(a, b"of a")
    cache.write(b, b"of b")
    swapped = a.read_bytes(), b.read_bytes()
    a.write_bytes(swapped[1])
    b.write_bytes(swapped[0])
    assert (cache.read(a), cache.read(b)) == (None, None)
    cache.write(a, b"of a")
    for place in (os.symlink, os.link):
        b.unlink()
        place(a, b)
        assert cache.read(b) is None
    other = entry("a", "pipelines")
    other.parent.mkdir(parents=True)
    other.write_bytes(a.read_bytes())
    assert cache.read(other) is None
    assert cache.read(a) == b"of a"


@pytest.mark.parametrize("place", [os.symlink, os.link])
def test_an_entry_is_never_written_through_a_link(place, tmp_path):
    cache.write(entry("a"), b"of a")
    place(entry("a"), entry("b"))
    cache.write(entry("b"), b"of b")
    assert not entry("b").is_symlink()
    assert (cache.read(entry("a")), cache.read(entry("b"))) == (b"of a", b"of b")
    outside = tmp_path / "precious"
    outside.write_bytes(b"not ours")
    entry("c").symlink_to(outside)
    cache.write(entry("c"), b"of c")
    assert (outside.read_bytes(), cache.read(entry("c"))) == (b"not ours", b"of c")


def test_a_link_to_nothing_and_a_pipe_are_replaced():
    entry("a").parent.mkdir(parents=True)
    entry("a").symlink_to("nowhere")
    assert cache.read(entry("a")) is None
    os.mkfifo(entry("b"))
    for name in "ab":
        cache.write(entry(name), b"content")
        assert cache.read(entry(name)) == b"content"
    assert not (entry("a").parent / "nowhere").exists()


def test_links_count_no_bytes_and_are_removed(tmp_path):
    """A link to a large file counts none of its bytes; it is removed, and the file stays."""
    large = tmp_path / "large"
    large.write_bytes(bytes(4 << 20))
    entry("a").parent.mkdir(parents=True)
    entry("a").symlink_to(large)
    assert cache.usage()["spirv"].bytes < 4096
    cache.clear()
    assert names() == []
    assert large.stat().st_size == 4 << 20


def test_a_cache_may_be_moved(root, monkeypatch):
    cache.write(entry("ab/cd.spv"), b"content")
    root.rename(root.with_name("moved"))
    monkeypatch.setenv("DML_CACHE_DIR", str(root.with_name("moved")))
    assert cache.read(entry("ab/cd.spv")) == b"content"


def test_a_root_that_is_not_a_folder_is_no_error(root):
    root.write_text("")
    cache.write(entry("a"), bytes(1 << 20))
    assert cache.read(entry("a")) is None
    assert cache.usage() == dict.fromkeys(cache.FOLDERS, (0, 0))
    cache.clear()


def test_the_least_recently_used_entry_is_removed():
    """The limit covers all folders together; the least recently used entry of any folder is removed."""
    keep("old", 300, "pipelines", age=9 * DAY)
    keep("older", 300, age=10 * DAY)
    keep("oldest", 300, age=11 * DAY)
    cache.write(entry("new"), bytes(300 << 10))
    assert names() == ["new", "old", "older"]
    cache.write(entry("newer"), bytes(600 << 10))
    assert names() == ["new", "newer"]


def test_reading_counts_as_use():
    keep("a", 300, age=9 * DAY)
    keep("b", 300, age=10 * DAY)
    keep("c", 300, age=11 * DAY)
    assert cache.read(entry("c"))
    cache.write(entry("new"), bytes(300 << 10))
    assert names() == ["a", "c", "new"]


def test_recently_used_entries_are_not_touched_again():
    path = keep("a", 1, age=60.0)
    before = path.stat().st_mtime
    cache.read(path)
    assert path.stat().st_mtime == before


def test_small_entries_are_counted_at_random(monkeypatch):
    """An entry of 1/1000 of the limit triggers a count of the cache with a probability of 128/1000."""
    counts = []
    monkeypatch.setattr(cache, "prune", lambda: counts.append(1))
    monkeypatch.setattr(cache, "random", random.Random(0))
    for i in range(1000):
        cache.write(entry(str(i)), bytes((1 << 20) // 1000))
    assert 95 < len(counts) < 165


def test_the_limit_holds_between_two_counts(monkeypatch):
    """With entries of 1/2000 of the limit, few of which trigger a count, the cache stays within the limit."""
    monkeypatch.setattr(cache, "random", random.Random(0))
    sizes = []
    for i in range(3000):
        cache.write(entry(str(i)), bytes((1 << 20) // 2000))
        if i % 50 == 0:
            sizes.append(cache.usage()["spirv"].bytes)
    assert max(sizes) <= 1 << 20
    assert min(sizes[-20:]) > 900 << 10


def test_two_processes_may_prune_at_once(monkeypatch):
    """A process that finds an entry already removed by another still counts it."""
    keep("a", 400, age=2 * DAY)
    keep("b", 400, age=DAY)
    unlink = os.unlink

    def other_was_first(path):
        unlink(path)
        raise FileNotFoundError(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", other_was_first)
        cache.write(entry("new"), bytes(300 << 10))
    assert names() == ["b", "new"]


def test_processes_write_read_and_prune_concurrently():
    code = (
        "import sys; from dml import cache\n"
        "for i in range(150):\n"
        "    path = cache.folder('spirv') / f'{i % 40:02}' / 'x'\n"
        "    content = cache.read(path)\n"
        "    assert content in (None, bytes([i % 40]) * 60_000), 'torn'\n"
        "    cache.write(path, bytes([i % 40]) * 60_000)\n"
    )
    runs = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(3)]
    assert [run.communicate()[1] for run in runs] == [b""] * 3
    cache.prune()
    used = cache.usage()["spirv"]
    assert 0 < used.bytes <= 1 << 20
    assert not list(cache.folder("spirv").rglob("*.tmp"))


def test_a_limit_of_nothing_keeps_nothing(monkeypatch):
    monkeypatch.setenv("DML_CACHE_SIZE", "0")
    cache.write(entry("a"), b"content")
    assert names() == []


@pytest.mark.parametrize("text", ["much", "-1", "1.5", "1 MiB", "²"])
def test_an_invalid_limit_is_refused(monkeypatch, text):
    monkeypatch.setenv("DML_CACHE_SIZE", text)
    with pytest.raises(DMLError, match=r"DML_CACHE_SIZE: must be a whole number of MiB, found") as caught:
        cache.write(entry("a"), b"content")
    assert caught.value.hresult == HRESULT.E_INVALIDARG


def test_the_limit_unless_it_is_set(monkeypatch):
    monkeypatch.delenv("DML_CACHE_SIZE")
    assert cache.limit() == 256 << 20


def test_the_command_shows_and_clears(root):
    keep("a", 300)
    keep("b", 200, "pipelines")
    (root / "wheels").mkdir()
    (root / "wheels" / "kp.whl").write_text("of the set-up")
    shown = CliRunner().invoke(app, ["cache"])
    assert shown.exit_code == 0
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in shown.output.splitlines() if "│" in line]
    counts = {"spirv": "1", "pipelines": "1", "tuned": "0", "cases": "0", "coverage": "0"}
    folders = [[f"{root}/{name}", count] for name, count in counts.items()]
    assert [row[:2] for row in rows] == [*folders, ["together", "2"]]
    assert rows[-1][2] == "500.1 KiB of 1 MiB"
    assert "shaders are compiled by glslang " in shown.output
    cleared = CliRunner().invoke(app, ["cache", "--clear"])
    assert cleared.exit_code == 0
    assert "0 B of 1 MiB" in cleared.output
    assert names() == []
    assert (root / "wheels" / "kp.whl").exists()


def test_the_command_reports_errors(monkeypatch):
    monkeypatch.setenv("DML_CACHE_SIZE", "much")
    shown = CliRunner().invoke(app, ["cache"])
    assert shown.exit_code == 1
    assert "DML_CACHE_SIZE" in shown.output


def test_the_command_needs_no_compiler(monkeypatch, tmp_path):
    environment = {**os.environ, "PATH": str(tmp_path), "DML_GLSLANG": "process"}
    # in a process that cannot find the libraries that tools/setup puts next to Python
    code = f"import sys\nsys.prefix = {str(tmp_path)!r}\nfrom dml.cli.app import app\napp(['cache'])"
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "there is no glslang" in run.stdout
