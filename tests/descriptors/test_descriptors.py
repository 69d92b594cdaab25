"""Operator descriptions against the structures of DirectML.h; binding and graph structures."""

from __future__ import annotations

import dataclasses
import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dml
from dml import DMLError


def structures():
    """Read `structures.txt`, the operators of DirectML.h in numerical order. Return, by name, the number and the fields
    (name, kind, type, optional) in C order. A ``?`` marks an optional field."""
    found = {}
    for line in Path(__file__).with_name("structures.txt").read_text().splitlines():
        if not line.startswith(" "):
            number, name = line.split()
            found[name] = int(number), (fields := [])
            continue
        what, names = line.split(":")
        fields += [(each.rstrip("?"), *what.split(), each.endswith("?")) for each in names.split()]
    return found


STRUCTURES = structures()
F32 = dml.DML_TENSOR_DATA_TYPE_FLOAT32
T4 = dml.DML_BUFFER_TENSOR_DESC(F32, (1, 1, 2, 3))


def test_every_operator_has_its_class():
    assert len(STRUCTURES) == len(dml.DML_OPERATOR_TYPE) - 1, "all but DML_OPERATOR_INVALID"
    assert [kind.name for kind in dml.operators()] == [f"DML_OPERATOR_{name}" for name in STRUCTURES]
    for name, (number, _) in STRUCTURES.items():
        desc_class = getattr(dml, f"DML_{name}_OPERATOR_DESC")
        assert dml.operators()[dml.DML_OPERATOR_TYPE(number)] is desc_class
        assert number == desc_class.OPERATOR_TYPE
    assert dml.DML_SCATTER_ELEMENTS_OPERATOR_DESC is dml.DML_SCATTER_OPERATOR_DESC


@pytest.mark.parametrize("name", STRUCTURES)
def test_fields_are_those_of_the_structure_in_c_order(name):
    desc_class = getattr(dml, f"DML_{name}_OPERATOR_DESC")
    described = [(info.name, info.kind, info.type, info.optional) for info in desc_class.fields_info]
    assert described == STRUCTURES[name][1]
    assert [field.name for field in dataclasses.fields(desc_class)] == [info.name for info in desc_class.fields_info]


@pytest.mark.parametrize("name", STRUCTURES)
def test_docstrings_have_a_summary_and_a_reference(name):
    text = " ".join(getattr(dml, f"DML_{name}_OPERATOR_DESC").__doc__.split())
    page = "dml_reverse_subsequences_desc" if name == "REVERSE_SUBSEQUENCES" else f"dml_{name.lower()}_operator_desc"
    assert text.endswith(f" Reference: {page}.")
    assert len(text) > len(page) + 60
    fields = {field for field, *_ in STRUCTURES[name][1]}
    described = set(re.findall(r"\b[A-Z]\w*Tensors?\b", text))
    assert described <= fields, "names a tensor it does not have"


def make(desc_class, **changes):
    """Return a description with a value of the right type in every required field."""
    samples = {
        "tensor": T4, "tensor_array": (T4, T4), "uint": 1, "int": -1, "float": 0.5, "bool": True,
        "uint_array": (1, 2), "int_array": (-1, 2), "float_array": (0.5, 2.0), "operator": None,
        "operator_array": (dml.DML_ACTIVATION_RELU_OPERATOR_DESC(),), "DML_SCALE_BIAS": None,
        "DML_SIZE_2D": dml.DML_SIZE_2D(1, 2), "DML_SCALAR_UNION": dml.DML_SCALAR_UNION(Int8=1),
    }  # fmt: skip
    values = {
        info.name: next(iter(info.enum)) if info.enum else samples[info.type]
        for info in desc_class.fields_info
        if info.counts is None and not info.optional
    }
    return desc_class(**{**values, **changes})


@pytest.mark.parametrize("desc_class", dml.operators().values(), ids=lambda c: c.__name__)
def test_positions_are_those_of_c(desc_class):
    desc = make(desc_class)
    values = [getattr(desc, info.name) for info in desc_class.fields_info]
    again = desc_class(*values)
    assert again == desc
    assert hash(again) == hash(desc)
    with pytest.raises(DMLError, match="fields"):
        desc_class(*values, None)


@pytest.mark.parametrize("desc_class", dml.operators().values(), ids=lambda c: c.__name__)
def test_counts_are_derived_and_checked(desc_class):
    desc = make(desc_class)
    for info in desc_class.fields_info:
        if info.counts is not None:
            length = len(getattr(desc, info.counts))
            assert getattr(desc, info.name) == length
            assert make(desc_class, **{info.name: length}) == desc
            with pytest.raises(DMLError, match=info.name):
                make(desc_class, **{info.name: length + 1})


