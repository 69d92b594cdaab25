"""NON_MAX_SUPPRESSION: one workgroup per class of each image, and one round per selected or visited box."""

from __future__ import annotations

from collections.abc import Mapping

from dml.compiler.builder import ProgramBuilder
from dml.compiler.kernels.prelude import Bound, read, update, write
from dml.compiler.lowering import lowering
from dml.compiler.operators.reduction.monoids import sum_of
from dml.compiler.operators.reduction.scan import scan
from dml.compiler.program import Operand
from dml.compiler.selection.detection import SuppressionVisits, suppression_sharing, suppression_visits
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
    visits = suppression_visits(builder.target, count, most)
    if visits is None:
        _suppress(desc, builder, kept, found, sizes)
    else:
        _visit(desc, builder, kept, found, sizes, visits)
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


def _given(builder: ProgramBuilder) -> dict[str, Bound]:
    """Return the bindings of the operator's optional inputs that are given."""
    fields = (("limit", "LimitTensor"), ("overlap", "IouThresholdTensor"), ("least", "ScoreThresholdTensor"))
    return {name: read(operand) for name, field in fields if (operand := builder.get(field)) is not None}


def _defines(desc: OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC, given: Mapping[str, Bound], lanes: int) -> dict[str, object]:
    return {
        "LANES": lanes,
        "CENTERS": int(desc.CenterPointBox),
        "INCLUSIVE": int(desc.Inclusive),
        **{f"HAS_{name.upper()}": int(name in given) for name in ("limit", "overlap", "least")},
    }


def _suppress(
    desc: OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC,
    builder: ProgramBuilder,
    kept: Operand,
    found: Operand,
    sizes: Mapping[str, int],
) -> None:
    """Select a box per round, which drops those that overlap it. Writes the places of the selected boxes to kept, and
    their number to found."""
    lines, count, most = sizes["LINES"], sizes["BOXES"], sizes["MOST"]
    sharing = suppression_sharing(builder.target, count, most)
    if sharing is None:
        raise DMLError(f"NON_MAX_SUPPRESSION: {count} boxes of a class are too many for this device",
                       HRESULT.E_OUTOFMEMORY)  # fmt: skip
    left = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (lines, count))
    lengths = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (lines, sharing.lanes))
    given = _given(builder)
    state = {"left": update(left), "lengths": update(lengths), "kept": update(kept), "found": update(found)}
    for begin in range(0, most, sharing.rounds):
        builder.dispatch(
            SUPPRESS,
            {"boxes": read(builder["BoxesTensor"]), "scores": read(builder["ScoresTensor"]), **given, **state},
            groups=lines,
            workgroup=sharing.lanes,
            constants={**sizes, "BEGIN": begin, "END": min(begin + sharing.rounds, most)},
            defines=_defines(desc, given, sharing.lanes),
            steps=sharing.steps,
        )


def _visit(
    desc: OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC,
    builder: ProgramBuilder,
    kept: Operand,
    found: Operand,
    sizes: Mapping[str, int],
    visits: SuppressionVisits,
) -> None:
    """Visit a box per round, from the highest score, and keep it if it overlaps none kept before. Writes what
    ``_suppress`` does."""
    lines, count = sizes["LINES"], sizes["BOXES"]
    sizes = {**sizes, "SHIFT": visits.shift, "GROUPS": -(-count >> visits.shift)}
    tops = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (lines, sizes["GROUPS"], 2))
    given = _given(builder)
    least = {name: bound for name, bound in given.items() if name == "least"}
    scores = read(builder["ScoresTensor"])
    builder.dispatch(
        TOPS,
        {"scores": scores, **least, "tops": write(tops)},
        count=lines * sizes["GROUPS"],
        constants=sizes,
        defines={"HAS_LEAST": int("least" in given)},
        steps=1 << visits.shift,
    )
    state = {"tops": update(tops), "kept": update(kept), "found": update(found)}
    for begin in range(0, count, visits.rounds):
        builder.dispatch(
            VISIT,
            {"boxes": read(builder["BoxesTensor"]), "scores": scores, **given, **state},
            groups=lines,
            workgroup=visits.lanes,
            constants={**sizes, "BEGIN": begin, "ROUNDS": min(visits.rounds, count - begin)},
            defines=_defines(desc, given, visits.lanes),
            steps=visits.steps,
        )
