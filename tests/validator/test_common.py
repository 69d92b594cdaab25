"""The rules that all operators share: tensors, attributes, equality constraints, fused activations; and the class
Check."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dml
from dml import DMLError, validator
from dml.validator import common
from dml.validator.base import ALSO_FUSABLE, FUSABLE_ACTIVATIONS, Check, rule
from dml.validator.common import elements_overlap
from sample_descriptors import NAMES, sample

F32, F16 = dml.DML_TENSOR_DATA_TYPE_FLOAT32, dml.DML_TENSOR_DATA_TYPE_FLOAT16
U32, F64 = dml.DML_TENSOR_DATA_TYPE_UINT32, dml.DML_TENSOR_DATA_TYPE_FLOAT64
OWNED = dml.DML_TENSOR_FLAG_OWNED_BY_DML


def tensor(*sizes, of=F32, **more):
    return dml.DML_BUFFER_TENSOR_DESC(of, sizes, **more)


def identity(input_=None, output=None, **more):
    given = input_ or output or tensor(1, 1, 2, 3)
    return dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(input_ or given, output or given, **more)


def convolution(**changes):
    fields = {
        "InputTensor": tensor(1, 1, 4, 4), "FilterTensor": tensor(1, 1, 2, 2), "OutputTensor": tensor(1, 1, 3, 3),
        "Mode": 1, "Direction": 0, "Strides": (1, 1), "Dilations": (1, 1), "StartPadding": (0, 0),
        "EndPadding": (0, 0), "OutputPadding": (0, 0), "GroupCount": 1,
    }  # fmt: skip
    return dml.DML_CONVOLUTION_OPERATOR_DESC(**{**fields, **changes})


def gemm(**changes):
    fields = {"ATensor": tensor(1, 1, 2, 2), "BTensor": tensor(1, 1, 2, 2), "OutputTensor": tensor(1, 1, 2, 2),
              "TransA": 0, "TransB": 0, "Alpha": 1.0, "Beta": 0.0}  # fmt: skip
    return dml.DML_GEMM_OPERATOR_DESC(**{**fields, **changes})


def refused(desc, message, level=dml.DML_FEATURE_LEVEL_6_4):
    with pytest.raises(DMLError) as caught:
        dml.validate(desc, level)
    assert caught.value.hresult is dml.HRESULT.E_INVALIDARG
    assert re.search(message, caught.value.message), caught.value.message


def test_valid_descriptions_are_accepted_in_any_wrapper():
    desc = identity()
    assert dml.validate(desc) is None
    dml.validate(dml.DML_OPERATOR_DESC(dml.DML_OPERATOR_ELEMENT_WISE_IDENTITY, desc))
    wrapped = dml.DML_TENSOR_DESC(dml.DML_TENSOR_TYPE_BUFFER, tensor(4))
    dml.validate(identity(wrapped, wrapped))


@pytest.mark.parametrize("wrong", [None, 5, "GRU", tensor(4)])
def test_needs_a_description(wrong):
    with pytest.raises(DMLError, match="operator description"):
        dml.validate(wrong)


def test_needs_a_feature_level():
    with pytest.raises(DMLError, match="feature level"):
        dml.validate(identity(), 7)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (tensor(2, 0), r"IDENTITY\.InputTensor\.Sizes: .*found \(2, 0\)"),
        (tensor(2, -1), r"Sizes"),
        (tensor(), r"DimensionCount: must be from 1 to 8 at feature level 6_4, found 0"),
        (tensor(*[1] * 9), r"DimensionCount: must be from 1 to 8 at feature level 6_4, found 9"),
        (tensor(2, 3, Strides=(1,)), r"Strides: must have as many items as Sizes, 2"),
        (tensor(2, 3, Strides=(3, -1)), r"Strides: must be integers from 0"),
        (tensor(2, 3, Strides=(3, 2**32)), r"Strides: must be integers from 0"),
        (tensor(2**16, 2**16), r"Sizes: must not hold more than 4294967295 elements"),
        (tensor(2, 2, Strides=(2**32 - 2, 2)), r"Strides: must not span more than 4294967295 elements"),
        (tensor(2, 3, TotalTensorSizeInBytes=20), r"TotalTensorSizeInBytes: must be at least 24.*found 20"),
        (tensor(2, 3, TotalTensorSizeInBytes=26), r"TotalTensorSizeInBytes: must be a multiple of 4, found 26"),
        (tensor(2, GuaranteedBaseOffsetAlignment=24), r"GuaranteedBaseOffsetAlignment: .*found 24"),
        (tensor(2, GuaranteedBaseOffsetAlignment=2), r"at least the element size, 4, found 2"),
        (tensor(2, of=0), r"DataType: must be a known data type"),
        (tensor(2, Flags=2), r"Flags: must be DML_TENSOR_FLAGS"),
    ],
)
def test_ill_formed_tensors(bad, message):
    refused(identity(bad, tensor(2, 3)), message)


@pytest.mark.parametrize(
    "good",
    [
        tensor(1),
        tensor(*[1] * 8),
        tensor(2, 3, Strides=(0, 0)),
        tensor(2, 3, Strides=(1, 1)),
        tensor(2, 3, TotalTensorSizeInBytes=256),
        tensor(2, 3, GuaranteedBaseOffsetAlignment=64),
        tensor(2, 3, Flags=OWNED),
        tensor(2**16, 2**16 - 1),
    ],
)
def test_well_formed_inputs(good):
    dml.validate(identity(good, tensor(*good.Sizes)))


def test_more_than_five_dimensions_need_3_0():
    six = tensor(*[1] * 6)
    dml.validate(identity(six), dml.DML_FEATURE_LEVEL_3_0)
    refused(
        identity(six), r"DimensionCount: must be from 1 to 5 at feature level 2_1, found 6", dml.DML_FEATURE_LEVEL_2_1
    )


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (tensor(2, 3, Flags=OWNED), r"OutputTensor\.Flags: must not have DML_TENSOR_FLAG_OWNED_BY_DML"),
        (tensor(2, 3, Strides=(0, 1)), r"OutputTensor\.Strides: .*overlap, found \(0, 1\)"),
        (tensor(2, 3, Strides=(2, 1)), r"overlap"),
    ],
)
def test_outputs(bad, message):
    refused(identity(tensor(2, 3), bad), message)


@pytest.mark.parametrize("strides", [(3, 1), (1, 2), (8, 2), (5, 2), (2, 3)])
def test_outputs_with_gaps_and_in_any_order(strides):
    dml.validate(identity(tensor(2, 3), tensor(2, 3, Strides=strides)))


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 24)), min_size=1, max_size=5))
@settings(max_examples=500)
def test_overlap_is_exact(dimensions):
    sizes, strides = (tuple(part) for part in zip(*dimensions, strict=True))
    indices = [
        sum(c * s for c, s in zip(coordinates, strides, strict=True))
        for coordinates in itertools.product(*map(range, sizes))
    ]
    assert elements_overlap(sizes, strides) is (len(set(indices)) < len(indices))


def test_overlap_of_large_interleaved_layouts_is_found_quickly():
    assert not elements_overlap((1000, 1000, 1000), (1000, 1, 1_000_000))
    assert not elements_overlap((1000, 999), (999, 1000))  # coprime strides: the first collision is just outside
    assert elements_overlap((1001, 1000), (999, 1000)) is (math.gcd(999, 1000) != 1 or (1001 > 1000 and 1000 > 999))
    assert elements_overlap((64, 64, 64, 64), (65, 64 * 65, 1, 4097))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"GroupCount": -1}, r"GroupCount: must be an integer from 0 to 4294967295, found -1"),
        ({"GroupCount": 2**32}, r"GroupCount"),
        ({"Dilations": (1,)}, r"Dilations: must have 2 item\(s\), as Strides, found 1"),
        ({"InputTensor": None}, r"InputTensor: is required at feature level 6_4"),
    ],
)
def test_attributes(changes, message):
    refused(convolution(**changes), message)


@pytest.mark.parametrize(
    ("desc", "message"),
    [
        (
            dml.DML_DIAGONAL_MATRIX_OPERATOR_DESC(tensor(1, 1, 2, 2), 2**31, 1.0),
            r"DIAGONAL_MATRIX\.Offset: must be an integer from -2147483648 to 2147483647",
        ),
        (
            dml.DML_UPSAMPLE_2D_OPERATOR_DESC(tensor(1, 1, 2, 2), tensor(1, 1, 2, 2), dml.DML_SIZE_2D(0, 1), 0),
            r"ScaleSize\.Width: must be an integer from 1",
        ),
        (dml.DML_JOIN_OPERATOR_DESC(InputTensors=(), OutputTensor=tensor(2), Axis=0), r"InputTensors: .*at least one"),
    ],
)  # fmt: skip
def test_attributes_out_of_range(desc, message):
    refused(desc, message)


FLOAT_MAX = float(np.finfo(np.float32).max)


@pytest.mark.parametrize("value", [math.inf, -math.inf, 0, 1e-300, FLOAT_MAX, -FLOAT_MAX])
def test_floats_must_fit_float32(value):
    dml.validate(gemm(Alpha=value))


def with_number(desc, info, number):
    """Return the description with this number in a FLOAT field, or in one of several."""
    value = getattr(desc, info.name)
    if info.type == "DML_SCALE_BIAS":
        return desc.replace(**{info.name: dml.DML_SCALE_BIAS(1.0, number)})
    return desc.replace(**{info.name: number if info.type == "float" else (number, *value[1:])})


@pytest.mark.parametrize("name", NAMES)
def test_every_float_is_a_number_that_float32_holds(name):
    """NaN is refused too, except where it becomes elements of the output."""
    desc = sample(name)
    for info in desc.fields_info:
        if info.type not in ("float", "float_array", "DML_SCALE_BIAS") or getattr(desc, info.name) in (None, ()):
            continue
        for bad in (1e39, -1e39, 10**400, -(10**5000)):
            refused(with_number(desc, info, bad), rf"{info.name}.*must be an infinity or a number that float32 holds")
        if info.name in ("PaddingValue", "Value", "OutOfBoundsInputValue"):
            dml.validate(with_number(desc, info, math.nan))
        else:
            refused(with_number(desc, info, math.nan), rf"{info.name}.*must not be NaN, found nan")
        if info.name == "Epsilon":
            dml.validate(desc.replace(Epsilon=0))
            refused(desc.replace(Epsilon=-1e-9), "Epsilon: must be at least 0")


@pytest.mark.parametrize("union", [dml.DML_SCALAR_UNION(Float32=math.nan), dml.DML_SCALAR_UNION(UInt16=0x7E00)])
def test_nan_in_a_scalar_union_is_one_of_its_data_type(union):
    kind = F32 if math.isnan(union.Float32) else F16
    x, low = tensor(4, of=kind), dml.DML_SCALAR_UNION(UInt32=0)
    clip = dml.DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC(x, x, None, kind, low, union)
    refused(clip, r"CLIP1\.Max: must not be NaN")
    integers = tensor(4, of=U32)
    dml.validate(dml.DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC(integers, integers, None, U32, low, union))
    dml.validate(dml.DML_FILL_VALUE_CONSTANT_OPERATOR_DESC(x, kind, union))
    refused(dml.DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC(x, kind, low, union), "ValueDelta: must not be NaN")


def test_fused_activations_have_no_nan():
    elu = dml.DML_ACTIVATION_ELU_OPERATOR_DESC(Alpha=math.nan)
    refused(gemm(FusedActivation=elu), r"FusedActivation\.ACTIVATION_ELU\.Alpha: must not be NaN")


@pytest.mark.parametrize(
    ("mode", "since", "before"),
    [("SYMMETRIC", dml.DML_FEATURE_LEVEL_3_0, dml.DML_FEATURE_LEVEL_2_1),
     ("WRAP", dml.DML_FEATURE_LEVEL_6_4, dml.DML_FEATURE_LEVEL_6_3)],
)  # fmt: skip
def test_enumerators_have_a_level(mode, since, before):
    desc = dml.DML_PADDING_OPERATOR_DESC(
        InputTensor=tensor(1, 1, 2, 2), OutputTensor=tensor(1, 1, 2, 3), StartPadding=(0, 0, 0, 0),
        PaddingMode=dml.DML_PADDING_MODE[f"DML_PADDING_MODE_{mode}"], PaddingValue=0, EndPadding=(0, 0, 0, 1),
    )  # fmt: skip
    dml.validate(desc, since)
    refused(desc, f"PADDING.PaddingMode: DML_PADDING_MODE_{mode} is available from feature level", before)


def test_operators_have_a_level():
    desc = dml.DML_ACTIVATION_GELU_OPERATOR_DESC(tensor(4), tensor(4))
    dml.validate(desc, dml.DML_FEATURE_LEVEL_5_1)
    refused(desc, r"ACTIVATION_GELU\.Type: is available from feature level 5_1 on", dml.DML_FEATURE_LEVEL_5_0)


def test_data_types_and_dimension_counts_have_a_level():
    dml.validate(identity(tensor(1, 1, 1, 2, of=F64)), dml.DML_FEATURE_LEVEL_4_1)
    refused(identity(tensor(1, 1, 1, 2, of=F64)), r"DataType: must be one of .* at feature level 4_0, found \w+FLOAT64",
            dml.DML_FEATURE_LEVEL_4_0)  # fmt: skip
    refused(identity(tensor(2)), r"DimensionCount: must be 4 to 5 at feature level 2_1, found 1",
            dml.DML_FEATURE_LEVEL_2_1)  # fmt: skip


def test_reduce_uses_its_functions_table():
    fields = {"InputTensor": tensor(4, of=U32), "OutputTensor": tensor(1, of=U32), "Axes": (0,)}
    dml.validate(dml.DML_REDUCE_OPERATOR_DESC(Function=dml.DML_REDUCE_FUNCTION_SUM, **fields))
    refused(dml.DML_REDUCE_OPERATOR_DESC(Function=dml.DML_REDUCE_FUNCTION_AVERAGE, **fields), r"InputTensor\.DataType")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (tensor(2, 3, of=F16), r"OutputTensor: must have the data type of InputTensor, \w+FLOAT32, found \w+FLOAT16"),
        (tensor(1, 2, 3), r"OutputTensor: must have the dimension count of InputTensor, 2, found 3"),
        (tensor(3, 2), r"OutputTensor: must have the sizes of InputTensor, \(2, 3\), found \(3, 2\)"),
    ],
)
def test_equality_constraints(other, message):
    refused(identity(tensor(2, 3), other), message)


def test_equality_constraints_leave_absent_tensors_out():
    dml.validate(gemm())
    dml.validate(gemm(CTensor=tensor(1, 1, 2, 2)))
    refused(gemm(CTensor=tensor(1, 1, 2, 1)), r"sizes of")


def activation(kind, **more):
    desc_class = dml.operators()[kind]
    values = {
        info.name: {"float": 0.5, "uint_array": (3,)}.get(info.type)
        for info in desc_class.fields_info if not info.is_tensor and info.counts is None
    }  # fmt: skip
    # values below 1 only from feature level 6_4 on
    values.update({"Steepness": 1.0} if "Steepness" in values else {})
    return desc_class(**{**values, **more})


@pytest.mark.parametrize("kind", sorted(FUSABLE_ACTIVATIONS), ids=lambda kind: kind.name)
def test_fusable_activations(kind):
    since = dml.capability.operator_introduced(kind)
    dml.validate(gemm(FusedActivation=activation(kind)), since)
    earlier = [level for level in dml.DML_FEATURE_LEVEL if level < since]
    if earlier:
        refused(gemm(FusedActivation=activation(kind)), r"GEMM\.FusedActivation: can be fused from", earlier[-1])


@pytest.mark.parametrize("kind", sorted(set(dml.operators()) - FUSABLE_ACTIVATIONS), ids=lambda kind: kind.name)
def test_only_listed_activations_fuse(kind):
    desc_class = dml.operators()[kind]
    fused = object.__new__(desc_class)  # the contents of its fields are never read
    for info in desc_class.fields_info:
        object.__setattr__(fused, info.name, None)
    add1 = dml.DML_ELEMENT_WISE_ADD1_OPERATOR_DESC(tensor(4), tensor(4), tensor(4), fused)
    refused(add1, r"ELEMENT_WISE_ADD1\.FusedActivation: must be an activation that can be fused here")


@pytest.mark.parametrize("kind", ALSO_FUSABLE[dml.DML_OPERATOR_GEMM], ids=lambda kind: kind.name)
def test_gemm_fuses_more_from_a_level_on(kind):
    desc = gemm(FusedActivation=activation(kind))
    since = ALSO_FUSABLE[dml.DML_OPERATOR_GEMM][kind]
    dml.validate(desc, since)
    refused(desc, "can be fused from", max(level for level in dml.DML_FEATURE_LEVEL if level < since))


@pytest.mark.parametrize(
    ("fused", "message"),
    [
        (dml.DML_ACTIVATION_RELU_OPERATOR_DESC(InputTensor=tensor(1)), r"FusedActivation\.InputTensor: must be None"),
        (dml.DML_ACTIVATION_RELU_OPERATOR_DESC(OutputTensor=tensor(1)), r"FusedActivation\.OutputTensor: must be None"),
        (
            dml.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC(Axes=(-1,)),
            r"FusedActivation\.ACTIVATION_SOFTMAX1\.Axes\[0\]: must be an integer from 0",
        ),
        (dml.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC(Axes=(4,)), r"FusedActivation\.Axes: .*found \(4,\)"),
    ],
)
def test_fused_activations_are_checked_inside(fused, message):
    refused(gemm(FusedActivation=fused), message)


# --- the Check, as rules use it


def check_of(**fields):
    values = {"InputTensor": tensor(2, 3, 4), "OutputTensor": tensor(2, 3, 4), "Axes": (1,), "Epsilon": 0.5,
              "NormalizeVariance": True}  # fmt: skip
    desc = dml.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(**{**values, **fields})
    return Check(desc, dml.DML_FEATURE_LEVEL_6_4)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        (lambda c: c.that(True, "Axes", "no"), lambda c: c.that(False, "Axes", "wrong", 7), r"Axes: wrong, found 7"),
        (lambda c: c.in_range("Epsilon", 0, 1), lambda c: c.in_range("Epsilon", 1, 2), r"Epsilon: must be from 1 to"),
        (lambda c: c.in_range("Axes", 0, 1), lambda c: c.in_range("Axes", 2, 3), r"Axes: must be from 2 to 3"),
        (lambda c: c.at_least("Epsilon", 0.5), lambda c: c.at_least("Epsilon", 1), r"at least 1, found 0.5"),
        (lambda c: c.length("Axes", 1), lambda c: c.length("Axes", 2), r"Axes: must have 2 item\(s\), found 1"),
        (lambda c: c.sizes("InputTensor", [2, 3, 4]), lambda c: c.sizes("InputTensor", (2, 3), "as told"),
         r"InputTensor: must have sizes \(2, 3\) \(as told\), found \(2, 3, 4\)"),
        (lambda c: c.size("InputTensor", -1, 4), lambda c: c.size("InputTensor", 1, 4), r"size 4 in"),
        (lambda c: c.sizes("BiasTensor", (9,)), lambda c: c.size("InputTensor", 3, 4), r"size 4 in dimension 3"),
        (lambda c: c.broadcastable("InputTensor", (2, 3, 4)), lambda c: c.broadcastable("InputTensor", (3, 4)),
         r"must broadcast to sizes \(3, 4\)"),
        (
            lambda c: c.not_owned("InputTensor", "BiasTensor"),
            lambda c: c.present("BiasTensor", "ScaleTensor", at_least=1),
            r"at least 1 of BiasTensor, ScaleTensor must be given",
        ),
    ],
)  # fmt: skip
def test_check_methods(right, wrong, message):
    check = check_of()
    right(check)
    with pytest.raises(DMLError, match=f"^MEAN_VARIANCE_NORMALIZATION1.*{message}"):
        wrong(check)


@pytest.mark.parametrize(("axes", "message"), [((3,), "from 0 to 2"), ((0, 0), "different dimensions")])
def test_axes(axes, message):
    with pytest.raises(DMLError, match=message):
        check_of(Axes=axes).axes("Axes", of="InputTensor")


def test_broadcast_of_sizes_follows_numpy():
    for sizes in itertools.product((1, 2, 3), repeat=2):
        check = check_of(BiasTensor=tensor(*sizes))
        try:
            fits = np.broadcast_shapes(sizes, (2, 3)) == (2, 3)
        except ValueError:
            fits = False
        if fits:
            check.broadcastable("BiasTensor", (2, 3))
        else:
            with pytest.raises(DMLError, match="broadcast"):
                check.broadcastable("BiasTensor", (2, 3))


@pytest.mark.parametrize(
    ("sizes", "axis", "count", "takes"),
    [
        ((1, 1, 1), 1, 4, True),
        ((1, 4, 1), 1, 4, True),
        ((1, 1, 4), 1, 4, False),
        ((1, 4, 4), 1, 4, False),
        ((1, 3, 1), 1, 4, False),
        ((4,), 1, 4, True),  # with a single dimension, axis 1 means this one
        ((4, 1), -2, 4, True),
        ((1, 4), -2, 4, False),
        ((4,), -2, 4, True),  # and so does axis -2
        ((3,), -2, 4, False),
    ],
)
def test_one_element_or_several_along_an_axis(sizes, axis, count, takes):
    check = check_of(BiasTensor=tensor(*sizes))
    if takes:
        check.one_or_along("BiasTensor", axis, count)
    else:
        with pytest.raises(DMLError, match=r"BiasTensor: must have size 1, or 4 in dimension \d, and size 1 in all"):
            check.one_or_along("BiasTensor", axis, count)
    with pytest.raises(DMLError, match=r"must have size 1 in every dimension, found \(2, 1\)"):
        check_of(BiasTensor=tensor(2, 1)).one_or_along("BiasTensor", 1, 1)


def test_not_owned():
    with pytest.raises(DMLError, match=r"InputTensor: does not support DML_TENSOR_FLAG_OWNED_BY_DML"):
        check_of(InputTensor=tensor(2, Flags=OWNED)).not_owned("InputTensor")


def test_an_operator_has_one_rule():
    with pytest.raises(RuntimeError, match="two rules"):
        rule(dml.DML_GEMM_OPERATOR_DESC)(lambda desc, check: None)


def test_an_equal_description_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = []
    plain = common.check_operator
    monkeypatch.setattr(validator, "check_operator", lambda check: (checked.append(check.desc), plain(check)))

    def addition(rows: int, level: dml.DML_FEATURE_LEVEL = dml.DML_FEATURE_LEVEL_6_4) -> None:
        x = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (rows, 7919))
        dml.validate(dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(x, x, x), level)

    for rows in (1, 2, 1, 2):
        addition(rows)
    assert len(checked) == 2
    addition(1, dml.DML_FEATURE_LEVEL_5_0)
    assert len(checked) == 3


def test_a_wrong_description_is_refused_each_time() -> None:
    x, y = (dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, sizes) for sizes in ((3, 5), (5, 3)))
    for _ in range(2):
        with pytest.raises(dml.DMLError, match=r"ELEMENT_WISE_ADD\.BTensor: must have the sizes"):
            dml.validate(dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(x, y, x))
