"""Installation advice by distribution."""

from __future__ import annotations

import pickle

import pytest

import dml
from dml.runtime.advice import NoVulkanDevice, no_vulkan, what_to_install


@pytest.mark.parametrize(
    ("os_release", "command"),
    [
        ("ID=debian\nVERSION_ID=12", "apt-get install libvulkan1 mesa-vulkan-drivers"),
        ('NAME="Linux Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"', "apt-get install libvulkan1 mesa-vulkan-drivers"),
        ("ID=fedora", "dnf install vulkan-loader mesa-vulkan-drivers"),
        ("ID=arch", "pacman -S vulkan-icd-loader vulkan-swrast"),
        ('ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"', "zypper install libvulkan1"),
    ],
)
def test_each_distribution_has_its_command(monkeypatch, tmp_path, os_release, command):
    (tmp_path / "os-release").write_text(os_release)
    monkeypatch.setenv("OS_RELEASE", str(tmp_path / "os-release"))
    assert f"a driver: {command}" in what_to_install()


@pytest.mark.parametrize("text", [None, "", "ID=plan9", "no assignment at all"])
def test_other_systems_get_a_list_of_requirements(monkeypatch, tmp_path, text):
    if text is not None:
        (tmp_path / "os-release").write_text(text)
    monkeypatch.setenv("OS_RELEASE", str(tmp_path / "os-release"))
    monkeypatch.delenv("VK_ICD_FILENAMES", raising=False)
    monkeypatch.delenv("VK_DRIVER_FILES", raising=False)
    assert what_to_install() == (
        "install Vulkan's loader and a driver (Mesa's for AMD, Intel and the CPU, or NVIDIA's own)"
    )


def test_variables_that_hide_drivers_are_reported(monkeypatch):
    monkeypatch.setenv("VK_ICD_FILENAMES", "/x.json")
    assert "these variables may hide drivers: VK_" in what_to_install()
    assert "VK_ICD_FILENAMES=/x.json" in what_to_install()


def test_the_error_is_a_dml_error_and_survives_pickling():
    error = no_vulkan("no Vulkan device")
    assert isinstance(error, dml.DMLError)
    assert error.hresult is dml.HRESULT.DXGI_ERROR_UNSUPPORTED
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy)) == (NoVulkanDevice, str(error))
