"""Messages of tools/setup and tools/swiftshader on simulated machines, with stand-ins for commands."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
AS_ROOT = "setup: packages are missing; as root: "
# A Python 3.12 without venv and headers
BARE_PYTHON = 'case "$2" in *ensurepip*) exit 1 ;; *executable*) echo "$0" ;; *%d.%d*) echo 3.12 ;; esac'


@pytest.fixture
def machine(tmp_path):
    """Create a machine whose PATH has a few real commands and a test's stand-ins."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name in ("bash", "chmod", "cp", "dirname", "find", "mkdir", "mktemp", "rm"):
        (commands / name).symlink_to(shutil.which(name))

    def run(tool, *arguments, os_release, environment=(), **stand_ins):
        (tmp_path / "os-release").write_text(os_release)
        for name, body in stand_ins.items():
            command = commands / name.replace("_", "-")
            command.write_text(f"#!{commands}/bash\n{body}\n")
            command.chmod(0o755)
        return subprocess.run(
            [TOOLS / tool, *arguments],
            env={"PATH": str(commands), "OS_RELEASE": str(tmp_path / "os-release"), **dict(environment)},
            capture_output=True,
            text=True,
        )

    return run


def test_fedoras_packages_are_named(machine):
    run = machine("setup", "--test", os_release='ID=fedora\nVERSION_ID="44"\n', rpm="[[ $3 == cmake || $3 == patch ]]")
    assert run.returncode == 1
    assert run.stderr == (
        f"{AS_ROOT}dnf install fmt-devel gcc-c++ glslang glslang-devel make mesa-vulkan-drivers spirv-tools-devel "
        "vulkan-headers vulkan-loader-devel vulkan-tools vulkan-validation-layers python3 python3-devel\n"
    )


def test_a_browser_is_installed_only_on_request(machine):
    arch = {"os_release": "ID=arch\n", "pacman": "[[ $2 != chromium ]]", "python3": "exit 1"}
    assert machine("setup", "--browser", **arch).stderr == f"{AS_ROOT}pacman -S --needed chromium python\n"
    assert machine("setup", "--test", **arch).stderr == f"{AS_ROOT}pacman -S --needed python\n"


def test_ubuntus_browser_is_used(machine):
    ubuntu = {"os_release": "ID=ubuntu\nID_LIKE=debian\n", "dpkg_query": "echo installed", "python3": "exit 1"}
    said = machine("setup", "--browser", apt_get="exit 1", **ubuntu).stderr
    assert "no browser package is known here" in said
    assert "install chromium" not in said


def test_archs_packages_are_named(machine):
    run = machine("setup", os_release="ID=arch\n", pacman="[[ $2 == glslang ]]")
    assert run.returncode == 1
    assert run.stderr == (
        f"{AS_ROOT}pacman -S --needed cmake fmt gcc make patch spirv-tools vulkan-headers vulkan-icd-loader "
        "vulkan-swrast vulkan-tools python\n"
    )


@pytest.mark.parametrize(
    "os_release, query, line",
    [
        ('ID=nobara\nID_LIKE="rhel centos fedora"\n', "rpm", "dnf install make python3.12-devel"),
        ("ID=manjaro\nID_LIKE=arch\n", "pacman", "pacman -S --needed make"),
    ],
)
def test_relatives_and_a_python_without_headers(machine, os_release, query, line):
    run = machine("setup", os_release=os_release, python3=BARE_PYTHON, **{query: '[[ "$*" != *" make" ]]'})
    assert run.returncode == 1
    assert run.stderr == f"{AS_ROOT}{line}\n"


@pytest.mark.parametrize("os_release", ["ID=debian\n", "ID=ubuntu\nID_LIKE=debian\n", "ID=neon\nID_LIKE=ubuntu\n"])
def test_apt_installs_for_root_and_is_named_to_others(machine, tmp_path, os_release):
    run = machine(
        "setup",
        os_release=os_release,
        python3=BARE_PYTHON,
        dpkg_query="[[ $4 != cmake ]] || echo installed",
        apt_get=f'echo "apt-get $*" >> {tmp_path}/calls; [[ $1 == update ]]',
    )
    packages = (
        "g++ glslang-dev glslang-tools libfmt-dev libvulkan-dev libvulkan1 make mesa-vulkan-drivers patch spirv-tools "
        "vulkan-tools "
        "python3.12-venv python3.12-dev\n"
    )
    assert run.returncode == 1
    if os.geteuid() == 0:
        update, install = (tmp_path / "calls").read_text().splitlines(keepends=True)
        assert update.startswith("apt-get update")
        assert install.startswith("apt-get install")
        assert install.endswith(f" {packages}")
    else:
        assert run.stderr == f"{AS_ROOT}apt-get install {packages}"


def test_a_check_installs_nothing(machine, tmp_path):
    """--check installs nothing, even as root: pip's build calls it first."""
    debian = {"os_release": "ID=debian\n", "python3": BARE_PYTHON}
    apt = f'echo "$*" >> {tmp_path}/calls'
    run = machine("setup", "--check", dpkg_query="[[ $4 != cmake ]] || echo installed", apt_get=apt, **debian)
    assert run.returncode == 1
    assert run.stderr.startswith(f"{AS_ROOT}apt-get install g++ glslang-dev ")
    assert not (tmp_path / "calls").exists()


def test_unknown_systems_get_a_list_of_requirements(machine):
    run = machine("setup", os_release="ID=gentoo\n", make="", cmake="")
    assert run.returncode == 1
    assert run.stderr == (
        "setup: install these first: g++ glslangValidator patch python3 "
        "(and Vulkan's loader, headers and a driver, fmt's headers)\n"
    )


def test_a_named_python_that_does_not_exist(machine):
    run = machine("setup", os_release="ID=arch\n", pacman="", environment={"PYTHON": "/nowhere/python3"})
    assert run.returncode == 1
    assert run.stderr == "setup: PYTHON=/nowhere/python3 is not Python 3.10 to 3.14\n"


NO_PACKAGE = {"apt_get": "[[ $1 == update ]]", "dpkg_deb": ""}


def test_ubuntu_lacks_swiftshader(machine, tmp_path):
    run = machine("swiftshader", tmp_path / "driver", os_release="ID=ubuntu\nID_LIKE=debian\n", **NO_PACKAGE)
    assert run.returncode == 0
    assert run.stderr.count("\n") == 1
    assert "left out" in run.stderr
    assert not (tmp_path / "driver").exists()


def test_debian_does_not(machine, tmp_path):
    run = machine("swiftshader", tmp_path / "driver", os_release="ID=debian\n", **NO_PACKAGE)
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1
    assert "chromium-common" in run.stderr


def test_swiftshader_is_unpacked(machine, tmp_path):
    run = machine(
        "swiftshader",
        tmp_path / "driver",
        os_release="ID=debian\n",
        apt_get="[[ $1 == download ]] && : > chromium-common_1_amd64.deb",
        dpkg_deb='mkdir "$3" && cd "$3" && : > libvk_swiftshader.so && : > vk_swiftshader_icd.json',
    )
    assert run.returncode == 0, run.stderr
    names = sorted(path.name for path in (tmp_path / "driver").iterdir())
    assert names == ["libvk_swiftshader.so", "vk_swiftshader_icd.json"]
