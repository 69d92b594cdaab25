"""Names of openvino's Python package that this package does not support: using one raises a DMLError that says why."""

from dml.frontends.refusals import by_name, refusing

#: The version of openvino whose Python names this package offers.
API_VERSION = "2026.4.1"

#: Name of the module, or of a class in it -> why it is refused.
REFUSED = by_name({
    "models are read, not built; build them with openvino and save_model": (
        "AxisSet AxisVector Coordinate CoordinateDiff DiscreteTypeInfo Input Node RTMap Strides Symbol op opset1 "
        "opset2 opset3 opset4 opset5 opset6 opset7 opset8 opset9 opset10 opset11 opset12 opset13 opset14 opset15 "
        "opset16 opset17 save_model serialize ConstOutput.get_rt_info ConstOutput.get_target_inputs "
        "ConstOutput.get_tensor ConstOutput.rt_info ConstOutput.target_inputs ConstOutput.tensor Dimension.get_symbol "
        "Dimension.has_symbol Dimension.refines Dimension.relaxes Dimension.same_scheme Dimension.set_symbol "
        "Model.add_outputs Model.add_parameters Model.add_results Model.add_sinks Model.add_variables Model.evaluate "
        "Model.get_output_op Model.get_parameter_index Model.get_result Model.get_result_index Model.get_rt_info "
        "Model.get_sink_index Model.get_sinks Model.has_rt_info Model.remove_parameter Model.remove_result "
        "Model.remove_sink Model.remove_variable Model.replace_parameter Model.result Model.rt_info Model.set_rt_info "
        "Model.sinks Model.validate_nodes_and_infer_types PartialShape.refines PartialShape.relaxes "
        "PartialShape.same_scheme Type.merge"
    ),
    "extensions are OpenVINO's own; `dml inspect` lists the layers that are mapped":
        "Extension Op OpExtension Core.add_extension",
    "layouts of models are not changed; use Model.reshape and NumPy's transpose":
        "Layout get_batch layout_helpers set_batch",
    "pass properties by their names as text, such as 'PERFORMANCE_HINT'": "OVAny properties",
    "memory of other APIs is not shared; arrays are uploaded":
        "RemoteContext RemoteTensor VAContext VASurfaceTensor Core.create_context Core.get_default_context",
    "use a list of Tensors": "TensorVector",
    "Core.get_versions returns the versions of devices": "Version",
    "convert with openvino.convert_model and save_model; dml.frontends.onnx runs ONNX models": "convert_model",
    "every error is a dml.DMLError": "exceptions",
    "part of OpenVINO's own package only": "experimental helpers package_utils tools utils",
    "models are read from IR; openvino.convert_model and save_model make it": "frontend",
    "build the PrePostProcessor with openvino and save_model, or prepare arrays in NumPy": "preprocess",
    "Tensor(numpy.fromfile(path, dtype)) reads one": "tensor_from_file",
    "compiled models are not written; kernels are kept in a cache on disk":
        "CompiledModel.export_model Core.import_model",
    "`dml explain` lists the operators of each layer": "CompiledModel.get_runtime_model",
    "give properties to Core.compile_model": "CompiledModel.set_property",
    "there are no plugins; every device is a Vulkan device":
        "Core.register_plugin Core.register_plugins Core.unload_plugin",
    "a run cannot be cancelled": "InferRequest.cancel",
    "InferRequest.query_state returns the variables and their values":
        "Model.get_variable_by_id Model.get_variables Model.variables",
    "ProfilingInfo.status is text: EXECUTED": "ProfilingInfo.Status",
    "tensors of strings are not supported": "Tensor.bytes_data Tensor.str_data",
    "tensors of this element type are not supported": (
        "Type.dynamic Type.f4e2m1 Type.f8e4m3 Type.f8e5m2 Type.f8e8m0 Type.i4 Type.nf4 Type.string Type.u1 Type.u2 "
        "Type.u3 Type.u4 Type.u6"
    ),
})  # fmt: skip

#: Adds the names in REFUSED that belong to a class.
with_refused_names = refusing(REFUSED)
