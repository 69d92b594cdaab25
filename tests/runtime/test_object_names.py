"""Names of Vulkan's objects: when they are set, and that the validation layer's messages show them."""

from __future__ import annotations

import pytest

from dml.compiler.program import Dispatch
from dml.glslang import DEBUG_VARIABLE, Source
from dml.runtime import names
from toy_dispatches import messages


@pytest.fixture
def environment(monkeypatch):
    """The environment without the variables that request names."""
    for name in (DEBUG_VARIABLE, names.DUMP_VARIABLE, *names.LAYER_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def dispatch(node=""):
    return Dispatch("gemm/tiled.comp", Source("", ""), (), (1, 1, 1), node=node)


def test_names_are_given_where_somebody_looks(environment):
    assert not names.are_wanted()
    for name in (DEBUG_VARIABLE, names.DUMP_VARIABLE, "VK_INSTANCE_LAYERS", "ENABLE_VULKAN_RENDERDOC_CAPTURE"):
        environment.setenv(name, "1")
        assert names.are_wanted()
        environment.delenv(name)


def test_a_kernels_name_tells_its_code_apart():
    name = names.of_kernel(dispatch(), b"spirv")
    assert name.startswith("gemm-tiled-")
    assert name == names.of_kernel(dispatch(node="another"), b"spirv")
    assert name != names.of_kernel(dispatch(), b"other")


def test_a_dispatch_is_called_by_its_kernel_and_its_nodes():
    assert names.of_dispatch(dispatch()) == "gemm/tiled.comp"
    assert names.of_dispatch(dispatch(node="first + second")) == "gemm/tiled.comp for first + second"


@pytest.mark.parametrize("race", ["race", "none"])
def test_the_layers_message_about_a_race_names_the_operators(vulkan, tmp_path, race):
    breaking = "writing._Spans.conflict = lambda *_: False" if race == "race" else ""
    found = messages(vulkan, tmp_path, [((0, 1), (1, 2))], breaking)
    if race == "none":
        assert found == ""
        return
    assert "SYNC-HAZARD" in found
    for name in ("toy-add-", "toy/add.comp for second", "dml shared memory"):
        assert name in found
