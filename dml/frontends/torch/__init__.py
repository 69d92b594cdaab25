"""PyTorch models on the device: a backend for ``torch.compile``.

    compiled = torch.compile(model, backend="dml")
    with torch.no_grad():
        y = compiled(x)

For inference on tensors of the CPU. Each graph that dynamo finds goes through ``torch.export`` and ONNX to the graph
builder when it first runs; weights go to the device once, and again when they change: their bytes are compared before
each run, unless ``options={"freeze": True}`` says that they stay. What a graph writes to its inputs, such as a cache,
is written to them. What ONNX has no word for stays with PyTorch, node by node; a graph that cannot be taken at all
(gradients are wanted) runs as PyTorch would run it. Both are said once, in an EagerWarning. Shapes and ints that dynamo
takes as symbols (``torch._dynamo.mark_dynamic``, or by itself the second time one changes) are inputs of the model:
another size finds its kernels made. Importing this sets ``torch._dynamo.config.allow_rnn``, without which dynamo leaves
GRU, LSTM and RNN modules to PyTorch and says nothing.

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

__all__ = ["EagerWarning", "dml"]
