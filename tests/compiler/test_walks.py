"""Element-wise kernels in which an invocation takes several elements, as on CPU drivers, and transposes in blocks."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml.compiler.lowering import compile_operator
from dml.compiler.selection import unit_walk
from dml.compiler.target import DeviceClass, Target
from harness import assert_exact, random, run, tensor

CPU, GPU = Target(DeviceClass.CPU, subgroup_size=8), Target(DeviceClass.DISCRETE, subgroup_size=8)


def pad(kind, sizes):
    """Describe reflected padding of one element before and two after each dimension."""
    padded = tuple(size + 3 for size in sizes)
    ones, twos = (1,) * len(sizes), (2,) * len(sizes)
    x, y = tensor(kind, sizes), tensor(kind, padded)
    return dml.DML_PADDING_OPERATOR_DESC(x, y, dml.DML_PADDING_MODE_REFLECTION, 0.0, len(sizes), ones, twos)


@pytest.mark.parametrize("kind", ["FLOAT32", "FLOAT16", "INT8", "INT64"])
@pytest.mark.parametrize("sizes", [(3, 7, 211), (2, 2, 2000), (40, 30, 3), (1, 253)])
def test_every_element_is_made_once(device, kind, sizes):
    x = random(np.random.default_rng(0), kind, sizes)
    result = run(device, pad(kind, sizes), {"InputTensor": x})["OutputTensor"]
    assert_exact(result, np.pad(x, (1, 2), "reflect"))


@pytest.mark.parametrize("kind", ["FLOAT32", "FLOAT16", "INT8"])
@pytest.mark.parametrize("sizes", [(3, 36, 20), (1, 72, 40), (2, 33, 100), (5, 16, 16)])
def test_transposes_of_whole_vectors_and_others(device, kind, sizes):
    batch, high, wide = sizes
    x = random(np.random.default_rng(1), kind, sizes)
    turned = dml.DML_BUFFER_TENSOR_DESC(tensor(kind, sizes).DataType, (batch, wide, high), (high * wide, 1, wide))
    copy = dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(turned, tensor(kind, (batch, wide, high)))
    result = run(device, copy, {"InputTensor": x.transpose(0, 2, 1)})["OutputTensor"]
    assert_exact(result, x.transpose(0, 2, 1))


def test_a_cpus_driver_walks_as_far_as_keeps_its_cores_busy():
    walk = unit_walk(CPU, 1 << 20, 1, 0)
    assert walk.loops
    assert walk.steps == 512
    assert walk.invocations(1 << 20) * walk.steps == 1 << 20
    assert unit_walk(CPU, 100, 1, 0).steps == 1
    assert unit_walk(CPU, 1 << 20, 1000, 0).steps < 512
    assert not unit_walk(CPU, 1 << 20, 1, 1000).loops
    assert not unit_walk(GPU, 1 << 20, 1, 0).loops


def test_a_walking_dispatch_has_fewer_invocations():
    desc = pad("FLOAT32", (17, 447))  # 9,000 results
    [walking] = compile_operator(desc, CPU).dispatches
    [each] = compile_operator(desc, GPU).dispatches
    walkers, all_of_them = (int(np.prod(made.groups)) * made.invocations for made in (walking, each))
    assert each.steps == 1
    assert all_of_them >= 9000
    assert walkers * walking.steps >= 9000 >= 32 * walkers
