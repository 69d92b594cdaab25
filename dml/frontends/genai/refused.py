"""Names of onnxruntime-genai without a counterpart here: using one raises a DMLError that says why."""

from __future__ import annotations

from collections.abc import Mapping

from dml.frontends.refusals import refusing

_ADAPTERS = "LoRA adapters are not supported; merge them into the model before it is built"
_ENGINE = "continuous batching is not supported; use a Generator for each batch"
_SPECULATIVE = "speculative decoding is not supported; Generator decodes every token itself"
_STREAMING = "streaming speech is not supported; open complete recordings with Audios"
_HARDWARE = "hardware filters are not supported; set_provider_option(provider, 'device_id', '0') chooses a device"

#: Name of the module, or of a class in it -> why it is refused.
REFUSED: Mapping[str, str] = {
    "Adapters": _ADAPTERS,
    "Config.clear_decoder_provider_options_hardware_device_id": _HARDWARE,
    "Config.clear_decoder_provider_options_hardware_device_type": _HARDWARE,
    "Config.clear_decoder_provider_options_hardware_vendor_id": _HARDWARE,
    "Config.from_package_ep": "packages with several variants are not supported; open one variant's folder with Config",
    "Config.set_decoder_provider_options_hardware_device_id": _HARDWARE,
    "Config.set_decoder_provider_options_hardware_device_type": _HARDWARE,
    "Config.set_decoder_provider_options_hardware_vendor_id": _HARDWARE,
    "Engine": _ENGINE,
    "EngineCapabilities": _ENGINE,
    "EngineErrorCode": _ENGINE,
    "EngineEvent": _ENGINE,
    "EngineEventBuffer": _ENGINE,
    "EngineEventFlags": _ENGINE,
    "FinishReason": _ENGINE,
    "Generator.get_speculative_stats": _SPECULATIVE,
    "Generator.set_active_adapter": _ADAPTERS,
    "Generator.set_hidden_states": _SPECULATIVE,
    "GeneratorParams.get_speculative_options": _SPECULATIVE,
    "GeneratorParams.set_guidance": "guided generation is not supported; set_logits after each token can restrict it",
    "GeneratorParams.set_speculative_options": _SPECULATIVE,
    "Images": "images are not supported; text and speech models are",
    "Model.create_streaming_processor": _STREAMING,
    "MtpGenerator": _SPECULATIVE,
    "Request": _ENGINE,
    "RequestOptions": _ENGINE,
    "StreamingProcessor": _STREAMING,
    "Tensor.data": "pointers are not available; as_numpy() returns the array",
    "Tensor.type": "use as_numpy().dtype",
    "TurnOptions": _ENGINE,
    "TurnUsage": _ENGINE,
}


#: Adds the names in REFUSED that belong to a class.
with_refused_names = refusing(REFUSED)
