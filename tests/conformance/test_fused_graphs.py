"""The suite's graphs: the number of kernels that each form takes, and the sizes of its outputs."""

from __future__ import annotations

import pytest

from dml.compiler.scalar import substitute
from dml.compiler.target import DeviceClass, Target
from dml.conformance.case import Case, case_ids
from dml.conformance.execution import run_case
from dml.conformance.graphs import program_of
from dml.conformance.subject import subjects
from dml.graph import fusion

GPU = Target(
    DeviceClass.DISCRETE, max_workgroup_invocations=1024, max_workgroup_size=(1024, 1024, 64), shared_memory=32768,
    max_storage_buffers=16, max_push_constants=256,
)  # fmt: skip
#: Form of graph -> expected number of dispatches.
FUSED = {
    "chain": 1, "deep": 2, "many_inputs": 2, "integers_between": 1, "read_twice": 3, "small_before_large": 2,
    "wrapping": 2, "strided": 1, "turned": 1, "product_before": 1, "two_products": 2, "product_as_integers": 1,
    "product_in_other_sizes": 1, "product_read_twice": 2, "product_and_many_inputs": 2, "gelu": 1, "gelu_of_half": 1,
    "condition": 1, "quantized": 2, "bytes_between": 1,
}  # fmt: skip


@pytest.mark.parametrize("form", FUSED)
def test_kernels_of_a_form(form):
    case = Case.parse(f"GRAPH_FUSED:type=FLOAT32,form={form}")
    assert len(program_of(case.desc, GPU).dispatches) == FUSED[form]


def test_a_normalization_is_folded_into_constant_weights():
    found = [
        Case.parse(f"GRAPH_FUSED:form=normalized_convolution,constant={constant}").desc for constant in ("yes", "no")
    ]
    folded, behind = (program_of(desc, GPU) for desc in found)
    assert len(folded.initialize) > len(behind.initialize) == 0
    assert len(folded.dispatches) < len(behind.dispatches)


def test_outputs_have_the_described_sizes():
    for name in case_ids(subjects()["GRAPH_FUSED"], 2):
        desc = Case.parse(name).desc
        assert program_of(desc, GPU).outputs == [one.TotalTensorSizeInBytes for _, one in desc.outputs()], name


def test_an_epilogue_with_operands_in_the_wrong_order_fails(device, monkeypatch):
    monkeypatch.setattr(
        fusion,
        "substitute",
        lambda expression, leaves: substitute(expression, sorted(leaves, key=lambda one: one.index)),
    )
    assert run_case(device, Case.parse("GRAPH_FUSED:form=product_before,sizes=5x7"))["status"] == "failed"
