"""PyTorch models on the device: a backend for ``torch.compile``.

    compiled = torch.compile(model, backend="dml")
    with torch.no_grad():
        y = compiled(x)

It runs inference on CPU tensors. Each graph that dynamo finds is exported with ``torch.export`` and converted by ONNX
to DirectML's graph when it first runs. Weights are uploaded once, and again when they change: their bytes are compared
before each run, unless ``options={"freeze": True}`` declares them constant. Writes of a graph to its inputs, such as a
cache, reach these inputs. Operators that ONNX lacks run with PyTorch, node by node; a graph that cannot be exported at
all (it needs gradients) runs with PyTorch as a whole. An EagerWarning reports each case once. Symbolic shapes and ints
(``torch._dynamo.mark_dynamic``, or automatically the second time one changes) are inputs of the model: another size
reuses its kernels. Importing this module sets ``allow_rnn`` and ``capture_dynamic_output_shape_ops`` of
``torch._dynamo.config``; without them, dynamo silently leaves GRU, LSTM and RNN modules, and operators with results of
unknown size (``nonzero``, ``x[mask]``), to PyTorch.

Reference: torch.compile's custom backends; installed packages offer it as the entry point ``torch_dynamo_backends``.
"""

from dml.frontends.extras import missing

try:
    import onnxscript  # noqa: F401  torch.onnx needs it
    import torch._dynamo
    import xxhash  # noqa: F401
except ModuleNotFoundError as error:
    raise missing("PyTorch models need", "torch", error) from error

from .backend import EagerWarning, dml

torch._dynamo.config.allow_rnn = True
torch._dynamo.config.capture_dynamic_output_shape_ops = True

__all__ = ["EagerWarning", "dml"]
