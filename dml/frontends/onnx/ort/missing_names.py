"""onnxruntime's names that do not exist here, each with an alternative, and the errors that report them."""

from __future__ import annotations

from dml.errors import HRESULT, DMLError
from dml.frontends.refusals import by_name

#: The version of onnxruntime whose Python names this package offers.
API_VERSION = "1.32.0"

#: Name of the module, or of a class in it -> the reason or the alternative.
MISSING = by_name({
    "adapters are not applied; merge them into the model's weights":
        "AdapterFormat LoraAdapter RunOptions.add_active_adapter",
    "models are not compiled ahead of time; kernels are kept in a cache on disk": (
        "ModelCompiler OrtCompileApiFlags OrtEpContextData OrtEpContextDataBuffer "
        "SessionOptions.clear_ep_context_data_read_func SessionOptions.set_ep_context_data_read_func"
    ),
    "models are single files, with weights in the same folder":
        "ModelPackage ModelPackageComponentContext ModelPackageContext ModelPackageOptions ModelPackageWriteMode",
    "dml manages memory; OrtValue and DeviceArray refer to device memory": (
        "OrtAllocatorType OrtArenaCfg OrtDeviceMemoryType OrtMemType OrtMemoryInfo OrtMemoryInfoDeviceType "
        "create_and_register_allocator create_and_register_allocator_v2 InferenceSession.get_input_memory_infos "
        "InferenceSession.get_output_memory_infos"
    ),
    "dml.list_devices() lists devices; InferenceSession(device=...) takes one": (
        "OrtDevice OrtDeviceVendorId OrtEpDevice OrtHardwareDevice OrtHardwareDeviceType get_ep_devices "
        "InferenceSession.get_input_epdevices"
    ),
    "`dml explain` shows where each node runs":
        "OrtEpAssignedNode OrtEpAssignedSubgraph InferenceSession.get_provider_graph_assignment_info",
    "providers= and device= of InferenceSession choose": (
        "OrtExecutionProviderDevicePolicy SessionOptions.add_provider_for_devices "
        "SessionOptions.set_provider_selection_policy SessionOptions.set_provider_selection_policy_delegate"
    ),
    "weights are read from the files that the model names": (
        "OrtExternalInitializerInfo SessionOptions.add_external_initializers "
        "SessionOptions.add_external_initializers_from_files_in_memory"
    ),
    "tensors are dense": "OrtSparseFormat SparseTensor OrtValue.as_sparse_tensor OrtValue.ort_value_from_sparse_tensor",
    "runs are complete when they return": "OrtSyncStream",
    "session.io_binding() makes an IOBinding": "SessionIOBinding",
    "errors are dml.DMLError": "capi import_capi_exception",
    "CUDA is not used": "cuda_version",
    "there is one provider, DmlExecutionProvider": (
        "register_execution_provider_library unregister_execution_provider_library "
        "InferenceSession.set_ep_dynamic_options"
    ),
    "warnings are Python's: warnings.catch_warnings, logging.captureWarnings": "set_default_logger_callback",
    "the device has its own threads": "set_global_thread_pool_sizes",
    "import contextlib": "contextlib",
    "part of onnxruntime's own build only": "onnxruntime_validation",
    "the package is directml-vulkan": "package_name",
    "__version__ is the version of onnxruntime whose names these are": "version",
    "OrtValue.ortvalue_from_shape_and_type(..., 'dml') does this":
        "InferenceSession.create_ortvalue_from_shape_and_type",
    "`dml tune` measures the kernels of a device and keeps the results":
        "InferenceSession.get_tuning_results InferenceSession.set_tuning_results",
    "runs are recorded and replayed automatically": "InferenceSession.release_captured_graph",
    "use run_with_ort_values or run_with_iobinding": "InferenceSession.run_with_ortvaluevector",
    "use add_free_dimension_override_by_name": "SessionOptions.add_free_dimension_override_by_denotation",
    "sessions already share equal initializers on the device": "SessionOptions.add_initializer",
    "custom operators' libraries are onnxruntime's own": "SessionOptions.register_custom_ops_library",
    "loading is not cancelled": "SessionOptions.set_load_cancellation_flag",
    "get_outputs returns a list": "IOBinding.get_outputs_as_ortvaluevector",
})  # fmt: skip


class MissingMethodError(DMLError, AttributeError):
    """A method or option of onnxruntime that does not exist here; ``hasattr`` returns False for it."""


class MissingNameError(DMLError, ImportError):
    """A name of onnxruntime's module that does not exist here, however it is imported."""


def missing_method(owner: object, name: str) -> AttributeError:
    """Return the error for a missing attribute, with the reason if onnxruntime has it."""
    kind = type(owner).__name__
    why = next((MISSING[full] for cls in type(owner).__mro__ if (full := f"{cls.__name__}.{name}") in MISSING), None)
    if why is None:
        return AttributeError(f"{kind!r} object has no attribute {name!r}", name=name, obj=owner)
    return MissingMethodError(f"{kind}.{name}: not available; {why}", HRESULT.E_NOTIMPL)


def missing_name(module: str, name: str) -> Exception:
    """Return the error for a missing name of the module, with the reason if onnxruntime has it."""
    if name not in MISSING:
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    return MissingNameError(f"{module}.{name}: not available; {MISSING[name]}", HRESULT.E_NOTIMPL)
