"""onnxruntime's names that do not exist here, each with an alternative, and the errors that report them."""

from __future__ import annotations

from collections.abc import Mapping

from dml.errors import HRESULT, DMLError

#: The version of onnxruntime whose Python names this package offers.
API_VERSION = "1.32.0"

_MEMORY = "dml manages memory; OrtValue and DeviceArray refer to device memory"
_DEVICES = "dml.list_devices() lists devices; InferenceSession(device=...) takes one"
_PLUGINS = "there is one provider, DmlExecutionProvider"
_SPARSE = "tensors are dense"
_EP_CONTEXT = "models are not compiled ahead of time; kernels are kept in a cache on disk"
_ADAPTERS = "adapters are not applied; merge them into the model's weights"
_PACKAGES = "models are single files, with weights in the same folder"
_TUNING = "`dml tune` measures the kernels of a device and keeps the results"
_SELECTION = "providers= and device= of InferenceSession choose"

#: Names of the module
MODULE: Mapping[str, str] = {
    "AdapterFormat": _ADAPTERS,
    "LoraAdapter": _ADAPTERS,
    "ModelCompiler": _EP_CONTEXT,
    "ModelPackage": _PACKAGES,
    "ModelPackageComponentContext": _PACKAGES,
    "ModelPackageContext": _PACKAGES,
    "ModelPackageOptions": _PACKAGES,
    "ModelPackageWriteMode": _PACKAGES,
    "OrtAllocatorType": _MEMORY,
    "OrtArenaCfg": _MEMORY,
    "OrtCompileApiFlags": _EP_CONTEXT,
    "OrtDevice": _DEVICES,
    "OrtDeviceMemoryType": _MEMORY,
    "OrtDeviceVendorId": _DEVICES,
    "OrtEpAssignedNode": "`dml explain` shows where each node runs",
    "OrtEpAssignedSubgraph": "`dml explain` shows where each node runs",
    "OrtEpContextData": _EP_CONTEXT,
    "OrtEpContextDataBuffer": _EP_CONTEXT,
    "OrtEpDevice": _DEVICES,
    "OrtExecutionProviderDevicePolicy": _SELECTION,
    "OrtExternalInitializerInfo": "weights are read from the files that the model names",
    "OrtHardwareDevice": _DEVICES,
    "OrtHardwareDeviceType": _DEVICES,
    "OrtMemType": _MEMORY,
    "OrtMemoryInfo": _MEMORY,
    "OrtMemoryInfoDeviceType": _MEMORY,
    "OrtSparseFormat": _SPARSE,
    "OrtSyncStream": "runs are complete when they return",
    "SessionIOBinding": "session.io_binding() makes an IOBinding",
    "SparseTensor": _SPARSE,
    "capi": "errors are dml.DMLError",
    "create_and_register_allocator": _MEMORY,
    "create_and_register_allocator_v2": _MEMORY,
    "cuda_version": "CUDA is not used",
    "get_ep_devices": _DEVICES,
    "register_execution_provider_library": _PLUGINS,
    "set_default_logger_callback": "warnings are Python's: warnings.catch_warnings, logging.captureWarnings",
    "set_global_thread_pool_sizes": "the device has its own threads",
    "unregister_execution_provider_library": _PLUGINS,
    # Imports of onnxruntime's own module
    "contextlib": "import contextlib",
    "import_capi_exception": "errors are dml.DMLError",
    "onnxruntime_validation": "part of onnxruntime's own build only",
    "package_name": "the package is directml-vulkan",
    "version": "__version__ is the version of onnxruntime whose names these are",
}

#: Names of InferenceSession
SESSION: Mapping[str, str] = {
    "create_ortvalue_from_shape_and_type": "OrtValue.ortvalue_from_shape_and_type(..., 'dml') does this",
    "get_input_epdevices": _DEVICES,
    "get_input_memory_infos": _MEMORY,
    "get_output_memory_infos": _MEMORY,
    "get_provider_graph_assignment_info": "`dml explain` shows where each node runs",
    "get_tuning_results": _TUNING,
    "release_captured_graph": "runs are recorded and replayed automatically",
    "run_with_ortvaluevector": "use run_with_ort_values or run_with_iobinding",
    "set_ep_dynamic_options": _PLUGINS,
    "set_tuning_results": _TUNING,
}

#: Names of SessionOptions
SESSION_OPTIONS: Mapping[str, str] = {
    "add_external_initializers": "weights are read from the files that the model names",
    "add_external_initializers_from_files_in_memory": "weights are read from the files that the model names",
    "add_free_dimension_override_by_denotation": "use add_free_dimension_override_by_name",
    "add_initializer": "sessions already share equal initializers on the device",
    "add_provider_for_devices": _SELECTION,
    "clear_ep_context_data_read_func": _EP_CONTEXT,
    "register_custom_ops_library": "custom operators' libraries are onnxruntime's own",
    "set_ep_context_data_read_func": _EP_CONTEXT,
    "set_load_cancellation_flag": "loading is not cancelled",
    "set_provider_selection_policy": _SELECTION,
    "set_provider_selection_policy_delegate": _SELECTION,
}

#: Names of RunOptions
RUN_OPTIONS: Mapping[str, str] = {"add_active_adapter": _ADAPTERS}

#: Names of OrtValue
ORT_VALUE: Mapping[str, str] = {"as_sparse_tensor": _SPARSE, "ort_value_from_sparse_tensor": _SPARSE}

#: Names of IOBinding
IO_BINDING: Mapping[str, str] = {"get_outputs_as_ortvaluevector": "get_outputs returns a list"}


class MissingMethodError(DMLError, AttributeError):
    """A method or option of onnxruntime that does not exist here; ``hasattr`` returns False for it."""


class MissingNameError(DMLError, ImportError):
    """A name of onnxruntime's module that does not exist here, however it is imported."""


def missing_method(owner: object, name: str, known: Mapping[str, str]) -> AttributeError:
    """Return the error for a missing attribute, with the reason if onnxruntime has it."""
    kind = type(owner).__name__
    if name not in known:
        return AttributeError(f"{kind!r} object has no attribute {name!r}", name=name, obj=owner)
    return MissingMethodError(f"{kind}.{name}: not available; {known[name]}", HRESULT.E_NOTIMPL)


def missing_name(module: str, name: str) -> Exception:
    """Return the error for a missing name of the module, with the reason if onnxruntime has it."""
    if name not in MODULE:
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    return MissingNameError(f"{module}.{name}: not available; {MODULE[name]}", HRESULT.E_NOTIMPL)
