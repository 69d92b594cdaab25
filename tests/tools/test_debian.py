"""tools/debian, with a stand-in for debootstrap that copies a handful of this machine's commands."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "debian"
NO_MACHINE = 125

may_mount = os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git to clone with")
needs_mounts = pytest.mark.skipif(not may_mount, reason="needs root and private mounts")

EMULATOR = """#include <stdio.h>
int main(int count, char **words) {
    printf("emulated");
    for (int i = 1; i < count; i++) printf(" %s", words[i]);
    puts("");
}
"""
# Stands in for tools/gpu_compilation/unpack SUITE FOLDER PACKAGE
UNPACK = f"""#!/bin/bash
mkdir -p "$2/usr/bin" && cc -static -x c -o "$2/usr/bin/qemu-aarch64" - << 'END'
{EMULATOR}END
"""
# debootstrap --foreign with an arm64 program in the folder, and a second stage that notes that it ran
MAKE_ARM64 = r"""
[[ " $* " == *" --arch arm64 --foreign "* ]]
mkdir debootstrap
printf '#!/bin/bash\necho "$@" "$container" > /second\n' > debootstrap/debootstrap
{ printf '\x7fELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\xb7\0'; head -c 108 /dev/zero; } > bin/foreign
chmod +x debootstrap/debootstrap bin/foreign
"""

MAKE = """#!/bin/bash
set -e
for argument; do
    [[ ! -d $argument ]] || cd "$argument"
done
for command in bash cat env mkdir touch; do
    cp --parents -L "/bin/$command" $(ldd "/bin/$command" | grep -o '/[^ ]*') .
