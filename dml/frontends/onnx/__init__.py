"""ONNX models on the device: nodes become DirectML operators of one graph, compiled for each set of input shapes.

    model = dml.frontends.onnx.prepare("model.onnx")
    y, = model.run({"x": x})

Nodes that no DirectML operators say run on the host, as a warning tells; shapes and constants are computed there, too.
bool is UINT8 on the device; bfloat16 is held as FLOAT32 and rounded where it leaves the graph or is cast to; what an
operator does not take is cast to the next type that holds it: FLOAT64 becomes FLOAT32 (results are those of float32),
INT64 becomes INT32 and UINT64 UINT32 (values must fit, as in ONNX Runtime's DirectML provider), 8- and 16-bit integers
become 32-bit ones or FLOAT32, without loss.
"""

from dml.frontends.extras import missing

try:
    import onnx  # noqa: F401  the modules below cannot be without it
except ModuleNotFoundError as error:
    raise missing("ONNX models need", "onnx", error) from error

from dml.errors import HostNodesWarning

from .backend import PreparedModel, prepare, run_model, supports_device
from .loading import load_model

__all__ = ["HostNodesWarning", "PreparedModel", "load_model", "prepare", "run_model", "supports_device"]
