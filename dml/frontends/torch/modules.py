"""Exported programs on a device: whole, or in parts between operators that stay with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, SymIntArgument, TensorArgument

from dml.api.device import Device
from dml.errors import DMLError
from dml.frontends.onnx import prepare
from dml.frontends.torch.arrays import to_array, to_tensor
from dml.frontends.torch.export import NotTaken, exported, parts, to_onnx
from dml.recent import Recent

#: Told where PyTorch runs something, and why.
Say = Callable[[str], None]

#: Sets of shapes for which a part is kept.
_MOST_SHAPES = 8


def on_device(program: ExportedProgram, device: Device, say: Say) -> Callable[..., Any]:
    """What computes the program's outputs from its inputs. say: told what stays with PyTorch.

    Raises NotTaken where all of it does.
    """
    try:
        return OnDevice(program, device)
    except NotTaken:
        module, names, left = parts(program)
        if not left:
            raise
    if not names:
        raise NotTaken(f"ONNX has no words for {', '.join(left)}")
    say(f"{', '.join(left)} run with PyTorch, the rest in {len(names)} parts on the device")
    for name in names:
        setattr(module, name, _Part(getattr(module, name), device, say))
    run: Callable[..., Any] = module
    return run


class OnDevice:
    """An exported program on a device, as a function of its inputs. Raises NotTaken where it cannot be mapped."""

    def __init__(self, program: ExportedProgram, device: Device) -> None:
        model = to_onnx(program)
        try:
            self._model = prepare(model, device, fallback=False)
        except DMLError as error:
            raise NotTaken(str(error)) from error
        given = [str(name) for name in program.graph_signature.user_inputs]
        #: What the model takes, and which input that is: the exporter may leave out those that nothing uses.
        self._inputs = [(name, given.index(name)) for name in self._model.inputs if name in given]
        if len(self._inputs) != len(self._model.inputs):
            raise NotTaken(f"the model's inputs are {', '.join(self._model.inputs)}, the program's {', '.join(given)}")
        self._outputs = [spec.arg for spec in program.graph_signature.output_specs]
        made = [output for output in self._outputs if isinstance(output, TensorArgument | SymIntArgument)]
        if len(made) != len(self._model.outputs):
            raise NotTaken(f"the model has {len(self._model.outputs)} outputs, the program {len(made)}")

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        made = iter(self._model.run({name: to_array(inputs[at]) for name, at in self._inputs}))
        return tuple(self._output(output, made) for output in self._outputs)

    def _output(self, output: Any, made: Any) -> Any:
        if isinstance(output, ConstantArgument):
            return output.value
        array = next(made)
        return int(array) if isinstance(output, SymIntArgument) else to_tensor(array)


class _Part(torch.nn.Module):  # type: ignore[misc]  # (Any to mypy)
    """A part of a program, exported for the shapes that reach it."""

    def __init__(self, module: fx.GraphModule, device: Device, say: Say) -> None:
        super().__init__()
        self._module = module
        self._device = device
        self._say = say
        self._made: Recent[Hashable, Callable[..., Any]] = Recent(_MOST_SHAPES)
        (returned,) = module.graph.find_nodes(op="output")
        self._returns_one = not isinstance(returned.args[0], tuple | list)

    def forward(self, *inputs: Any) -> Any:
        shapes = tuple((one.shape, one.dtype) if isinstance(one, torch.Tensor) else one for one in inputs)
        made = self._made.get(shapes)
        if made is None:
            self._made.shrink(_MOST_SHAPES - 1)  # frees memory before more is needed
            made = self._for(inputs)
            self._made.put(shapes, made)
        return made(*inputs)

    def _for(self, inputs: Sequence[Any]) -> Callable[..., Any]:
        try:
            made = OnDevice(exported(self._module, inputs, [{} for _ in inputs]), self._device)
        except NotTaken as error:
            self._say(f"a part of {len(self._module.graph.nodes)} nodes runs with PyTorch: {error}")
            eager: Callable[..., Any] = self._module
            return eager
        tensors = [at for at, one in enumerate(inputs) if isinstance(one, torch.Tensor)]

        def run(*given: Any) -> Any:
            found = made(*[given[at] for at in tensors]) if len(tensors) < len(given) else made(*given)
            return found[0] if self._returns_one else found

        return run
