"""tools/onnx_coverage: write dml/frontends/onnx/OPERATORS.md, the table of mapped ONNX operators and of excluded cases
of ONNX's backend suite.

Counts come from the suite's cases and tests/frontends/onnx/excluded.py; test_backend_suite.py checks that exactly the
excluded cases fail.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "frontends" / "onnx"))

import onnx  # noqa: E402
from excluded import reason  # noqa: E402

from dml.frontends.onnx.load.loading import nodes  # noqa: E402
from dml.frontends.onnx.map.blocked import NCHWC  # noqa: E402
from dml.frontends.onnx.registry import mapped  # noqa: E402

_CHOICES = """\
RoiAlign's mode max takes the maximum of the bilinear interpolations at the sampled points, as ONNX's text and
DirectML's page say, and as OpenVINO computes. onnx's reference (1.23), the stored output of test_roialign_mode_max and
onnxruntime's CPU provider (1.32, which warns that this is incorrect) take the maximum of each neighbor's product with
its weight instead (onnx issue 4764).

Casts of floats to strings run on the host. ONNX's text asks for a plain floating-point representation and does not
specify the number of digits (onnx issue 5574). onnxruntime, if installed, writes up to 8 significant digits, `1`,
`INF` and `NaN`; onnx's reference and the stored outputs of onnx 1.18 and earlier have NumPy's shortest digits, `1.0`,
`inf` and `nan`. Newer versions of the suite have no such case.
"""


def cases() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        kinds = ("node", "simple", "pytorch-converted", "pytorch-operator")
        return [case for kind in kinds for case in load_model_tests(kind=kind)]


def operators_of(case: Any) -> set[str]:
    model = case.model if case.model is not None else onnx.load(str(Path(case.model_dir) / "model.onnx"))
    return {f"{node.domain}::{node.op_type}" if node.domain else node.op_type for node in nodes(model)}


def main() -> None:
    passed: dict[str, int] = defaultdict(int)
    excluded: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    total = left_out = 0
    for case in cases():
        why = reason(case.name)
        total, left_out = total + 1, left_out + (why is not None)
        if case.name.endswith("_expanded"):
            continue  # the case without the function's expansion counts
        for name in operators_of(case):
            if why is None:
                passed[name] += 1
            else:
                excluded[name][why] += 1
    # The version of com.microsoft.nchwc is the size of its blocks
    own = {
        f"{domain}::{name}" if domain else name: 1 if domain == NCHWC else since
        for (domain, name), since in mapped().items()
    }
    lines = [
        "# ONNX operators",
        "",
        f"Made by `tools/onnx_coverage` with onnx {onnx.__version__}. Of {total} cases of its backend suite (node,",
        f"simple and pytorch-derived) {total - left_out} pass, {left_out} are excluded. "
        "A case with nodes on the host, where",
        "unmapped operators run unless `fallback=False` forbids it, does not count as passed.",
        "",
        "Mapped since: the first version of the operator with its own mapping; functions are expanded into other",
        "operators. Cases count for every operator in them.",
        "",
        "All operators of ONNX Runtime's DirectML provider are mapped: tests/frontends/onnx/test_onnx_operators.py has",
        "the list, for ONNX's domain, com.microsoft and com.microsoft.dml.",
        "",
        _CHOICES,
        "| operator | mapped since | pass | excluded | why |",
        "| --- | --- | ---: | ---: | --- |",
    ]
    for name in sorted({*own, *passed, *excluded}, key=str.lower):
        since = str(own[name]) if name in own else ("function" if passed[name] else "-")
        reasons = excluded.get(name, {})
        why = "; ".join(reasons)
        lines.append(f"| {name} | {since} | {passed[name]} | {sum(reasons.values())} | {why} |")
    path = ROOT / "dml" / "frontends" / "onnx" / "OPERATORS.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n", "utf-8")
    print(f"{path.relative_to(ROOT)}: {total - left_out} of {total} pass, {len(own)} operators mapped")


if __name__ == "__main__":
    main()
