"""PyTorch models on the device: a backend for ``torch.compile``.

    compiled = torch.compile(model, backend="dml")
    with torch.no_grad():
        y = compiled(x)

For inference on tensors of the CPU. Each graph that dynamo finds goes through ``torch.export`` and ONNX to the graph
builder when it first runs; weights go to the device once. What ONNX has no word for stays with PyTorch, node by node;
a graph that cannot be taken at all (gradients are wanted, it writes to its inputs) runs as PyTorch would run it. Both
are said once, in an EagerWarning. Shapes that dynamo takes as symbols (``torch._dynamo.mark_dynamic``, or by itself the
second time a size changes) are symbols of the model: another size finds its kernels made. Dynamo leaves GRU, LSTM and
RNN modules to PyTorch by itself unless ``torch._dynamo.config.allow_rnn`` is set.

Reference: torch.compile's custom backends; installed packages offer it as the entry point ``torch_dynamo_backends``.
"""

from dml.frontends.extras import missing

try:
    import onnxscript  # noqa: F401  torch.onnx needs it
    import torch  # noqa: F401
except ModuleNotFoundError as error:
    raise missing("PyTorch models need", "torch", error) from error

from .backend import EagerWarning, dml

__all__ = ["EagerWarning", "dml"]
