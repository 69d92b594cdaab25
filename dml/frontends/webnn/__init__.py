"""The W3C's Web Neural Network API in Python: its interfaces, operations and options, with names in snake_case.

    context = create_context()
    builder = MLGraphBuilder(context)
    x = builder.input("x", MLOperandDescriptor("float32", (2, 3)))
    graph = builder.build({"y": builder.relu(builder.linear(x, alpha=2.0, beta=-1.0))})

    source = context.create_tensor(MLTensorDescriptor("float32", (2, 3), writable=True))
    result = context.create_tensor(MLTensorDescriptor("float32", (2, 3), readable=True))
    context.write_tensor(source, array)
    context.dispatch(graph, {"x": source}, {"y": result})
    print(context.read_tensor(result))

Operands are checked by the specification's algorithms and computed by DirectML's operators. Where the specification
throws a TypeError, a DMLError is raised; for an InvalidStateError, its result is DXGI_ERROR_INVALID_CALL.
"""

from dml.frontends.webnn.builder import MLGraphBuilder
from dml.frontends.webnn.context import MLContext, MLContextLostInfo, MLTensor, create_context
from dml.frontends.webnn.graph import MLGraph
from dml.frontends.webnn.limits import MLRankRange, MLTensorLimits
from dml.frontends.webnn.operands import MLOperand, MLOperandDescriptor, MLTensorDescriptor

__all__ = [
    "MLContext", "MLContextLostInfo", "MLGraph", "MLGraphBuilder", "MLOperand", "MLOperandDescriptor", "MLRankRange",
    "MLTensor", "MLTensorDescriptor", "MLTensorLimits", "create_context",
]  # fmt: skip
