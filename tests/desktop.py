"""A desktop GPU with every optional feature, for tests of the choices made for it."""

from __future__ import annotations

from dml.compiler.features import Features, FloatMode, MatrixShape
from dml.compiler.target import DeviceClass, Target

DESKTOP = Target(
    device_class=DeviceClass.DISCRETE,
    max_workgroup_invocations=1024,
    max_workgroup_size=(1024, 1024, 64),
    shared_memory=49152,
    subgroup_size=32,
)

HALVES = MatrixShape(16, 16, 16, "FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32")
BYTES = MatrixShape(16, 16, 32, "INT8", "INT8", "INT32", "INT32")
EVERY_FEATURE = Features(
    storage_16bit=True,
    storage_8bit=True,
    float16=True,
    int8=True,
    integer_dot_product=True,
    subgroup_operations=frozenset({"arithmetic", "ballot", "shuffle", "shuffle_relative", "vote"}),
    float16_exact=tuple(
        FloatMode(name, 16) for name in ("SignedZeroInfNanPreserve", "DenormPreserve", "RoundingModeRTE")
    ),
    memory_model=True,
    cooperative_matrices=(HALVES, BYTES),
    matrix_reductions=True,
)
