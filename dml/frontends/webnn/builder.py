"""MLGraphBuilder: a graph of operations on operands, compiled for the context's device.

Each operation checks its operands by the specification and records the DirectML operators that compute it; ``build``
makes a DirectML graph of the operations that the outputs need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.arguments import checked
from dml.errors import DMLError
from dml.frontends.webnn.context import MLContext, MLTensor
from dml.frontends.webnn.data import from_bytes, matching_array
from dml.frontends.webnn.graph import MLGraph
from dml.frontends.webnn.numbers import cast_number
from dml.frontends.webnn.operands import MLOperand, MLOperandDescriptor, OperationRecord, require_valid
from dml.frontends.webnn.operations.activation import ActivationOperations
from dml.frontends.webnn.operations.convolution import ConvolutionOperations
from dml.frontends.webnn.operations.elementwise import ElementwiseOperations
from dml.frontends.webnn.operations.gemm import GemmOperations
from dml.frontends.webnn.operations.indexing import IndexingOperations
from dml.frontends.webnn.operations.movement import MovementOperations
from dml.frontends.webnn.operations.normalization import NormalizationOperations
from dml.frontends.webnn.operations.pooling import PoolingOperations
from dml.frontends.webnn.operations.quantization import QuantizationOperations
from dml.frontends.webnn.operations.recurrent import RecurrentOperations
from dml.frontends.webnn.operations.reduction import ReductionOperations
from dml.frontends.webnn.operations.resample import ResampleOperations
from dml.graph.builder import Builder, Tensor


class MLGraphBuilder(
    ActivationOperations,
    ConvolutionOperations,
    ElementwiseOperations,
    GemmOperations,
    IndexingOperations,
    MovementOperations,
    NormalizationOperations,
    PoolingOperations,
    QuantizationOperations,
    RecurrentOperations,
    ReductionOperations,
    ResampleOperations,
):
    """Builds one graph for a context. Raises DMLError (DXGI_ERROR_INVALID_CALL) if the context is lost."""

    @checked
    def __init__(self, context: MLContext) -> None:
        super().__init__(context)
        self._context = context
        self._inputs: dict[MLOperand, str] = {}
        self._constants: dict[MLOperand, npt.NDArray[Any] | MLTensor] = {}
        self.require_open("MLGraphBuilder")

    @checked
    def input(self, name: str, descriptor: MLOperandDescriptor) -> MLOperand:
        """Add an input to the graph.

        Raises DMLError for an empty name and for an invalid descriptor. As in Chromium, it is ``build`` that refuses
        two inputs with the same name: an input that the outputs do not need is ignored.
        """
        self.require_open("input")
        if not name:
            raise DMLError("MLGraphBuilder.input: the name must not be empty")
        require_valid(descriptor, f"MLGraphBuilder.input {name!r}")
        operand = MLOperand(self, MLOperandDescriptor(descriptor.data_type, descriptor.shape))
        self._inputs[operand] = name
        return operand

    @checked
    def constant(
        self, what: MLOperandDescriptor | MLTensor | str, value: npt.ArrayLike | bytes | None = None
    ) -> MLOperand:
        """Return an operand with constant elements.

        what, value: a descriptor and data as for ``MLContext.write_tensor``, which are copied; or a data type and one
        number, which is cast to it; or only a tensor that ``MLContext.create_constant_tensor`` returned.
        """
        self.require_open("constant")
        where = "MLGraphBuilder.constant"
        if isinstance(what, MLTensor):
            return self._constant_tensor(what, where)
        if isinstance(what, str):
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                raise DMLError(f"{where}: a data type takes a number, found {value!r}")
            descriptor = MLOperandDescriptor(what)
            require_valid(descriptor, where)
            data = cast_number(value, what)
        else:
            descriptor = MLOperandDescriptor(what.data_type, what.shape)
            require_valid(descriptor, where)
            data = matching_array(descriptor, value, where)
        operand = MLOperand(self, descriptor)
        self._constants[operand] = data
        return operand

    def _constant_tensor(self, tensor: MLTensor, where: str) -> MLOperand:
        if tensor.context is not self._context:
            raise DMLError(f"{where}: the tensor belongs to another context")
        if not tensor.is_constant:
            raise DMLError(f"{where}: takes a tensor made by create_constant_tensor")
        tensor.buffer(where)
        operand = MLOperand(self, MLOperandDescriptor(tensor.data_type, tensor.shape))
        self._constants[operand] = tensor
        return operand

    @checked
    def build(self, outputs: Mapping[str, MLOperand]) -> MLGraph:
        """Compile the part of the graph that these outputs need. A builder builds once.

        Raises DMLError for no outputs, empty names, operands of another builder, inputs or constants as outputs
        (``identity`` makes an output of them), and two inputs with the same name.
        """
        self.require_open("build")
        where = "MLGraphBuilder.build"
        if not outputs:
            raise DMLError(f"{where}: needs at least one output")
        for name, operand in outputs.items():
            if not name:
                raise DMLError(f"{where}: an output's name must not be empty")
            if operand.builder is not self:
                raise DMLError(f"{where}: the output {name!r} belongs to another builder")
            if operand.made_by is None:
                raise DMLError(f"{where}: the output {name!r} is an input or a constant of the graph")
        lowered = _LoweredGraph(self._context, self._inputs, self._constants)
        results = {name: lowered.tensor(operand) for name, operand in outputs.items()}
        self._built = True
        compiled = lowered.builder.compile(results)
        descriptors = {name: operand.descriptor for name, operand in outputs.items()}
        return self._context.adopt(MLGraph(self._context.device, compiled, lowered.inputs, descriptors))


class _LoweredGraph:
    """A DirectML graph of the requested operands."""

    def __init__(
        self,
        context: MLContext,
        names: Mapping[MLOperand, str],
        constants: Mapping[MLOperand, npt.NDArray[Any] | MLTensor],
    ) -> None:
        self.builder = Builder(context.device)
        #: Inputs that the tensors built so far need.
        self.inputs: dict[str, MLOperandDescriptor] = {}
        self._names = names
        self._constants = constants
        self._made: dict[MLOperand, Tensor] = {}
        self._operations: dict[OperationRecord, Sequence[Tensor]] = {}

    def tensor(self, wanted: MLOperand) -> Tensor:
        """Return the operand's tensor in its shape ({1} for a scalar)."""
        stack = [wanted]  # iterative, because graphs are deep
        while stack:
            operand = stack[-1]
            if operand in self._made:
                stack.pop()
                continue
            made_by = operand.made_by
            missing = [] if made_by is None else [i for i in made_by.inputs if i is not None and i not in self._made]
            if missing:
                stack.extend(missing)
                continue
            self._made[operand] = self._leaf(operand) if made_by is None else self._output(operand, made_by)
        return self._made[wanted]

    def _leaf(self, operand: MLOperand) -> Tensor:
        descriptor = operand.descriptor
        if operand in self._names:
            name = self._names[operand]
            if name in self.inputs:
                raise DMLError(f"MLGraphBuilder.build: two of the graph's inputs have the name {name!r}")
            self.inputs[name] = descriptor
            return self.builder.input(name, descriptor.sizes, descriptor.dml_type)
        contents = self._constants[operand]
        if isinstance(contents, MLTensor):
            contents = contents.buffer("MLGraphBuilder.build").read(np.uint8, descriptor.byte_length)
            contents = from_bytes(descriptor, contents)
        return self.builder.constant(contents.reshape(descriptor.sizes), descriptor.dml_type)

    def _output(self, operand: MLOperand, made_by: OperationRecord) -> Tensor:
        if made_by not in self._operations:
            results = made_by.lower(*(None if item is None else self._made[item] for item in made_by.inputs))
            self._operations[made_by] = (results,) if isinstance(results, Tensor) else results
        found = self._operations[made_by][operand.index]
        sizes = operand.descriptor.sizes
        return found if found.sizes == sizes else found.reshape(*sizes)