@pytest.mark.parametrize("desc_class", dml.operators().values(), ids=lambda c: c.__name__)
def test_inputs_and_outputs_come_in_binding_order(desc_class):
    desc = make(desc_class)
    for found, kind in ((desc.inputs(), "input"), (desc.outputs(), "output")):
        assert [name for name, _ in found] == [info.name for info in desc_class.fields_info if info.kind == kind]
    assert dict([*desc.inputs(), *desc.outputs()]) == {
        info.name: getattr(desc, info.name) for info in desc_class.fields_info if info.is_tensor
    }


def test_descriptions_are_frozen():
    desc = make(dml.DML_CAST_OPERATOR_DESC)
    with pytest.raises(dataclasses.FrozenInstanceError):
        desc.InputTensor = None
    with pytest.raises(dataclasses.FrozenInstanceError):
        del desc.InputTensor


@pytest.mark.parametrize("desc_class", dml.operators().values(), ids=lambda c: c.__name__)
def test_descriptions_are_dataclasses(desc_class):
    """Covers their fields, repr, equality, and the signature that editors read."""
    desc = make(desc_class)
    names = [field.name for field in dataclasses.fields(desc)]
    assert names == [info.name for info in desc_class.fields_info]
    shown = [i.name for i in desc_class.fields_info if i.counts is None and getattr(desc, i.name) is not None]
    places = [repr(desc).find(f"{name}=") for name in shown]
    assert repr(desc).startswith(f"{desc_class.__name__}({shown[0]}=")
    assert places == sorted(places)
    assert -1 not in places
    assert list(inspect.signature(desc_class).parameters) == names
    tensor = next(info.name for info in desc_class.fields_info if info.type == "tensor" and getattr(desc, info.name))
    assert desc == dataclasses.replace(desc)
    assert desc != dataclasses.replace(desc, **{tensor: None})
    assert desc != tuple(getattr(desc, name) for name in names)


def test_values_are_taken_as_c_or_numpy_give_them():
    wrapped = dml.DML_TENSOR_DESC(dml.DML_TENSOR_TYPE_BUFFER, T4)
    relu = dml.DML_ACTIVATION_RELU_OPERATOR_DESC()
    desc = dml.DML_CONVOLUTION_OPERATOR_DESC(
        InputTensor=wrapped, FilterTensor=T4, OutputTensor=T4, Mode=1, Direction=np.int64(0), Strides=np.array([1, 2]),
        Dilations=[1, np.uint8(1)], StartPadding=(0, 0), EndPadding=range(2), OutputPadding=[0, 0],
        GroupCount=np.int32(1), FusedActivation=dml.DML_OPERATOR_DESC(dml.DML_OPERATOR_ACTIVATION_RELU, relu),
    )  # fmt: skip
    assert desc.InputTensor is T4
    assert desc.BiasTensor is None
    assert desc.Mode is dml.DML_CONVOLUTION_MODE_CROSS_CORRELATION
    assert desc.Strides == (1, 2)
    assert desc.EndPadding == (0, 1)
    assert desc.DimensionCount == 2
    assert desc.FusedActivation is relu
    assert {type(item) for item in (*desc.Strides, *desc.Dilations, desc.GroupCount)} == {int}


def test_booleans_are_c_integers():
    for given, kept in ((1, True), (0, False), (np.bool_(True), True), (True, True)):
        assert make(dml.DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC, CrossChannel=given).CrossChannel is kept


def test_replace_lets_counts_follow():
    desc = make(dml.DML_REDUCE_OPERATOR_DESC, Axes=(0, 1)).replace(Axes=(3,))
    assert (desc.Axes, desc.AxisCount) == ((3,), 1)


def test_a_fused_activation_needs_no_tensors():
    desc = dml.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC(Alpha=0.1)
    assert (desc.InputTensor, desc.OutputTensor) == (None, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "InputTensor, OutputTensor must be given"),
        ({"InputTensor": T4, "OutputTensor": T4, "Axis": 1}, "has no field Axis"),
    ],
)
def test_missing_and_unknown_fields_are_refused(arguments, message):
    with pytest.raises(DMLError, match=f"DML_CAST_OPERATOR_DESC: {message}"):
        dml.DML_CAST_OPERATOR_DESC(**arguments)


def test_a_field_is_given_once():
    with pytest.raises(DMLError, match="both by position and by name"):
        dml.DML_CAST_OPERATOR_DESC(T4, InputTensor=T4, OutputTensor=T4)


