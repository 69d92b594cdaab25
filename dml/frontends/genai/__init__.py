"""onnxruntime-genai's names on the device: programs that generate text change one import.

    import dml.frontends.genai as og

    model = og.Model("folder")  # with genai_config.json, as onnxruntime-genai's model builder writes it
    tokenizer = og.Tokenizer(model)
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=200)
    generator = og.Generator(model, params)
    generator.append_tokens(tokenizer.encode("Hello"))
    while not generator.is_done():
        generator.generate_next_token()
    print(tokenizer.decode(generator.get_sequence(0)))

The caches of keys and values stay on the device, and so do the logits: a step reads the chosen tokens alone. What fails
is a DMLError.
"""

from dml.frontends.extras import missing
from dml.frontends.refusals import RefusedName

try:
    import jinja2  # noqa: F401
    import onnx  # noqa: F401
    import tokenizers  # noqa: F401
except ModuleNotFoundError as error:
    raise missing("Generating text needs", "genai", error) from error

from .audio import Audios
from .config import Config
from .current_device import get_current_gpu_device_id, set_current_gpu_device_id
from .generator import Generator
from .model import Model
from .params import GeneratorParams
from .processor import MultiModalProcessor
from .refused import REFUSED
from .tensors import NamedTensors, Tensor
from .tokenizer import Tokenizer, TokenizerStream

__all__ = [
    "Audios",
    "Config",
    "Generator",
    "GeneratorParams",
    "Model",
    "MultiModalProcessor",
    "NamedTensors",
    "Tensor",
    "Tokenizer",
    "TokenizerStream",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_current_gpu_device_id",
    "is_cuda_available",
    "is_dml_available",
    "is_openvino_available",
    "is_qnn_available",
    "is_rocm_available",
    "is_webgpu_available",
    "register_execution_provider_library",
    "set_current_gpu_device_id",
    "set_log_callback",
    "set_log_options",
    "unregister_execution_provider_library",
]


def __getattr__(name: str) -> RefusedName:
    if name in REFUSED:
        return RefusedName(name, REFUSED[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def is_dml_available() -> bool:
    return True


def _absent() -> bool:
    """Whether another provider is available: none is."""
    return False


is_cuda_available = is_openvino_available = is_qnn_available = is_rocm_available = is_webgpu_available = _absent


def register_execution_provider_library(name: str, path: str) -> None:
    """Accept a provider's library, which is not loaded: the device is dml's."""


def unregister_execution_provider_library(name: str) -> None:
    """Accept the name."""


def enable_telemetry_events() -> None:
    """Do nothing: there is no telemetry."""


disable_telemetry_events = enable_telemetry_events


def set_log_options(**options: object) -> None:
    """Accept onnxruntime-genai's logging options; errors are DMLErrors, and nothing is logged."""


def set_log_callback(callback: object) -> None:
    """Accept a logging callback, which is never called."""
