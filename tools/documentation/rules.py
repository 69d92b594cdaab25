"""An operator's rule in words: the requirements that its checks make of the page's example."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import dml
from dml.capability import operator_introduced, short_name
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC
from dml.validator.base import Check, Rule, rule_of


def in_words(desc: OperatorDesc) -> list[str]:
    """Return the rule's requirements on this description, a sentence each: the field, then the requirement.

    Requirements that hold only at the operator's first feature level come next. Checks that this description does not
    reach come last, without numbers.
    """
    rule = rule_of(type(desc))
    if rule is None:
        return []
    first, last = operator_introduced(desc.OPERATOR_TYPE), max(dml.DML_FEATURE_LEVEL)
    early, late = (_said(rule, desc, level) for level in (first, last))
    older = [f"at feature level {short_name(first)}: {one}" for one in early if one not in late]
    return list(dict.fromkeys([*late, *older, *_conditional(rule)]))


def _said(rule: Rule, desc: OperatorDesc, level: dml.DML_FEATURE_LEVEL) -> list[str]:
    check = _SpokenCheck(desc, level)
    rule(desc, check)
    return check.said


class _SpokenCheck(Check):
    """A Check that records each requirement, met or not."""

    def __init__(self, desc: OperatorDesc, level: dml.DML_FEATURE_LEVEL) -> None:
        super().__init__(desc, level)
        self.said: list[str] = []

    def _say(self, field: str, rule: str) -> None:
        # Requirements on an array name its first tensor; the page names the array
        self.said.append(_sentence(field.replace("[0]", ""), rule))

    def _tensors_say(self, name: str, rule: str) -> None:
        if self.tensors(name):
            self._say(name, rule)

    def that(self, condition: bool, field: str, rule: str, found: object = None) -> None:
        if not re.search(r"\[[1-9]", field):
            self._say(field, rule)

    def in_range(self, field: str, low: float, high: float) -> None:
        self._say(field, f"must be from {low} to {high}")

    def at_least(self, field: str, low: float) -> None:
        self._say(field, f"must be at least {low}")

    def axis(self, field: str, of: str = "InputTensor") -> None:
        self._say(field, f"must be a dimension of `{of}`")

    def axes(self, field: str = "Axes", of: str = "InputTensor", *, at_least: int = 0) -> None:
        least = f", {at_least} at least" if at_least else ""
        self._say(field, f"must be different dimensions of `{of}`{least}")

    def length(self, field: str, expected: int, why: str = "") -> None:
        self._say(field, f"must have {expected} item{'s' * (expected != 1)}{_because(why)}")

    def sizes(self, name: str, expected: Sequence[int], why: str = "") -> None:
        self._tensors_say(name, f"must have sizes {tuple(expected)}{_because(why)}")

    def size(self, name: str, axis: int, expected: int, why: str = "") -> None:
        self._tensors_say(name, f"must have size {expected} in dimension {axis}{_because(why)}")

    def one_or_along(self, name: str, axis: int, count: int) -> None:
        where = (
            "its last dimension" if axis == -1 else f"dimension {axis}" if axis >= 0 else "its last but one dimension"
        )
        self._tensors_say(name, f"must have one element, or {count} along {where}")

    def broadcastable(self, name: str, to: Sequence[int], why: str = "") -> None:
        self._tensors_say(name, f"must broadcast to sizes {tuple(to)}{_because(why)}")

    def not_owned(self, *names: str) -> None:
        given = [f"`{name}`" for name in names if self.tensors(name)]
        if given:
            self.said.append(f"{', '.join(given)} must not have DML_TENSOR_FLAG_OWNED_BY_DML")

    def present(self, *names: str, at_least: int, why: str = "") -> None:
        listed = ", ".join(f"`{name}`" for name in names)
        some = f"at least {at_least} of {listed}" if len(names) > 1 else listed
        self.said.append(f"{some} must be given{_because(why)}")

    def fused_activation(self) -> None:
        self._say("FusedActivation", "must be None or an activation that can be fused, without tensors")

    def activations(self, field: str, expected: int, why: str = "") -> None:
        self._say(field, f"must be {expected} activations that can be fused{_because(why)}, without tensors")

    def _same(self, names: Iterable[str], what: str, of: Callable[[DML_BUFFER_TENSOR_DESC], object]) -> None:
        given = [f"`{name}`" for name in names if self.tensors(name)]
        if len(given) > 1:
            self.said.append(f"{', '.join(given)} must have the same {what}")


def _sentence(field: str, rule: str) -> str:
    return f"`{field}`{'' if rule.startswith(('must', 'with')) else ':'} {rule}"


def _because(why: str) -> str:
    return f" ({why})" if why else ""


def _conditional(rule: Callable[..., Any]) -> list[str]:
    """Return the requirements that the rule states in calls of ``check.fail(field, rule, ...)``."""
    found = []
    for call in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(rule)))):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "check.fail" and len(call.args) > 1:
            field, text = call.args[0], call.args[1]
            if isinstance(field, ast.Constant) and isinstance(text, ast.Constant | ast.JoinedStr):
                parts = text.values if isinstance(text, ast.JoinedStr) else [text]
                words = "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)
                found.append(_sentence(ast.literal_eval(field), words))
    return found