def test_operator_desc_holds_the_description_of_its_type():
    cast = make(dml.DML_CAST_OPERATOR_DESC)
    assert dml.unwrap(dml.DML_OPERATOR_DESC(61, cast)) is cast
    assert dml.DML_OPERATOR_DESC(61, cast).Type is dml.DML_OPERATOR_CAST
    with pytest.raises(DMLError, match=r"DML_OPERATOR_DESC\.Type"):
        dml.DML_OPERATOR_DESC(dml.DML_OPERATOR_GRU, cast)
    with pytest.raises(DMLError, match=r"DML_OPERATOR_DESC\.Desc"):
        dml.DML_OPERATOR_DESC(dml.DML_OPERATOR_GRU, T4)


def test_binding_structures():
    one = dml.DML_BUFFER_BINDING(None)
    assert (one.Offset, one.SizeInBytes) == (0, 0)
    array = dml.DML_BUFFER_ARRAY_BINDING([one, one])
    assert array.BindingCount == 2
    assert dml.DML_BINDING_DESC(2, array).Type is dml.DML_BINDING_TYPE_BUFFER_ARRAY
    assert dml.DML_BINDING_DESC(dml.DML_BINDING_TYPE_NONE).Desc is None
    for wrong in (
        lambda: dml.DML_BUFFER_ARRAY_BINDING([one], BindingCount=2),
        lambda: dml.DML_BUFFER_ARRAY_BINDING([4]),
        lambda: dml.DML_BINDING_DESC(dml.DML_BINDING_TYPE_BUFFER, array),
        lambda: dml.DML_BINDING_DESC(7),
        lambda: dml.DML_FEATURE_QUERY_FEATURE_LEVELS([1]),
        lambda: dml.DML_FEATURE_QUERY_FEATURE_LEVELS([dml.DML_FEATURE_LEVEL_1_0], RequestedFeatureLevelCount=2),
    ):
        with pytest.raises(DMLError):
            wrong()


def test_graph_wraps_nodes_and_edges():
    node = dml.DML_OPERATOR_GRAPH_NODE_DESC(object(), "first")
    constant = dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(np.arange(2, dtype=np.int32))
    assert (constant.DataSize, constant.Data) == (8, b"\0\0\0\0\1\0\0\0")
    graph = dml.DML_GRAPH_DESC(
        InputCount=1, OutputCount=1, Nodes=[node, dml.DML_GRAPH_NODE_DESC(dml.DML_GRAPH_NODE_TYPE_CONSTANT, constant)],
        InputEdges=[dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 0)],
        IntermediateEdges=[dml.DML_INTERMEDIATE_GRAPH_EDGE_DESC(1, 0, 0, 1)],
        OutputEdges=[dml.DML_OUTPUT_GRAPH_EDGE_DESC(0, 0, 0)],
    )  # fmt: skip
    assert [item.Type for item in graph.Nodes] == [dml.DML_GRAPH_NODE_TYPE_OPERATOR, dml.DML_GRAPH_NODE_TYPE_CONSTANT]
    assert graph.Nodes[0].Desc is node
    assert graph.InputEdges[0].Type is dml.DML_GRAPH_EDGE_TYPE_INPUT
    assert graph.OutputEdges[0].Desc == dml.DML_OUTPUT_GRAPH_EDGE_DESC(0, 0, 0)
    assert (graph.NodeCount, graph.InputEdgeCount, graph.OutputEdgeCount, graph.IntermediateEdgeCount) == (2, 1, 1, 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"Nodes": [4]},
        {"Nodes": 4},
        {"NodeCount": 2},
        {"OutputEdges": [dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 0)]},
        {"OutputEdgeCount": 3},
    ],
)
def test_graph_refuses(changes):
    good = {
        "InputCount": 0, "OutputCount": 1, "Nodes": [dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(b"1234")],
        "OutputEdges": [dml.DML_OUTPUT_GRAPH_EDGE_DESC(0, 0, 0)],
    }  # fmt: skip
    assert dml.DML_GRAPH_DESC(**good).NodeCount == 1
    with pytest.raises(DMLError, match="DML_GRAPH_DESC"):
        dml.DML_GRAPH_DESC(**{**good, **changes})


def test_importing_describing_and_validating_needs_no_device():
    program = """
import sys
sys.modules["kp"] = sys.modules["vulkan"] = None
import dml
tensor = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (4,))
dml.validate(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(tensor, tensor))
assert dml.operator_support(dml.DML_OPERATOR_GRU)
assert not any(name.startswith(("dml.runtime", "dml.api.device")) for name in sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_unknown_names_of_the_package_are_attribute_errors():
    assert {"create_device", "dispatch", "DML_OPERATOR_GRU"} <= set(dir(dml))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = dml.no_such_name  # type: ignore[attr-defined]
