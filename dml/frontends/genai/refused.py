"""Names of onnxruntime-genai that this package does not support: using one raises a DMLError that says why."""

from dml.frontends.refusals import by_name, refusing

#: Name of the module, or of a class in it -> why it is refused.
REFUSED = by_name({
    "LoRA adapters are not supported; merge them into the model before it is built":
        "Adapters Generator.set_active_adapter",
    "hardware filters are not supported; set_provider_option(provider, 'device_id', '0') chooses a device": (
        "Config.clear_decoder_provider_options_hardware_device_id "
        "Config.clear_decoder_provider_options_hardware_device_type "
        "Config.clear_decoder_provider_options_hardware_vendor_id "
        "Config.set_decoder_provider_options_hardware_device_id "
        "Config.set_decoder_provider_options_hardware_device_type "
        "Config.set_decoder_provider_options_hardware_vendor_id"
    ),
    "packages with several variants are not supported; open one variant's folder with Config": "Config.from_package_ep",
    "continuous batching is not supported; use a Generator for each batch": (
        "Engine EngineCapabilities EngineErrorCode EngineEvent EngineEventBuffer EngineEventFlags FinishReason Request "
        "RequestOptions TurnOptions TurnUsage"
    ),
    "speculative decoding is not supported; Generator decodes every token itself": (
        "Generator.get_speculative_stats Generator.set_hidden_states GeneratorParams.get_speculative_options "
        "GeneratorParams.set_speculative_options MtpGenerator"
    ),
    "guided generation is not supported; set_logits after each token can restrict it": "GeneratorParams.set_guidance",
    "images are not supported; text and speech models are": "Images",
    "streaming speech is not supported; open complete recordings with Audios":
        "Model.create_streaming_processor StreamingProcessor",
    "pointers are not available; as_numpy() returns the array": "Tensor.data",
    "use as_numpy().dtype": "Tensor.type",
})  # fmt: skip

#: Decorator that adds a class's names in REFUSED to it.
with_refused_names = refusing(REFUSED)
