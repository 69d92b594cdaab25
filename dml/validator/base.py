"""The check object that rules are written with, and the registry of rules.

A rule is a function of a description and a Check. It states what must hold, in the reference's words of sizes, axes and
ranges; the Check raises the DMLError. Rules run after the common rules, so required tensors are there, every tensor is
well formed, has a supported dimension count and data type, and every attribute has its type. A check on an optional
tensor that is None passes.

    @rule(DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC)
    def reverse_subsequences(desc, check):
        check.axis("Axis", of="InputTensor")
        check.sizes("SequenceLengthsTensor", with_size(desc.InputTensor.Sizes, desc.Axis, 1))
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from enum import IntEnum, IntFlag
from typing import Any, Generic, NoReturn, TypeVar

from ..capability import operator_introduced, short_name
from ..descriptors import OperatorDesc
from ..enums import DML_FEATURE_LEVEL, DML_OPERATOR_TYPE
from ..errors import DMLError
from ..shapes import without_axis
from ..tensors import DML_BUFFER_TENSOR_DESC

_Desc = TypeVar("_Desc", bound=OperatorDesc)
Rule = Callable[[Any, "Check"], None]
_Rule = TypeVar("_Rule", bound=Callable[..., None])

_RULES: dict[type[OperatorDesc], Rule] = {}
_FUSED_RULES: dict[type[OperatorDesc], Rule] = {}

_O = DML_OPERATOR_TYPE


def _activations(*names: str) -> list[DML_OPERATOR_TYPE]:
    return [DML_OPERATOR_TYPE[f"DML_OPERATOR_ACTIVATION_{name}"] for name in names]


#: The activations that other operators can fuse (dml-fused-activations).
FUSABLE_ACTIVATIONS: frozenset[DML_OPERATOR_TYPE] = frozenset(_activations(
    "LINEAR", "SIGMOID", "HARD_SIGMOID", "TANH", "SCALED_TANH", "RELU", "LEAKY_RELU", "THRESHOLDED_RELU", "ELU", "CELU",
    "SCALED_ELU", "SOFTPLUS", "PARAMETRIC_SOFTPLUS", "SOFTSIGN", "IDENTITY", "SHRINK", "GELU",
))  # fmt: skip
#: Activations of recurrent networks in addition to the fusable ones: their pages exclude none. Activations of two
#: tensors (PARAMETERIZED_RELU, RELU_GRAD) cannot be given as ActivationDescs, whose tensors are None.
_ALSO_IN_NETWORKS: dict[DML_OPERATOR_TYPE, DML_FEATURE_LEVEL] = dict.fromkeys(_activations(
    "HARDMAX", "HARDMAX1", "LOG_SOFTMAX", "LOG_SOFTMAX1", "SOFTMAX", "SOFTMAX1", "SWISH", "HARD_SWISH",
), DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_1_0)  # fmt: skip
#: Additional activations that some operators can fuse, with the first level if it is later than the activation itself
#: (dml-fused-activations, feature level history).
ALSO_FUSABLE: dict[DML_OPERATOR_TYPE, dict[DML_OPERATOR_TYPE, DML_FEATURE_LEVEL]] = {
    _O.DML_OPERATOR_CONVOLUTION: {_O.DML_OPERATOR_ELEMENT_WISE_CLIP: DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_6_0},
    _O.DML_OPERATOR_GEMM: {
        _O.DML_OPERATOR_ELEMENT_WISE_CLIP: DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_6_0,
        _O.DML_OPERATOR_ACTIVATION_SOFTMAX: DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_6_1,
        _O.DML_OPERATOR_ACTIVATION_SOFTMAX1: DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_6_1,
    },
    _O.DML_OPERATOR_RNN: _ALSO_IN_NETWORKS,
    _O.DML_OPERATOR_GRU: _ALSO_IN_NETWORKS,
    _O.DML_OPERATOR_LSTM: _ALSO_IN_NETWORKS,
}


def rule(desc_class: type[OperatorDesc], *, fused: bool = False, **arguments: Any) -> Callable[[_Rule], _Rule]:
    """Register the rule of an operator.

    fused: the rule also holds for the description of a fused activation, whose tensors are None; it must then look at
    tensors through the Check's methods only. arguments: further arguments of the function, if several operators share
    it.
    """

    def register(function: _Rule) -> _Rule:
        if desc_class in _RULES:
            raise RuntimeError(f"{desc_class.__name__} has two rules")
        own = functools.wraps(function)(functools.partial(function, **arguments)) if arguments else function
        _RULES[desc_class] = own
        if fused:
            _FUSED_RULES[desc_class] = own
        return function

    return register


def rule_of(desc_class: type[OperatorDesc]) -> Rule | None:
    """Return the registered rule of an operator."""
    return _RULES.get(desc_class)


def plain(value: object) -> str:
    """Format a value for messages: enumerators by name, tensors by type and sizes, long integers by length."""
    if isinstance(value, (IntEnum, IntFlag)):
        return value.name or repr(value)
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, DML_BUFFER_TENSOR_DESC):
        return f"a tensor {value.in_words}"
    if isinstance(value, OperatorDesc):
        return value.OPERATOR_TYPE.name
    if isinstance(value, tuple) and not value:
        return "none"
    return repr(value)


_UNSET = object()
_Thing = TypeVar("_Thing", bound=Hashable)


class Accepted(Generic[_Thing]):
    """Recently accepted descriptions, so that equal ones, common in models, are not checked again."""

    def __init__(self, most: int = 2048) -> None:
        self._most = most
        self._found: set[_Thing] = set()

    def __contains__(self, thing: _Thing) -> bool:
        return thing in self._found

    def add(self, thing: _Thing) -> None:
        if len(self._found) >= self._most:
            self._found.clear()
        self._found.add(thing)


class Check:
    """One description being validated at a feature level; `desc`, `level` and the operator's short `name`."""

    def __init__(self, desc: OperatorDesc, level: DML_FEATURE_LEVEL, within: str = "") -> None:
        self.desc = desc
        self.level = level
        self.name = within + short_name(desc.OPERATOR_TYPE)

    def fail(self, field: str, rule: str, found: object = _UNSET) -> NoReturn:
        """Refuse the description: `field` breaks `rule` with the value `found` (by default the field's own)."""
        value = getattr(self.desc, field, None) if found is _UNSET else found
        raise DMLError(f"{self.name}.{field}: {rule}, found {plain(value)}")

    def that(self, condition: bool, field: str, rule: str, found: object = _UNSET) -> None:
        """Refuse unless `condition`. `rule` reads after the field's name: "must be at least 1"."""
        if not condition:
            self.fail(field, rule, found)

    def attempt(self, check: Callable[..., None], *args: Any) -> None:
        """Run an independent check: when collecting all faults (``faults``), later checks run even if it fails."""
        check(*args)

    def is_faulty(self, *fields: str) -> bool:
        """Whether one of these fields has a known fault; always False when the first fault ends the check."""
        return False

    def tensor(self, name: str) -> DML_BUFFER_TENSOR_DESC | None:
        """Return a tensor by its field's name; None for an optional one that is absent."""
        found: DML_BUFFER_TENSOR_DESC | None = getattr(self.desc, name)
        return found

    def tensors(self, name: str) -> list[tuple[str, DML_BUFFER_TENSOR_DESC]]:
        """Return (name, tensor) of a field: none for an absent tensor, several ("InputTensors[2]") for an array."""
        found = getattr(self.desc, name)
        if isinstance(found, tuple):
            return [(f"{name}[{index}]", tensor) for index, tensor in enumerate(found)]
        return [] if found is None else [(name, found)]

    def in_range(self, field: str, low: float, high: float) -> None:
        """Require low <= field <= high for a number or each number of an array. NaN is outside every range."""
        value = getattr(self.desc, field)
        for item in value if isinstance(value, tuple) else (value,):
            if not low <= item <= high:
                self.fail(field, f"must be from {low} to {high}")

    def at_least(self, field: str, low: float) -> None:
        """Require low <= field, for a number or each number of an array."""
        value = getattr(self.desc, field)
        for item in value if isinstance(value, tuple) else (value,):
            if not item >= low:
                self.fail(field, f"must be at least {low}")

    def axis(self, field: str, of: str = "InputTensor") -> None:
        """Require the field to be a dimension of the tensor `of`."""
        tensor = self.tensor(of)
        if tensor is not None and not 0 <= getattr(self.desc, field) < tensor.rank:
            self.fail(field, f"must be a dimension of {of}, from 0 to {tensor.rank - 1}")

    def axes(self, field: str = "Axes", of: str = "InputTensor") -> None:
        """Require the field to hold different dimensions of the tensor `of`."""
        tensor = self.tensor(of)
        axes: tuple[int, ...] = getattr(self.desc, field)
        if tensor is None:
            return
        if not all(0 <= axis < tensor.rank for axis in axes):
            self.fail(field, f"must be dimensions of {of}, from 0 to {tensor.rank - 1}")
        if len(set(axes)) != len(axes):
            self.fail(field, "must be different dimensions")

    def length(self, field: str, expected: int, why: str = "") -> None:
        """Require the array `field` to have `expected` items."""
        items = getattr(self.desc, field)
        if len(items) != expected:
            self.fail(field, f"must have {expected} item(s){_because(why)}", len(items))

    def sizes(self, name: str, expected: Sequence[int], why: str = "") -> None:
        """Require exactly these sizes of the tensor (or each of an array)."""
        for field, tensor in self.tensors(name):
            if tensor.Sizes != tuple(expected):
                self.fail(field, f"must have sizes {tuple(expected)}{_because(why)}", tensor.Sizes)

    def size(self, name: str, axis: int, expected: int, why: str = "") -> None:
        """Require this size along an axis, which may be negative, of the tensor (or each of an array)."""
        for field, tensor in self.tensors(name):
            if not -tensor.rank <= axis < tensor.rank or tensor.Sizes[axis] != expected:
                self.fail(field, f"must have size {expected} in dimension {axis}{_because(why)}", tensor.Sizes)

    def one_or_along(self, name: str, axis: int, count: int) -> None:
        """Require the tensor (or each of an array) to have one element, or `count` along an axis, which may be
        negative.

        If a tensor lacks the axis, the elements must be along the nearest dimension that it has.
        """
        for field, tensor in self.tensors(name):
            dimension = min(axis, tensor.rank - 1) if axis >= 0 else max(axis + tensor.rank, 0)
            if tensor.Sizes[dimension] not in (1, count) or any(
                size != 1 for size in without_axis(tensor.Sizes, dimension)
            ):
                some = f"must have size 1, or {count} in dimension {dimension}, and size 1 in all others"
                self.fail(field, "must have size 1 in every dimension" if count == 1 else some, tensor.Sizes)

    def same_sizes(self, *names: str) -> None:
        """Require the same sizes of those tensors that are present."""
        self._same(names, "sizes", lambda tensor: tensor.Sizes)

    def same_rank(self, *names: str) -> None:
        """Require the same dimension count of those tensors that are present."""
        self._same(names, "dimension count", lambda tensor: tensor.rank)

    def same_data_type(self, *names: str) -> None:
        """Require the same data type of those tensors that are present."""
        self._same(names, "data type", lambda tensor: tensor.DataType)

    def _same(self, names: Iterable[str], what: str, of: Callable[[DML_BUFFER_TENSOR_DESC], object]) -> None:
        if len({of(tensor) for name in names for _, tensor in self.tensors(name)}) < 2:
            return
        first = None
        for name in names:
            for field, tensor in self.tensors(name):
                if first is None:
                    first = (field, of(tensor))
                elif of(tensor) != first[1]:
                    self.fail(field, f"must have the {what} of {first[0]}, {plain(first[1])}", of(tensor))

    def broadcastable(self, name: str, to: Sequence[int], why: str = "") -> None:
        """Require each of the tensor's sizes to be that of `to` or 1; leading dimensions may be missing."""
        for field, tensor in self.tensors(name):
            missing = len(to) - tensor.rank
            if missing < 0 or any(
                size not in (1, target) for size, target in zip(tensor.Sizes, to[max(missing, 0) :], strict=False)
            ):
                self.fail(field, f"must broadcast to sizes {tuple(to)}{_because(why)}", tensor.Sizes)

    def not_owned(self, *names: str) -> None:
        """Refuse DML_TENSOR_FLAG_OWNED_BY_DML on these tensors, which the operator takes at each dispatch."""
        for name in names:
            for field, tensor in self.tensors(name):
                if tensor.owned_by_dml:
                    self.fail(field, "does not support DML_TENSOR_FLAG_OWNED_BY_DML", tensor.Flags)

    def present(self, *names: str, at_least: int, why: str = "") -> None:
        """Require at least this many of the optional tensors."""
        if sum(getattr(self.desc, name) is not None for name in names) < at_least:
            self.fail(names[0], f"at least {at_least} of {', '.join(names)} must be given{_because(why)}")

    def fused_activation(self) -> None:
        """Require FusedActivation to be None or an activation that this operator can fuse, with tensors None and valid
        attributes."""
        field = "FusedActivation"
        activation = getattr(self.desc, field)
        if activation is not None:
            self._fusable(field, activation)

    def activations(self, field: str, expected: int, why: str = "") -> None:
        """Require the array to hold `expected` fusable activations, with tensors None and valid attributes."""
        self.length(field, expected, why)
        for index, activation in enumerate(getattr(self.desc, field)):
            self._fusable(f"{field}[{index}]", activation)

    def _fusable_since(self, kind: DML_OPERATOR_TYPE) -> DML_FEATURE_LEVEL:
        """Return the first level at which this operator can fuse an activation."""
        since = operator_introduced(kind)
        return max(ALSO_FUSABLE.get(self.desc.OPERATOR_TYPE, {}).get(kind, since), since)

    def _fusable(self, field: str, activation: OperatorDesc) -> None:
        from .common import check_attributes  # imported here: the common rules import this module

        kind = activation.OPERATOR_TYPE
        if kind not in FUSABLE_ACTIVATIONS and kind not in ALSO_FUSABLE.get(self.desc.OPERATOR_TYPE, {}):
            can = sorted(FUSABLE_ACTIVATIONS | ALSO_FUSABLE.get(self.desc.OPERATOR_TYPE, {}).keys())
            names = ", ".join(short_name(each) for each in can if self._fusable_since(each) <= self.level)
            rule = f"must be an activation that can be fused here (dml-fused-activations), one of {names}"
            self.fail(field, rule, activation)
        since = self._fusable_since(kind)
        if since > self.level:
            self.fail(field, f"can be fused from feature level {short_name(since)} on, not at {short_name(self.level)}",
                      activation)  # fmt: skip
        for info in activation.fields_info:
            if info.is_tensor and getattr(activation, info.name) is not None:
                self.fail(f"{field}.{info.name}", "must be None in a fused activation (dml-fused-activations)",
                          getattr(activation, info.name))  # fmt: skip
        inner = Check(activation, self.level, within=f"{self.name}.{field}.")
        check_attributes(inner)
        own_rule = _FUSED_RULES.get(type(activation))
        if own_rule is not None:
            own_rule(activation, inner)


def _because(why: str) -> str:
    return f" ({why})" if why else ""


__all__ = [
    "ALSO_FUSABLE", "FUSABLE_ACTIVATIONS", "Check", "Rule", "plain", "rule", "rule_of",
]  # fmt: skip
