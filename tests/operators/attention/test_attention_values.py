"""MULTIHEAD_ATTENTION and MULTIHEAD_ATTENTION1 against float64 NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from attention_cases import MASKS, SOURCES, Case, check, data, describe, expect
from hypothesis import given, settings
from hypothesis import strategies as st

import dml
from dml.compiler import repeated
from dml.compiler.lowering import compile_operator
from dml.compiler.operators import attention
from dml.compiler.target import DeviceClass, Target
from dml.conformance.axes import open_as
from dml.recent import Recent
from dml.runtime.devices import VulkanDevice
from harness import run, tensor


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("number", range(4))
def test_masks(device: dml.Device, mask: str, number: int) -> None:
    """Combines every mask with every stacking of the inputs, with other options changing."""
    at = number + MASKS.index(mask)
    layouts = (("packed", "packed"), ("padded", "reversed"), ("reversed", "padded"), ("padded", "packed"))
    check(
        device,
        Case(
            (2, 3, 4, 3 if at % 2 else 0, 4, 6),
            source=SOURCES[number],
            mask=mask,
            bias=at % 3 == 0,
            relative=at % 2 == 0,
            present=at % 4 < 2,
            data_type="FLOAT16" if at % 3 == 1 else "FLOAT32",
            layouts=layouts[at % 4],
            rank=3 + at % 3,
            newer=at % 5 == 0,
        ),
    )


CASES = {
    "one of each": Case((1, 1, 1, 0, 1, 1), (1, 1)),
    "one query": Case((2, 1, 1, 9, 8, 8), (3, 3), present=True),
    "long rows": Case((1, 2, 300, 0, 8, 4), (1, 1), mask="KEY_SEQUENCE_LENGTH"),
    "bias and past": Case((2, 3, 3, 2, 4, 5), bias=True, present=True),
    "bias and past, float16": Case((2, 3, 3, 2, 4, 5), bias=True, present=True, data_type="FLOAT16"),
    "present without past": Case(present=True, layouts=("packed", "padded")),
    "two heads share": Case((2, 3, 5, 0, 4, 6), (4, 2), relative=True),
    "one query, shared": Case((2, 1, 3, 6, 4, 6), (6, 2), relative=True, bias=True, mask="BOOLEAN"),
    "all heads share": Case((2, 3, 5, 2, 4, 6), (3, 1), present=True, bias=True, mask="BOOLEAN"),
    "shared, stacked": Case((2, 3, 5, 2, 4, 4), (4, 2), source="key value", data_type="FLOAT16"),
    "past lengths": Case((3, 2, 3, 4, 4, 6), lengths=True, present=True),
    "past lengths, masked": Case((3, 2, 3, 4, 4, 6), (4, 2), lengths=True, mask="KEY_SEQUENCE_LENGTH", bias=True),
    "past lengths, float16": Case((3, 2, 3, 4, 4, 6), lengths=True, present=True, data_type="FLOAT16"),
    "in place": Case((3, 2, 3, 4, 4, 6), (4, 2), in_place=True),
    "in place, no past": Case((2, 4, 4, 0, 8, 8), (4, 2), in_place=True),
    "in place, float16, odd": Case((3, 2, 3, 4, 5, 7), (4, 2), in_place=True, data_type="FLOAT16", bias=True),
    "in place, float16": Case((2, 1, 1, 9, 8, 8), (6, 2), in_place=True, data_type="FLOAT16", mask="BOOLEAN"),
    "in place, stacked": Case((2, 3, 3, 5, 4, 4), source="query key value", in_place=True, relative=True, rank=4),
    "in place, a real head": Case((2, 1, 1, 2047, 128, 128), (8, 2), in_place=True, data_type="FLOAT16"),
    "filter shifts": Case((2, 3, 6, 0, 4, 4), mask="BOOLEAN", filter_value=-1.5),
    "filter large": Case((2, 3, 6, 2, 4, 4), mask="KEY_SEQUENCE_LENGTH", filter_value=-10000.0),
    "filter positive": Case((2, 3, 6, 0, 4, 4), mask="KEY_SEQUENCE_END_START", filter_value=2.0),
    "aligned": Case((2, 16, 16, 0, 16, 16), source="query key value"),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(device: dml.Device, name: str) -> None:
    check(device, CASES[name])


@pytest.mark.parametrize("most", [2304, 600, 200], ids=["batch elements", "heads", "queries"])
@pytest.mark.parametrize("name", ["masked", "one length each", "packed", "in place", "plain"])
def test_scores_in_parts(device: dml.Device, monkeypatch: pytest.MonkeyPatch, name: str, most: int) -> None:
    """Scores that exceed their limit are computed by batch elements, heads and queries."""
    case = {
        "masked": Case((3, 7, 6, 1, 4, 6), mask="BOOLEAN", relative=True),
        "one length each": Case((3, 7, 7, 0, 4, 6), mask="KEY_SEQUENCE_END_START", bias=True, present=True),
        "packed": Case((3, 7, 7, 0, 4, 4), mask="KEY_QUERY_SEQUENCE_LENGTH_START_END", source="query key value"),
        "in place": Case((3, 7, 3, 4, 4, 6), (4, 2), in_place=True),
        "plain": Case((3, 7, 7, 0, 4, 6), (4, 2)),
    }[name]
    monkeypatch.setattr(attention, "MOST_SCORES", most)
    # a separate cache, since lowerings depend on MOST_SCORES
    monkeypatch.setattr(repeated, "_kept", Recent(repeated.MOST_KEPT))
    check(device, case)


def test_a_prompt_of_real_size_fits_bindings() -> None:
    """2,048 positions of 32 heads have half a gigabyte of scores; each dispatch binds a part of them."""

    def tensor_of(kind: str, *sizes: int) -> Any:
        return tensor(kind, sizes)

    present = tensor_of("FLOAT16", 1, 8, 2048, 128)
    desc = dml.DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC(
        QueryTensor=tensor_of("FLOAT16", 1, 2000, 4096),
        KeyTensor=tensor_of("FLOAT16", 1, 2000, 1024), ValueTensor=tensor_of("FLOAT16", 1, 2000, 1024),
        PastSequenceLengthsTensor=tensor_of("INT32", 1), OutputTensor=tensor_of("FLOAT16", 1, 2000, 4096),
        OutputPresentKeyTensor=present, OutputPresentValueTensor=present, Scale=128**-0.5, MaskFilterValue=-1e4,
        QueryHeadCount=32, KeyValueHeadCount=8, MaskType=dml.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE,
    )  # fmt: skip
    for kind in (DeviceClass.CPU, DeviceClass.DISCRETE, DeviceClass.INTEGRATED):
        target = Target(kind)
        program = compile_operator(desc, target)
        most = max(binding.region.size for one in program.dispatches for binding in one.bindings)
        assert most <= target.max_region + 256
        assert program.temporary_size <= 2 * attention.MOST_SCORES


def test_scores_of_one_head_at_a_time_on_cpus() -> None:
    """Whisper's encoder: 12 heads of 1,500 positions have 103 MiB of scores, one head has 9."""
    tensors = [tensor("FLOAT32", (1, 1500, 768))] * 4
    desc = dml.DML_MULTIHEAD_ATTENTION_OPERATOR_DESC(
        **dict(zip(("QueryTensor", "KeyTensor", "ValueTensor", "OutputTensor"), tensors, strict=True)),
        Scale=0.125, MaskFilterValue=-1e4, HeadCount=12, MaskType=dml.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE,
    )  # fmt: skip
    assert compile_operator(desc, Target(DeviceClass.CPU)).temporary_size < 20 << 20


