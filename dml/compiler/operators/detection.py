"""NON_MAX_SUPPRESSION: one workgroup per class of each image, and one round per selected or visited box."""

from __future__ import annotations

from collections.abc import Mapping

from dml.compiler.builder import ProgramBuilder
from dml.compiler.kernels.prelude import Bound, read, update, write
from dml.compiler.lowering import lowering
from dml.compiler.operators.reduction.monoids import sum_of
from dml.compiler.operators.reduction.scan import scan
from dml.compiler.program import Operand
from dml.compiler.selection.detection import suppression_sharing
from dml.descriptors.detection import OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC
from dml.enums import DML_TENSOR_DATA_TYPE_UINT32
from dml.errors import HRESULT, DMLError

SUPPRESS = "detection/suppress.comp"
TOPS = "detection/tops.comp"
VISIT = "detection/visit.comp"
ROWS = "detection/rows.comp"


@lowering(OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC)
def non_max_suppression(desc: OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Split the rounds into as many dispatches as needed; rounds after the last selected box end at once.

    A NaN score exceeds no threshold; without a threshold it ranks below all other scores.
    """
    scores = builder["ScoresTensor"]
    images, classes, count = scores.sizes
    lines, most = images * classes, desc.MaximumBoxes
    kept = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (lines, most))
    found = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (1, lines))
    sizes = {"LINES": lines, "CLASSES": classes, "BOXES": count, "MOST": most}
    _select(desc, builder, kept, found, sizes)
    before = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (1, lines))
    scan(builder, sum_of("uint"), found, before, 1, exclusive=True)
    own_scores = builder.get("OutputScoresTensor")
    tensors = {
        "kept": read(kept),
        "found": read(found),
        "before": read(before),
        "count": write(builder["OutputCountTensor"]),
        "rows": write(builder["OutputSelectedTensor"]),
    }
    if own_scores is not None:
        tensors |= {"scores": read(scores), "values": write(own_scores)}
    builder.dispatch(
        ROWS, tensors, count=lines * most, constants=sizes, defines={"HAS_SCORES": int(own_scores is not None)}
    )


def _select(
    desc: OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC,
    builder: ProgramBuilder,
    kept: Operand,
    found: Operand,
    sizes: Mapping[str, int],
) -> None:
    """Write the indices of the selected boxes of each line (the boxes of one class of an image) to ``kept``, and their
    number to ``found``.

    Each round selects a box and drops those that overlap it; or it visits a box, from the highest score, and keeps it
    if it overlaps none kept before.
    """
    lines, count, most = sizes["LINES"], sizes["BOXES"], sizes["MOST"]
    sharing = suppression_sharing(builder.target, count, most)
    if sharing is None:
        raise DMLError(f"NON_MAX_SUPPRESSION: {count} boxes of a class are too many for this device",
                       HRESULT.E_OUTOFMEMORY)  # fmt: skip
    fields = (("limit", "LimitTensor"), ("overlap", "IouThresholdTensor"), ("least", "ScoreThresholdTensor"))
    given = {name: read(operand) for name, field in fields if (operand := builder.get(field)) is not None}
    if sharing.shift:
        kernel, end, sizes = VISIT, count, {**sizes, "SHIFT": sharing.shift, "GROUPS": -(-count >> sharing.shift)}
        state = {"tops": _tops(builder, given, sizes)}
    else:
        kernel, end, state = SUPPRESS, most, {
            "left": builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (lines, count)),
            "lengths": builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (lines, sharing.lanes)),
        }  # fmt: skip
    tensors = {"boxes": read(builder["BoxesTensor"]), "scores": read(builder["ScoresTensor"]), **given}
    tensors |= {name: update(operand) for name, operand in (*state.items(), ("kept", kept), ("found", found))}
    for begin in range(0, end, sharing.rounds):
        builder.dispatch(
            kernel,
            tensors,
            groups=lines,
            workgroup=sharing.lanes,
            constants={**sizes, "BEGIN": begin, "END": min(begin + sharing.rounds, end)},
            defines={
                "LANES": sharing.lanes,
                "CENTERS": int(desc.CenterPointBox),
                "INCLUSIVE": int(desc.Inclusive),
                **{f"HAS_{name.upper()}": int(name in given) for name, _ in fields},
            },
            steps=sharing.steps,
        )


def _tops(builder: ProgramBuilder, given: Mapping[str, Bound], sizes: Mapping[str, int]) -> Operand:
    """Return the rank and the index of the first box of each group."""
    tops = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (sizes["LINES"], sizes["GROUPS"], 2))
    least = {name: bound for name, bound in given.items() if name == "least"}
    builder.dispatch(
        TOPS,
        {"scores": read(builder["ScoresTensor"]), **least, "tops": write(tops)},
        count=sizes["LINES"] * sizes["GROUPS"],
        constants=sizes,
        defines={"HAS_LEAST": int("least" in given)},
        steps=1 << sizes["SHIFT"],
    )
    return tops
