"""Large results are judged by a sample of their elements: the sample's reference equals the whole one's, and errors in
it are found."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml.conformance import samples
from dml.conformance.case import Case
from dml.conformance.execution import run_case
from dml.tuning import tuner as tuning
from dml.tuning.works import FAMILIES, works

CASES = [
    "GEMM:type=FLOAT32,sizes=70x33x65,batch=2x3,c=yes,beta=2.5",
    "GEMM:type=FLOAT16,sizes=70x33x65,trans_a=yes,trans_b=yes",
    "MATRIX_MULTIPLY_INTEGER:type=INT8,b_type=UINT8,sizes=34x48x36",
    "CONVOLUTION:type=FLOAT32,sizes=2x3x9x8,outputs=19,groups=5,padding=1,strides=2,bias=yes",
    "MULTIHEAD_ATTENTION:type=FLOAT32,sizes=2x33x35x0x16x24,heads=5",
    "GRU:type=FLOAT32,sizes=3x4x7x33,direction=BIDIRECTIONAL,bias=yes,start=yes,lengths=yes",
    "LSTM:type=FLOAT16,sizes=3x4x7x33,bias=yes,start=yes",
    "RNN:type=FLOAT32,sizes=3x4x7x33",
    "ACTIVATION_SOFTMAX:type=FLOAT32,sizes=70x31",
    "ACTIVATION_LOG_SOFTMAX:type=FLOAT16,sizes=1x1x9x64",
]


@pytest.mark.parametrize("name", CASES)
def test_samples_have_the_results_of_the_whole(name):
    case = Case.parse(name)
    desc, inputs = case.desc, case.inputs()
    part = samples.sample(desc, np.random.default_rng(0))
    dml.validate(part.desc)
    whole, some = (case.subject.reference(*of) for of in ((desc, inputs), (part.desc, part.of(inputs))))
    for output, expected in some.items():
        assert 0 < expected.values.size < whole[output].values.size
        np.testing.assert_allclose(expected.values, whole[output].values[part.outputs[output]], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [
    "GEMM:type=FLOAT32,activation=SOFTMAX", "CONVOLUTION:type=FLOAT32,direction=BACKWARD",
    "MULTIHEAD_ATTENTION:type=FLOAT32,mask=BOOLEAN", "ACTIVATION_SOFTMAX:type=FLOAT32,sizes=13", "CAST:type=FLOAT32",
])  # fmt: skip
def test_operators_without_samples_are_judged_whole(name):
    assert samples.sample(Case.parse(name).desc, np.random.default_rng(0)) is None


@pytest.mark.parametrize("name", CASES)
def test_errors_in_the_part_are_seen(monkeypatch, name):
    case = Case.parse(name)
    desc, inputs = case.desc, case.inputs()
    reference = case.subject.reference(desc, inputs)
    outputs = {field: expected.values.astype(getattr(desc, field).dtype) for field, expected in reference.items()}
    for least in (1 << 60, 0):  # first judge all elements, then a sample
        monkeypatch.setattr(samples, "LARGE", least)
        assert samples.judge(desc, inputs, outputs) == ""
        for field, array in outputs.items():
            wrong = array.copy()
            wrong.reshape(-1)[-1] += 2  # samples include the last row and column
            said = samples.judge(desc, inputs, {**outputs, field: wrong})
            if least or name.startswith(("GEMM", "MATRIX", "ACTIVATION", "RNN")):
                assert said.startswith(field), (least, field)


@pytest.mark.parametrize("name", CASES[:6])
def test_large_cases_run_by_parts_and_agree_with_the_portable_kernel(device, monkeypatch, name):
    monkeypatch.setattr(samples, "LARGE", 0)
    outcome = run_case(device, Case.parse(name))
    assert outcome["status"] == "passed", outcome["reason"]
    monkeypatch.setattr(samples, "disagreement", lambda found, portable: "differs")
    outcome = run_case(device, Case.parse(name))
    assert (outcome["status"], outcome["reason"]) == ("failed", outcome["reason"])
    assert outcome["reason"].endswith(" differs")


def test_disagreement_is_more_than_another_order_of_sums():
    ones = np.ones((2, 3), np.float32)
    assert samples.disagreement(ones * np.float32(1 + 1e-6), ones) == ""
    wrong = ones.copy()
    wrong[1, 2] = 1.01
    assert samples.disagreement(wrong, ones).startswith("at [1, 2]: found 1.01, the portable kernel 1.0; 1 elements")
    assert samples.disagreement(np.array([1, 2]), np.array([1, 3])).startswith("at [1]: found 2, the portable kernel 3")


@pytest.mark.parametrize("family", FAMILIES)
def test_works_of_tuning_have_parts(family):
    for work in works(family):
        part = samples.sample(work.desc, np.random.default_rng(0))
        if samples.multiplications(work.desc) >= samples.LARGE:
            dml.validate(part.desc)
            assert samples.multiplications(part.desc) < samples.LARGE / 3


def test_a_wrong_variant_is_not_timed(vulkan, monkeypatch, tmp_path):
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path))
    work = next(one for one in works("product") if one.name.startswith("FLOAT32 128"))
    lines, timed, judged = [], [], []

    def judge(desc, inputs, outputs):
        judged.append(samples.judge(desc, inputs, outputs))
        return judged[-1] if len(judged) == 1 else "at [0]: wrong"

    def timer(variant, commands):
        timed.append(variant)
        return 1e-3

    tuner = tuning.Tuner(vulkan, lines.append, judge=judge, timer=timer, clock=lambda: 0.0)
    tuner.measure(work, 1e9)
    if not judged:
        pytest.skip("the device has one variant of the product")
    assert judged == [""] * len(judged)
    assert len(judged) > 1
    assert len(set(timed)) == 1  # only the default variant was timed
    assert any("is wrong and is excluded: at [0]: wrong" in line for line in lines)
    lines.clear()
    tuning.Tuner(vulkan, lines.append, judge=lambda *_: "no", timer=timer, clock=lambda: 0.0).measure(work, 1e9)
    assert any("is wrong, nothing is measured: no" in line for line in lines)