def test_many_short_sequences_are_taken_together_on_cpus() -> None:
    """1,100 sequences of 16 positions have 9 MiB of scores: two parts."""
    tensors = [tensor("FLOAT32", (1100, 16, 64))] * 4
    desc = dml.DML_MULTIHEAD_ATTENTION_OPERATOR_DESC(
        **dict(zip(("QueryTensor", "KeyTensor", "ValueTensor", "OutputTensor"), tensors, strict=True)),
        Scale=0.125, MaskFilterValue=-1e4, HeadCount=8, MaskType=dml.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE,
    )  # fmt: skip
    assert len(compile_operator(desc, Target(DeviceClass.CPU)).dispatches) == 2 * 3


@pytest.mark.parametrize("data_type, bias", [("FLOAT32", False), ("FLOAT16", False), ("FLOAT16", True)])
def test_a_past_beyond_a_binding(vulkan: VulkanDevice, data_type: str, bias: bool) -> None:
    """All keys of a head fit a binding, all keys together do not."""
    case = Case((2, 2, 3, 300, 16, 8), (4, 2), lengths=True, present=True, bias=bias, data_type=data_type)
    check(open_as(vulkan, "plain", max_storage_buffer_range=1 << 15), case)


def test_broadcast_mask(device: dml.Device) -> None:
    """A stride of 0 shares one mask among all heads."""
    case = Case(mask="BOOLEAN").consistent
    inputs = data(case)
    inputs["MaskTensor"][:] = inputs["MaskTensor"][:, :1]
    sizes = inputs["MaskTensor"].shape
    _, _, queries, keys = sizes
    shared = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_INT32, sizes, (queries * keys, 0, keys, 1))
    outputs = run(device, replace(describe(case, inputs), MaskTensor=shared), inputs)
    np.testing.assert_allclose(outputs["OutputTensor"], expect(case, inputs)["OutputTensor"], 1e-5, 1e-5)


