"""Names of openvino's Python package without a counterpart here: using one raises a DMLError that says why."""

from __future__ import annotations

from collections.abc import Mapping

from dml.frontends.refusals import refusing

#: The version of openvino whose Python names this package offers.
API_VERSION = "2026.4.1"

_BUILDING = "models are read, not built; build them with openvino and save_model"
_EXTENSIONS = "extensions are OpenVINO's own; `dml inspect` lists the layers that are mapped"
_PLUGINS = "there are no plugins; every device is a Vulkan device"
_REMOTE = "memory of other APIs is not shared; arrays are uploaded"
_TEXT = "pass properties by their names as text, such as 'PERFORMANCE_HINT'"
_PREPROCESS = "build the PrePostProcessor with openvino and save_model, or prepare arrays in NumPy"
_BLOB = "compiled models are not written; kernels are kept in a cache on disk"
_STATE = "InferRequest.query_state returns the variables and their values"
_CANCEL = "a run cannot be cancelled"
_LAYOUT = "layouts of models are not changed; use Model.reshape and NumPy's transpose"
_TEXTS = "tensors of strings are not supported"
_PYTHON = "part of OpenVINO's own package only"
_SETTINGS = "give properties to Core.compile_model"

#: Name of the module, or of a class in it -> why it is refused.
REFUSED: Mapping[str, str] = {
    "AxisSet": _BUILDING,
    "AxisVector": _BUILDING,
    "Coordinate": _BUILDING,
    "CoordinateDiff": _BUILDING,
    "DiscreteTypeInfo": _BUILDING,
    "Extension": _EXTENSIONS,
    "Input": _BUILDING,
    "Layout": _LAYOUT,
    "Node": _BUILDING,
    "OVAny": _TEXT,
    "Op": _EXTENSIONS,
    "OpExtension": _EXTENSIONS,
    "RTMap": _BUILDING,
    "RemoteContext": _REMOTE,
    "RemoteTensor": _REMOTE,
    "Strides": _BUILDING,
    "Symbol": _BUILDING,
    "TensorVector": "use a list of Tensors",
    "VAContext": _REMOTE,
    "VASurfaceTensor": _REMOTE,
    "Version": "Core.get_versions returns the versions of devices",
    "convert_model": "convert with openvino.convert_model and save_model; dml.frontends.onnx runs ONNX models",
    "exceptions": "every error is a dml.DMLError",
    "experimental": _PYTHON,
    "frontend": "models are read from IR; openvino.convert_model and save_model make it",
    "get_batch": _LAYOUT,
    "helpers": _PYTHON,
    "layout_helpers": _LAYOUT,
    "op": _BUILDING,
    **{f"opset{number}": _BUILDING for number in range(1, 18)},
    "package_utils": _PYTHON,
    "preprocess": _PREPROCESS,
    "properties": _TEXT,
    "save_model": _BUILDING,
    "serialize": _BUILDING,
    "set_batch": _LAYOUT,
    "tensor_from_file": "Tensor(numpy.fromfile(path, dtype)) reads one",
    "tools": _PYTHON,
    "utils": _PYTHON,

    "CompiledModel.export_model": _BLOB,
    "CompiledModel.get_runtime_model": "`dml explain` lists the operators of each layer",
    "CompiledModel.set_property": _SETTINGS,
    "ConstOutput.get_rt_info": _BUILDING,
    "ConstOutput.get_target_inputs": _BUILDING,
    "ConstOutput.get_tensor": _BUILDING,
    "ConstOutput.rt_info": _BUILDING,
    "ConstOutput.target_inputs": _BUILDING,
    "ConstOutput.tensor": _BUILDING,
    "Core.add_extension": _EXTENSIONS,
    "Core.create_context": _REMOTE,
    "Core.get_default_context": _REMOTE,
    "Core.import_model": _BLOB,
    "Core.register_plugin": _PLUGINS,
    "Core.register_plugins": _PLUGINS,
    "Core.unload_plugin": _PLUGINS,
    "Dimension.get_symbol": _BUILDING,
    "Dimension.has_symbol": _BUILDING,
    "Dimension.refines": _BUILDING,
    "Dimension.relaxes": _BUILDING,
    "Dimension.same_scheme": _BUILDING,
    "Dimension.set_symbol": _BUILDING,
    "InferRequest.cancel": _CANCEL,
    **{
        f"Model.{name}": _BUILDING
        for name in (
            "add_outputs", "add_parameters", "add_results", "add_sinks", "add_variables", "evaluate", "get_output_op",
            "get_parameter_index", "get_result", "get_result_index", "get_rt_info", "get_sink_index", "get_sinks",
            "has_rt_info", "remove_parameter", "remove_result", "remove_sink", "remove_variable", "replace_parameter",
            "result", "rt_info", "set_rt_info", "sinks", "validate_nodes_and_infer_types",
        )
    },
    "Model.get_variable_by_id": _STATE,
    "Model.get_variables": _STATE,
    "Model.variables": _STATE,
    "PartialShape.refines": _BUILDING,
    "PartialShape.relaxes": _BUILDING,
    "PartialShape.same_scheme": _BUILDING,
    "ProfilingInfo.Status": "ProfilingInfo.status is text: EXECUTED",
    "Tensor.bytes_data": _TEXTS,
    "Tensor.str_data": _TEXTS,
    "Type.merge": _BUILDING,
    **{
        f"Type.{name}": "tensors of this element type are not supported"
        for name in (
            "dynamic", "f4e2m1", "f8e4m3", "f8e5m2", "f8e8m0", "i4", "nf4", "string", "u1", "u2", "u3", "u4", "u6",
        )
    },
}  # fmt: skip

#: Adds the names in REFUSED that belong to a class.
with_refused_names = refusing(REFUSED)
