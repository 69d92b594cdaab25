"""Exported programs on a device, whole or in parts between operators that stay with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, OutputKind, TensorArgument

from dml.api.device import Device
from dml.errors import HRESULT, DMLError
from dml.frontends.torch.arrays import to_tensor
from dml.frontends.torch.export import NotTaken, exported, parts, results, to_onnx
from dml.frontends.torch.weights import WeightedModel, WeightedModels
from dml.recent import Recent

#: Called with a message about operators that PyTorch runs.
Say = Callable[[str], None]

#: Number of input shape combinations for which a part is cached.
_MOST_SHAPES = 8


def on_device(
    program: ExportedProgram, inputs: Sequence[Any], weights: AbstractSet[int], device: Device, freeze: bool, say: Say
) -> Callable[..., Any]:
    """Return a function that runs the program on the device, including its writes to inputs.

    inputs: examples. weights: indices of the inputs that are weights; their values are uploaded. freeze: the weights
    never change. say: called with a message about operators that stay with PyTorch. Raises NotTaken if all of them do.
    """
    try:
        return OnDevice(program, inputs, weights, device, freeze)
    except NotTaken:
        module, names, left = parts(program)
        if not left:
            raise
    if not names:
        raise NotTaken(f"ONNX cannot express {', '.join(left)}")
    say(f"{', '.join(left)} run with PyTorch, the rest in {len(names)} parts on the device")
    written = _written(program)
    places = {node: index for index, node in enumerate(module.graph.find_nodes(op="placeholder"))}
    weights = weights - set(written)
    for node in module.graph.find_nodes(op="call_module"):
        if node.target in names:
            own = {index for index, given in enumerate(node.args) if places.get(given) in weights}
            setattr(module, node.target, _Part(getattr(module, node.target), own, device, freeze, say))

    def run(*given: Any) -> tuple[Any, ...]:
        return _write(given, list(zip(written, module(*given), strict=True)))

    return run


def _written(program: ExportedProgram) -> list[int | None]:
    """Return, for each result of the program, the index of the input that it is written to; None for returned
    results."""
    signature = program.graph_signature
    given = [str(name) for name in signature.user_inputs]
    return [
        given.index(str(spec.target)) if spec.kind == OutputKind.USER_INPUT_MUTATION else None
        for spec in results(signature)
    ]


def _write(inputs: Sequence[Any], values: Sequence[tuple[int | None, Any]]) -> tuple[Any, ...]:
    """Write results to their inputs after all are computed; return the others.

    So PyTorch can run the graph on unchanged inputs if a result cannot be computed.
    """
    for index, value in values:
        if index is not None:
            inputs[index].detach().copy_(value)
    return tuple(value for index, value in values if index is None)


class OnDevice:
    """An exported program on a device, as a function of its inputs.

    Raises NotTaken if it cannot be mapped, and DMLError if the device lacks memory for it.
    """

    def __init__(
        self, program: ExportedProgram, inputs: Sequence[Any], weights: AbstractSet[int], device: Device, freeze: bool
    ) -> None:
        signature = program.graph_signature
        given = [str(name) for name in signature.user_inputs]
        written = set(signature.user_inputs_to_mutate.values())
        #: Per result of the program: the index of the input that it is written to, if any, and its argument spec.
        self._outputs = list(zip(_written(program), [spec.arg for spec in results(signature)], strict=True))
        #: Data types by node. The model returns complex numbers as pairs; the exporter may mistake other types.
        self._types = {
            node.name: value.dtype
            for node in program.graph.nodes
            if isinstance(value := node.meta.get("val"), torch.Tensor)
        }
        model = to_onnx(program)
        names = [entry.name for entry in model.graph.input]
        # the exporter may drop unused inputs; it renames those that are also results, some after the result
        plain = {name: name if name in given else name.removesuffix("_orig") for name in names}
        places = {name: given.index(own) for name, own in plain.items() if own in given}
        if len(names) == len(given):
            places = {name: index for index, name in enumerate(names)}
        elif len(places) != len(names):
            raise NotTaken(f"the model's inputs are {', '.join(names)}, the program's {', '.join(given)}")
        computed = [arg for _, arg in self._outputs if not isinstance(arg, ConstantArgument)]
        if len(computed) != len(model.graph.output):
            raise NotTaken(f"the model has {len(model.graph.output)} outputs, the program {len(computed)}")
        constant = [name for name in names if places[name] in weights and name not in written]

        def make(inputs: Sequence[Any]) -> WeightedModel:
            return WeightedModel(model, places, constant, device, inputs)

        try:
            self._models = WeightedModels(make, [places[name] for name in constant], inputs, freeze=freeze)
        except DMLError as error:
            if error.hresult == HRESULT.E_OUTOFMEMORY:
                raise
            raise NotTaken(str(error)) from error

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        arrays = iter(self._models.run(inputs))
        return _write(inputs, [(index, self._output(arg, arrays)) for index, arg in self._outputs])

    def _output(self, output: Any, arrays: Any) -> Any:
        if isinstance(output, ConstantArgument):
            return output.value
        array = next(arrays)
        if not isinstance(output, TensorArgument):
            return array.item()
        tensor, dtype = to_tensor(array), self._types[output.name]
        return torch.complex(*tensor.unbind(-1)) if dtype.is_complex else tensor.to(dtype)


class _Part(torch.nn.Module):  # type: ignore[misc]  # (Any to mypy)
    """A part of a program, exported for each set of input shapes."""

    def __init__(
        self, module: fx.GraphModule, weights: AbstractSet[int], device: Device, freeze: bool, say: Say
    ) -> None:
        super().__init__()
        self._module = module
        self._weights = weights
        self._device = device
        self._freeze = freeze
        self._say = say
        self._made: Recent[Hashable, Callable[..., Any]] = Recent(_MOST_SHAPES)
        (returned,) = module.graph.find_nodes(op="output")
        self._returns_one = not isinstance(returned.args[0], tuple | list)

    def forward(self, *inputs: Any) -> Any:
        shapes = tuple((item.shape, item.dtype) if isinstance(item, torch.Tensor) else item for item in inputs)
        model = self._made.get(shapes)
        if model is None:
            self._made.shrink(_MOST_SHAPES - 1)  # before the export, which needs memory
            model = self._for(inputs)
            self._made.put(shapes, model)
        return model(*inputs)

    def _for(self, inputs: Sequence[Any]) -> Callable[..., Any]:
        try:
            program = exported(self._module, inputs, [{} for _ in inputs])
            model = OnDevice(program, inputs, self._weights, self._device, self._freeze)
        except NotTaken as error:
            self._say(f"a part of {len(self._module.graph.nodes)} nodes runs with PyTorch: {error}")
            eager: Callable[..., Any] = self._module
            return eager

        def run(*given: Any) -> Any:
            found = model(*given)
            return found[0] if self._returns_one else found

        return run