def test_everything_masked(device: dml.Device) -> None:
    """The filter value is added to masked scores, so that a fully masked row equals the unmasked result."""
    case = Case((2, 3, 4, 0, 4, 4), mask="KEY_SEQUENCE_LENGTH", filter_value=-10000.0).consistent
    inputs = data(case)
    inputs["MaskTensor"][:] = 0
    # A float32 score minus 10000 is rounded to a multiple of 2^-10.
    outputs = run(device, describe(case, inputs), inputs)
    np.testing.assert_allclose(outputs["OutputTensor"], expect(case, inputs)["OutputTensor"], 2e-3, 2e-3)


def test_large_scores(device: dml.Device) -> None:
    """Scores far beyond the range of exp()."""
    case = Case((1, 2, 5, 0, 4, 3), (1, 1)).consistent
    inputs = data(case)
    inputs["QueryTensor"] *= 300
    outputs = run(device, describe(case, inputs), inputs)
    # Scores around a thousand are rounded to 6e-5.
    np.testing.assert_allclose(outputs["OutputTensor"], expect(case, inputs)["OutputTensor"], 1e-3, 1e-3)


@settings(max_examples=10)
@given(
    sizes=st.tuples(*(st.integers(low, most) for low, most in ((1, 3), (1, 6), (1, 9), (0, 5), (1, 9), (1, 9)))),
    key_heads=st.integers(1, 2),
    each=st.integers(1, 3),
    source=st.sampled_from(SOURCES),
    mask=st.sampled_from(MASKS),
    flags=st.tuples(*[st.booleans()] * 5),
    data_type=st.sampled_from(["FLOAT32", "FLOAT16"]),
    layouts=st.tuples(*[st.sampled_from(["packed", "padded", "reversed"])] * 2),
)
def test_any(device: dml.Device, key_heads: int, each: int, flags: tuple[bool, ...], **more: Any) -> None:
    bias, relative, present, lengths, in_place = flags
    if in_place:
        more["layouts"] = (more["layouts"][0], "packed")  # caches are arrays on the device, which are packed
    check(
        device,
        Case(
            heads=(key_heads * each, key_heads),
            bias=bias,
            relative=relative,
            present=present,
            lengths=lengths,
            in_place=in_place,
            **more,
        ),
    )
