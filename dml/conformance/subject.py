"""A subject: one operator's cases and expected results."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from dml.capability import short_name
from dml.conformance import families
from dml.conformance.graphs import GraphDesc
from dml.conformance.layouts import LAYOUTS, named_layout
from dml.conformance.limits import Expected
from dml.conformance.parameters import Choice, OpenLabels, Parameters, ReadChoice, Skip, opened, tensor, types_of
from dml.conformance.values import Values
from dml.descriptors.base import OperatorDesc

Inputs = Mapping[str, Any]
Outputs = Mapping[str, Expected | list[Expected]]


class Exclusions:
    """The combinations of labels that a subject's description refuses, learned from those that were tried.

    A description's outcome depends only on the labels that it reads, so two choices that agree in them share it.
    """

    def __init__(self, describe: Callable[[Choice], Any], parameters: Parameters) -> None:
        self._describe, self._parameters = describe, parameters
        # The labels read so far -> the parameter to read next, or whether the labels have a description.
        self._next: dict[tuple[str, ...], str | bool] = {}

    def allow(self, labels: Mapping[str, str]) -> bool:
        """Whether these labels have a description."""
        read: tuple[str, ...] = ()
        while isinstance(found := self._next.get(read), str):
            read = (*read, labels[found])
        return self._learn(labels) if found is None else found

    def _learn(self, labels: Mapping[str, str]) -> bool:
        choice = ReadChoice(self._parameters, labels)
        try:
            self._describe(choice)
        except Skip:
            is_allowed = False
        else:
            is_allowed = True
        read: tuple[str, ...] = ()
        for parameter, label in choice.read.items():
            self._next[read] = parameter
            read = (*read, label)
        self._next[read] = is_allowed
        return is_allowed


@dataclass(frozen=True)
class Subject:
    """One operator, or a kind of graphs, under test.

    parameters: the varied parameters, ``type``, ``sizes``, ...; the first label is the default. describe: returns the
    description of a choice, with packed tensors. Raises Skip for a combination without meaning. reference: returns
    each output's expected values from the description (in its layout) and its inputs by field; tensor arrays are
    lists. inputs: returns the inputs of a description by field; by default every tensor is filled. layouts, values:
    the applicable ones; "edges" only if ``inputs`` and ``reference`` support NaN, infinities and extremes.
    """

    operator: type[OperatorDesc] | type[GraphDesc]
    parameters: Parameters
    describe: Callable[[Choice], Any]
    reference: Callable[[Any, Inputs], Outputs]
    inputs: Callable[[Any, Values], Inputs] | None = None
    layouts: tuple[str, ...] = LAYOUTS
    values: tuple[str, ...] = ("ordinary", "edges")

    @property
    def name(self) -> str:
        """The operator's short name: GRU, ELEMENT_WISE_ADD, ..."""
        return short_name(self.operator.OPERATOR_TYPE)

    @property
    def family(self) -> str:
        """The module of the operator's structure: movement, gemm, ...; "graphs" for graphs."""
        if issubclass(self.operator, GraphDesc):
            return "graphs"
        return self.operator.__module__.removeprefix("dml.descriptors.").partition(".")[0]

    @cached_property
    def all_parameters(self) -> Parameters:
        """The subject's own parameters, layouts and values."""
        return {
            **{name: opened(values) for name, values in self.parameters.items()},
            "layout": OpenLabels({label: label for label in self.layouts}, named_layout),
            "values": {label: label for label in self.values},
        }

    @cached_property
    def exclusions(self) -> Exclusions:
        """The combinations of labels that exclude each other."""
        return Exclusions(self.describe, self.all_parameters)

    @cached_property
    def kept_ids(self) -> dict[tuple[int, int], tuple[str, ...]]:
        """Its cases' ids by strength and seed; see ``case.case_ids``."""
        return {}

    def make_inputs(self, desc: OperatorDesc, values: Values) -> Inputs:
        """Return input arrays for a description, by field."""
        if self.inputs is not None:
            return self.inputs(desc, values)
        found: dict[str, Any] = {}
        for name, given in desc.inputs():
            if isinstance(given, tuple):
                found[name] = [values.fill(item) for item in given]
            elif given is not None:
                found[name] = values.fill(given)
        return found


_SUBJECTS: dict[str, Subject] = {}


def subject(
    operator: type[OperatorDesc] | type[GraphDesc],
    *,
    parameters: Mapping[str, Mapping[str, Any] | str],
    describe: Callable[[Choice], Any] = lambda choice: {},
    reference: Callable[[Any, Inputs], Outputs | Expected],
    **more: Any,
) -> Subject:
    """Make and register an operator's subject; each operator has one.

    parameters: a tensor's name stands for its data types; ``type`` comes first, by default the first tensor's types.
    describe: returns a graph, or the operator's fields; required tensors that it leaves out get the choice's ``type``
    and ``sizes``. reference: may return the only output's expected values.
    """
    labels: dict[str, Any] = dict(parameters)
    if issubclass(operator, OperatorDesc):
        tensors = [info for info in operator.fields_info if info.is_tensor]
        labels = {"type": tensors[0].name, **parameters}
        labels = {name: types_of(operator, of) if isinstance(of, str) else of for name, of in labels.items()}

    def described(choice: Choice) -> Any:
        found = describe(choice)
        if issubclass(operator, GraphDesc):
            return found
        missing = [info.name for info in tensors if not info.optional and info.name not in found]
        return operator(**{name: tensor(choice.type, choice.sizes) for name in missing}, **found)

    def expected(desc: Any, inputs: Inputs) -> Outputs:
        found = reference(desc, inputs)
        return {next(name for name, _ in desc.outputs()): found} if isinstance(found, Expected) else found

    result = Subject(operator, labels, described, expected, **more)
    assert result.name not in _SUBJECTS, f"{result.name} already has a subject"
    _SUBJECTS[result.name] = result
    return result


@cache
def load(folders: tuple[str, ...]) -> Mapping[str, Subject]:
    """Import the families' modules in these folders, once; return the subjects in the order of the operator types."""
    for module in pkgutil.iter_modules(folders):
        importlib.import_module(f"{families.__name__}.{module.name}")
    return dict(sorted(_SUBJECTS.items(), key=lambda item: item[1].operator.OPERATOR_TYPE))


def subjects() -> Mapping[str, Subject]:
    """Return every operator's subject by the operator's short name, in the order of the operator types."""
    return load(tuple(families.__path__))
