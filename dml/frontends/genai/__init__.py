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

The caches of keys and values and the logits stay on the device: a step reads only the chosen tokens. Every error is a
DMLError.
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
    "Audios", "Config", "Generator", "GeneratorParams", "Model", "MultiModalProcessor", "NamedTensors", "Tensor",
    "Tokenizer", "TokenizerStream", "disable_telemetry_events", "enable_telemetry_events",
    "get_current_gpu_device_id", "is_cuda_available", "is_dml_available", "is_openvino_available", "is_qnn_available",
    "is_rocm_available", "is_webgpu_available", "register_execution_provider_library", "set_current_gpu_device_id",
    "set_log_callback", "set_log_options", "unregister_execution_provider_library",
]  # fmt: skip


def __getattr__(name: str) -> RefusedName:
    if name in REFUSED:
        return RefusedName(name, REFUSED[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def is_dml_available() -> bool:
    return True


def _absent() -> bool:
    """Return False: no other provider is available."""
    return False


is_cuda_available = is_openvino_available = is_qnn_available = is_rocm_available = is_webgpu_available = _absent


def register_execution_provider_library(name: str, path: str) -> None:
    """Do nothing: a provider's library is not loaded."""


def unregister_execution_provider_library(name: str) -> None:
    """Do nothing: no provider's library is loaded."""


def enable_telemetry_events() -> None:
    """Do nothing: there is no telemetry."""


disable_telemetry_events = enable_telemetry_events


def set_log_options(**options: object) -> None:
    """Do nothing: errors are DMLErrors, and nothing is logged."""


def set_log_callback(callback: object) -> None:
    """Do nothing: the callback is never called."""
