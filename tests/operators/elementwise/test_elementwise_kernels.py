"""Programs of element-wise descriptions, without a device."""

from __future__ import annotations

import pytest

import dml
from dml.compiler.kernels.expression import emit
from dml.compiler.lowering import compile_operator, implemented
from dml.compiler.operators.activation.functions import activate
from dml.compiler.selection import LONG_ARITHMETIC, max_steps, unit_walk
from dml.compiler.target import DeviceClass, Target
from dml.descriptors import operators
from harness import tensor

FAMILIES = ("DML_OPERATOR_ELEMENT_WISE_", "DML_OPERATOR_ACTIVATION_")


def test_every_operator_of_the_families_compiles():
    missing = [
        kind.name for kind, cls in operators().items() if kind.name.startswith(FAMILIES) and cls not in implemented()
    ]
    assert not missing


def test_clip_is_fused_as_a_float_expression():
    emitted = emit(activate(dml.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC(Min=-0.5, Max=6)), ["float"], result="float")
    assert sorted(emitted.constants.values()) == [-0.5, 6.0]


@pytest.mark.parametrize("name", ["ADD", "MAX", "LOGICAL_EQUALS", "BIT_XOR"])
def test_contiguous_data_is_one_dimension_moved_as_vectors(name):
    out = "UINT8" if name.startswith("LOGICAL") else "FLOAT32"
    x = tensor("FLOAT32", (2, 3, 4, 8))
    desc = getattr(dml, f"DML_ELEMENT_WISE_{name}_OPERATOR_DESC")(x, x, tensor(out, x.Sizes))
    (dispatch,) = compile_operator(desc, Target()).dispatches
    assert dispatch.label == "elementwise/vector.comp"
    # 192 elements as one dimension; vectors of 4 FLOAT32 or 16 UINT8; 64 invocations per workgroup.
    assert 192 in dispatch.push
    assert dispatch.groups == (1, 1, 1)


def target(kind: DeviceClass, subgroup_size: int) -> Target:
    return Target(kind, max_workgroup_invocations=1024, max_workgroup_size=(1024,) * 3, subgroup_size=subgroup_size)


@pytest.mark.parametrize("units", [1, 63, 64, 511, 4096, 1 << 20, 1 << 28])
@pytest.mark.parametrize("rounds", [1, 64, 4096])
@pytest.mark.parametrize("subgroup_size", [1, 8, 64])
def test_an_invocation_of_a_cpu_takes_many_steps(units, rounds, subgroup_size):
    cpu = target(DeviceClass.CPU, subgroup_size)
    steps, unrolled, lanes = unit_walk(cpu, units, rounds, LONG_ARITHMETIC)
    assert steps * rounds <= max_steps(cpu)
    assert steps % unrolled == 0
    if steps > 1:
        assert units // (steps * lanes) >= 16  # enough workgroups for all cores
    else:
        assert units < 32 * lanes or 2 * rounds > max_steps(cpu)


def test_long_arithmetic_and_other_devices_take_one_step():
    cpu, gpu = target(DeviceClass.CPU, 8), target(DeviceClass.DISCRETE, 32)
    assert unit_walk(cpu, 1 << 20, 1, LONG_ARITHMETIC).steps > 1
    assert unit_walk(cpu, 1 << 20, 1, LONG_ARITHMETIC + 1) == (1, 0, cpu.workgroup)
    assert unit_walk(gpu, 1 << 20, 1, 1) == (1, 0, gpu.workgroup)
