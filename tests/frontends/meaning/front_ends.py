"""Run one operation on the same arrays through each front end."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper

import dml
from dml.frontends import openvino, pydirectml, webnn
from dml.frontends.onnx import prepare

Array = npt.NDArray[Any]


class FrontEndCase(NamedTuple):
    """An operation. runs: a function per front end that runs it on a device; takes a folder for its files. reference:
    result in float64. tolerance: absolute, for results around 1."""

    name: str
    runs: dict[str, Callable[[dml.Device, Path], Sequence[Array]]]
    reference: Callable[[], Sequence[Array]]
    tolerance: float = 2e-5


def by_onnx(
    device: dml.Device, operator: str, arrays: Sequence[Array | None], *, constants: Sequence[int] = (),
    version: int = 21, outputs: Sequence[str] = ("y",), result: npt.DTypeLike | None = None, **attributes: Any,
) -> list[Array]:  # fmt: skip
    """Run an ONNX node. arrays: None for an omitted input. constants: positions of inputs that are initializers.
    result: dtype of the outputs, by default the first input's."""
    names = ["" if array is None else f"x{at}" for at, array in enumerate(arrays)]
    given = [(at, array) for at, array in enumerate(arrays) if array is not None]
    node = helper.make_node(operator, names, list(outputs), **attributes)
    kinds = {at: helper.np_dtype_to_tensor_dtype(array.dtype) for at, array in given}
    inputs = [
        helper.make_tensor_value_info(f"x{at}", kinds[at], array.shape) for at, array in given if at not in constants
    ]
    kept = [onnx.numpy_helper.from_array(array, f"x{at}") for at, array in given if at in constants]
    kind = kinds[0] if result is None else helper.np_dtype_to_tensor_dtype(np.dtype(result))
    results = [helper.make_tensor_value_info(name, kind, None) for name in outputs if name]
    graph = helper.make_graph([node], "g", inputs, results, kept)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])
    return list(map(np.asarray, prepare(model, device).run([array for at, array in given if at not in constants])))


def by_webnn(device: dml.Device, make: Callable[..., Any], *arrays: Array) -> list[Array]:
    """Run a WebNN operation. make(builder, *operands): calls a method of MLGraphBuilder."""
    context = webnn.create_context(device)
    builder = webnn.MLGraphBuilder(context)
    inputs = [
        builder.input(f"x{index}", webnn.MLOperandDescriptor(array.dtype.name, array.shape))
        for index, array in enumerate(arrays)
    ]
    made = make(builder, *inputs)
    graph = builder.build({f"y{index}": one for index, one in enumerate(made if isinstance(made, list) else [made])})
    sources: dict[str, webnn.MLTensor] = {}
    for index, array in enumerate(arrays):
        described = webnn.MLTensorDescriptor(array.dtype.name, array.shape, writable=True)
        sources[f"x{index}"] = context.create_tensor(described)
        context.write_tensor(sources[f"x{index}"], array)
    results = {
        name: context.create_tensor(webnn.MLTensorDescriptor(one.data_type, one.shape, readable=True))
        for name, one in graph.outputs.items()
    }
    context.dispatch(graph, {name: sources[name] for name in graph.inputs}, results)
    found = [np.asarray(context.read_tensor(result)) for result in results.values()]
    context.destroy()
    return found


def by_openvino(device: dml.Device, folder: Path, make: Callable[..., Any], *arrays: Array) -> list[Array]:
    """Run an OpenVINO model saved as IR. make(opset, *parameters): nodes of OpenVINO's Python API."""
    ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
    opset = pytest.importorskip("openvino.opset15")
    inputs = [opset.parameter(list(array.shape), array.dtype, name=f"x{index}") for index, array in enumerate(arrays)]
    made = make(opset, *inputs)
    results = [opset.result(one) for one in (made if isinstance(made, list) else [made])]
    path = folder / "model.xml"
    ov.save_model(ov.Model(results, inputs, "m"), str(path), compress_to_fp16=False)
    feeds: Mapping[str, Array] = {f"x{index}": array for index, array in enumerate(arrays)}
    return [np.asarray(one) for one in openvino.read_model(path).compile(device)(feeds).values()]


def by_pydirectml(device: dml.Device, make: Callable[..., Any], *arrays: Array) -> list[Array]:
    """Run a PyDirectML script. make(*expressions): calls functions of the module, DirectMLX's included."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("DML_VULKAN_DEVICE", str(device.vulkan.index))
        script = pydirectml.Device()
    script.vulkan = device  # the device may be presented as another kind
    builder = pydirectml.GraphBuilder(script)
    inputs, bindings = [], []
    for index, array in enumerate(arrays):
        kind = pydirectml.TensorDataType[array.dtype.name.upper()]
        described = pydirectml.TensorDesc(kind, pydirectml.TensorFlags.NONE, array.shape)
        inputs.append(pydirectml.input_tensor(builder, index, described))
        bindings.append(pydirectml.Binding(inputs[-1], array))
    made = make(*inputs)
    outputs = made if isinstance(made, list) else [made]
    model = builder.build(pydirectml.ExecutionFlags.NONE, outputs)
    return [np.asarray(one) for one in script.compute(model, bindings, outputs)]


def by_torch(device: dml.Device, make: Callable[..., Any], *arrays: Array) -> list[Array]:
    """Run a function that torch.compile has compiled whole with our backend. make(torch, *tensors)."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    front = pytest.importorskip("dml.frontends.torch")
    torch._dynamo.reset()

    def function(*tensors: Any) -> Any:
        return make(torch, *tensors)

    run = torch.compile(function, backend=front.dml, fullgraph=True, options={"device": device})
    with torch.no_grad(), warnings.catch_warnings():
        for category in (FutureWarning, DeprecationWarning):
            warnings.simplefilter("ignore", category)
        warnings.simplefilter("error", front.EagerWarning)
        made = run(*map(torch.from_numpy, arrays))
    return [one.numpy() for one in (made if isinstance(made, list | tuple) else [made])]
