"""NON_MAX_SUPPRESSION: one workgroup per class of each image, one round per selected box."""

from __future__ import annotations

from dml.compiler.builder import ProgramBuilder
from dml.compiler.kernels.prelude import read, update, write
from dml.compiler.lowering import lowering
from dml.compiler.operators.reduction.monoids import sum_of
from dml.compiler.operators.reduction.scan import scan
from dml.compiler.selection.detection import suppression_sharing
from dml.descriptors.detection import OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC
from dml.enums import DML_TENSOR_DATA_TYPE_UINT32
from dml.errors import HRESULT, DMLError

SUPPRESS = "detection/suppress.comp"
ROWS = "detection/rows.comp"


@lowering(OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC)
def non_max_suppression(desc: OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Split the rounds into as many dispatches as needed; rounds after the last selected box end at once.

    A NaN score exceeds no threshold; without a threshold it ranks below all other scores.
    """
    boxes, scores = builder["BoxesTensor"], builder["ScoresTensor"]
    images, classes, count = scores.sizes
    lines, most = images * classes, desc.MaximumBoxes
    sharing = suppression_sharing(builder.target, count, most)
    if sharing is None:
        raise DMLError(f"NON_MAX_SUPPRESSION: {count} boxes of a class are too many for this device",
                       HRESULT.E_OUTOFMEMORY)  # fmt: skip
    left = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (lines, count))
    lengths = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (lines, sharing.lanes))
    kept = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (lines, most))
    found = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (1, lines))
    given = {
        name: read(operand)
        for name, field in (("limit", "Limit"), ("overlap", "IouThreshold"), ("least", "ScoreThreshold"))
        if (operand := builder.get(f"{field}Tensor")) is not None
    }
    state = {"left": update(left), "lengths": update(lengths), "kept": update(kept), "found": update(found)}
    sizes = {"LINES": lines, "CLASSES": classes, "BOXES": count, "MOST": most}
    for begin in range(0, most, sharing.rounds):
        builder.dispatch(
            SUPPRESS,
            {"boxes": read(boxes), "scores": read(scores), **given, **state},
            groups=lines,
            workgroup=sharing.lanes,
            constants={**sizes, "BEGIN": begin, "END": min(begin + sharing.rounds, most)},
            defines={
                "LANES": sharing.lanes,
                "CENTERS": int(desc.CenterPointBox),
                "INCLUSIVE": int(desc.Inclusive),
                **{f"HAS_{name.upper()}": int(name in given) for name in ("limit", "overlap", "least")},
            },
            steps=sharing.steps,
        )
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
