"""Cases of older copies of the suite that cannot pass, each with the reason."""

from __future__ import annotations

import re

from tools.webnn_suite.runner import CaseResult

#: Part of "file: case" as a regular expression, and why such a case fails.
_LEFT: tuple[tuple[str, str], ...] = ()


def why_left(case: CaseResult) -> str | None:
    """Why a case that fails is none of the specification's any more; None for others."""
    if case.passed:
        return None
    return next((why for pattern, why in _LEFT if re.search(pattern, f"{case.file}: {case.name}")), None)