done
mkdir -p dev proc sys root usr/sbin usr/local/share/ca-certificates etc/apt/apt.conf.d etc/dpkg/dpkg.cfg.d
printf '#!/bin/bash\\n' > usr/sbin/update-ca-certificates
chmod +x usr/sbin/update-ca-certificates
"""


@pytest.fixture
def checkout(tmp_path):
    """Create a checkout of a small project with tools/debian."""
    folder = tmp_path / "checkout"
    (folder / "tools").mkdir(parents=True)
    shutil.copy(TOOL, folder / "tools")
    (folder / "greeting").write_text("good morning\n")
    git(folder, "init", "-q")
    commit(folder)
    return folder


def git(folder, *arguments):
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *arguments], cwd=folder, check=True)


def commit(folder):
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "a state")


@pytest.fixture
def debian(checkout, tmp_path):
    """Return a function that runs the tool on the folder `machine`, in a new session that a test can kill."""
    stand_ins = tmp_path / "bin"
    stand_ins.mkdir()

    def run(*arguments, debootstrap=MAKE):
        (stand_ins / "debootstrap").write_text(debootstrap)
        (stand_ins / "debootstrap").chmod(0o755)
        return subprocess.run(
            [checkout / "tools" / "debian", *arguments],
            env={**os.environ, "PATH": f"{stand_ins}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            start_new_session=True,
        )

    return run


@pytest.fixture
def machine(tmp_path):
    return tmp_path / "machine"


def assert_refused(run, status, text):
    assert run.returncode == status
    *progress, reason = run.stderr.splitlines()
    assert text in reason
    assert all(line.startswith(("debian: creating", "debian: unpacking")) for line in progress)


@needs_mounts
def test_a_command_runs_in_a_clean_clone(debian, machine, checkout):
    (checkout / "greeting").write_text("not committed\n")
    (checkout / "untracked").touch()
    run = debian("trixie", "--root", machine, "bash", "-c", 'echo "$HOME" "$PWD" *; cat greeting; exit 7')
    assert run.returncode == 7
    assert run.stdout == "/root /dml greeting tools\ngood morning\n"
    assert "leaves out the checkout's uncommitted changes" in run.stderr


@needs_mounts
def test_another_run_keeps_the_environment_and_renews_the_clone(debian, machine, checkout):
    (checkout / ".gitignore").write_text(".venv/\n*.pyc\n")
    commit(checkout)
    leave = "mkdir .venv; touch .venv/mark left left.pyc; echo changed > greeting"
    assert debian("trixie", "--root", machine, "bash", "-c", leave).returncode == 0
    (checkout / "greeting").write_text("good evening\n")
    commit(checkout)
    run = debian("trixie", "--root", machine, "bash", "-c", "echo * .venv/*; cat greeting", debootstrap="exit 1")
    assert run.stdout == "greeting tools .venv/mark\ngood evening\n", run.stderr


@needs_mounts
@pytest.mark.parametrize("end", ["exit 3", "kill -KILL 0"])
def test_nothing_stays_mounted(debian, machine, end):
    run = debian("trixie", "--root", machine, "bash", "-c", f"cat /proc/mounts > mounts; {end}")
    assert run.returncode in (3, -9)
    assert " /proc " in (machine / "dml" / "mounts").read_text()
    assert " /dev " in (machine / "dml" / "mounts").read_text()
    assert str(machine) not in Path("/proc/mounts").read_text()


@needs_mounts
def test_an_unfinished_machine_is_created_again(debian, machine):
    run = debian("trixie", "--root", machine, debootstrap=MAKE + "touch half; kill -KILL 0")
    assert run.returncode == -9
    assert not machine.exists()
    run = debian("trixie", "--root", machine, "bash", "-c", "echo /*")
    assert run.returncode == 0, run.stderr
    assert "half" not in run.stdout


@needs_mounts
def test_without_a_network_one_line_and_no_files(debian, machine):
    run = debian("trixie", "--root", machine, debootstrap="#!/bin/bash\necho 'E: no mirror answers'; exit 1")
    assert_refused(run, NO_MACHINE, "E: no mirror answers")
    assert sorted(path.name for path in machine.parent.glob("machine*")) == ["machine.lock", "machine.log"]


@needs_mounts
def test_other_folders_are_not_touched(debian, machine):
    machine.mkdir()
    (machine / "letter").touch()
    assert_refused(debian("trixie", "--root", machine), NO_MACHINE, str(machine))
    assert (machine / "letter").exists()


@needs_mounts
def test_a_folder_of_another_suite_is_not_touched(debian, machine):
    assert debian("trixie", "--root", machine, "env").returncode == 0
    assert_refused(debian("bookworm", "--root", machine, "env"), NO_MACHINE, "holds trixie, not bookworm")


@needs_mounts
def test_there_must_be_something_to_clone(debian, machine, checkout):
    shutil.rmtree(checkout / ".git")
    assert_refused(debian("trixie", "--root", machine), NO_MACHINE, "not a git checkout")
    assert not machine.exists()


@pytest.fixture
def arm64(checkout, debian, machine, tmp_path, monkeypatch):
    """Return a function that runs a command on an arm64 machine; `unpack` provides the emulator."""
    if platform.machine() == "aarch64":
        pytest.skip("arm64's programs need no emulator here")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tool = checkout / "tools" / "gpu_compilation" / "unpack"
    tool.parent.mkdir()

    def run(*command, unpack=UNPACK):
        tool.write_text(unpack)
        tool.chmod(0o755)
        return debian("trixie", "--arch", "arm64", "--root", machine, *command, debootstrap=MAKE + MAKE_ARM64)

    return run


def may_emulate():
    """Whether binfmt_misc belongs to user namespaces here (since Linux 6.7)."""
    mount = ["unshare", "--map-root-user", "--mount", "mount", "-t", "binfmt_misc", "none", "/mnt"]
    return may_mount and subprocess.run(mount, capture_output=True).returncode == 0


@pytest.mark.skipif(not may_emulate(), reason="needs binfmt_misc of a user namespace")
def test_another_architecture_runs_in_an_emulator(arm64, machine, tmp_path):
    link = [shutil.which("cc") or "false", "-static", "-x", "c", "-", "-o", tmp_path / "static"]
    if subprocess.run(link, input=EMULATOR, text=True, capture_output=True).returncode:
        pytest.skip("no static program can be made here")
    run = arm64("bash", "-c", "foreign a b; cat /second; exit 7")
    assert run.returncode == 7, run.stderr
    assert run.stdout == "emulated /bin/foreign foreign a b\n--second-stage lxc\n"
    with pytest.raises(OSError, match="Exec format error"):  # the rest of this machine has no emulator
        subprocess.run([machine / "bin" / "foreign"])
    assert str(machine) not in Path("/proc/mounts").read_text()


@pytest.mark.skipif(not may_emulate(), reason="needs binfmt_misc of a user namespace")
def test_without_an_emulator_one_line(arm64, machine):
    assert_refused(arm64("env", unpack="#!/bin/bash\necho no mirror answers; exit 1"), NO_MACHINE, "no mirror answers")
    assert not machine.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("sid",),
        ("--frontports", "trixie"),
        ("trixie", "--root"),
        ("testing", "--backports"),
        ("trixie", "--arch"),
        ("trixie", "--arch", "s390x"),
    ],
)
def test_wrong_arguments(debian, arguments):
    assert debian(*arguments).returncode == 2


def test_only_root_may():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        tool = shutil.copy(TOOL, folder)
        user = {"user": 65534} if os.geteuid() == 0 else {}
        run = subprocess.run([tool, "trixie"], capture_output=True, text=True, **user)
    assert_refused(run, NO_MACHINE, "only root")


@needs_mounts
def test_without_debootstrap_and_apt_get(checkout, machine, tmp_path):
    commands = tmp_path / "few"
    commands.mkdir()
    for name in ("bash", "dirname", "realpath", "unshare", "true", "git", "ls", "mkdir", "flock"):
        (commands / name).symlink_to(shutil.which(name))
    run = subprocess.run(
        [checkout / "tools" / "debian", "trixie", "--root", machine],
        env={"PATH": str(commands)},
        capture_output=True,
        text=True,
    )
    assert_refused(run, NO_MACHINE, "debootstrap is missing")
