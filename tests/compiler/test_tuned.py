"""Tables of measurements: selection follows them within the device's abilities, and ignores damaged ones."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field, replace

import pytest

import dml
from desktop import DESKTOP
from dml.compiler.features import NO_FEATURES, Features, MatrixShape
from dml.compiler.lowering import compile_operator
from dml.compiler.selection import tuned as selection
from dml.compiler.selection.gemm import MatrixProduct, SharedProduct, product_kernel
from dml.compiler.selection.lines import HeldRowsChoice, held_rows
from dml.compiler.selection.tiles import ProductSizes, TiledProduct
from dml.compiler.target import DeviceClass, Target
from dml.compiler.tuned import FORMAT, NOTHING_TUNED, Tuned, TunedChoice, as_json, from_json
from dml.tuning.tuner import ListeningTable, TuningQuestion
from dml.tuning.works import FAMILIES, works

HALVES = (MatrixShape(16, 16, 16, "FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32"),)
BYTES = (MatrixShape(16, 16, 32, "INT8", "INT8", "INT32", "INT32"),)
TARGETS = {
    "llvmpipe": Target(
        device_class=DeviceClass.CPU,
        max_workgroup_invocations=1024,
        max_workgroup_size=(1024, 1024, 1024),
        shared_memory=32768,
        subgroup_size=8,
        features=Features(subgroup_operations=frozenset({"ballot"})),
    ),
    "SwiftShader": Target(device_class=DeviceClass.CPU, max_workgroup_invocations=256, subgroup_size=4),
    "desktop": DESKTOP,
    "desktop with matrices": replace(
        DESKTOP,
        features=Features(
            float16=True, int8=True, integer_dot_product=True, memory_model=True, cooperative_matrices=HALVES + BYTES
        ),
    ),
    "Vulkan's minimum": Target(),
    "few steps": replace(DESKTOP, fewer_steps=256),
}


def choice(question: TuningQuestion, variant: str) -> TunedChoice:
    return TunedChoice(question.family, question.work, variant, 1e-3, question.rule, 2e-3)


def asked_by(target: Target, desc: object) -> list[TuningQuestion]:
    table = ListeningTable(target.tuned.choices)
    with contextlib.suppress(dml.DMLError):  # if it binds more than the 128 MiB of Vulkan's minimum
        compile_operator(desc, replace(target, tuned=table))
        return table.asked
    return []


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_device_can_run_every_enumerated_variant(target: Target, family: str) -> None:
    """A table can choose each variant, and its program is then within the device's limits."""
    for work in works(family):
        for question in asked_by(target, work.desc):
            assert question.rule in question.variants
            for variant in question.variants:
                table = Tuned((choice(question, variant),))
                program = compile_operator(work.desc, replace(target, tuned=table))
                for dispatch in program.dispatches:
                    assert dispatch.invocations <= target.max_workgroup_invocations, (question, variant)
                    assert dispatch.invocations <= target.max_workgroup_size[0], (question, variant)


def test_every_family_with_variants_is_tuned_on_gpus_and_cpus() -> None:
    asked = {
        name: {question.family for family in FAMILIES for work in works(family) for question in asked_by(t, work.desc)}
        for name, t in TARGETS.items()
    }
    assert asked["llvmpipe"] == {"product", "convolution", "recurrent"}
    assert asked["desktop with matrices"] == set(FAMILIES)


def test_products_of_bytes_are_tuned() -> None:
    """Devices with both matrix units and dot products offer both as variants."""
    works_of_bytes = [work for work in works("product") if work.name.startswith("INT8")]
    asked = [question for w in works_of_bytes for question in asked_by(TARGETS["desktop with matrices"], w.desc)]
    assert asked
    for question in asked:
        assert {variant.split()[0] for variant in question.variants} == {"ByteMatrixProduct", "DotProduct"}


def test_measured_variants_are_chosen() -> None:
    sizes = ProductSizes(1024, 1024, 1024, 1)
    by_rule = product_kernel(DESKTOP, sizes, a_along_columns=False, b_along_k=False)
    wanted = SharedProduct(32, 32, blocks=(1, 1), tile_k=16)
    name = selection.variant_name(wanted)
    work = "32 bits, 1048576+ sums of 512+"
    target = replace(DESKTOP, tuned=Tuned((TunedChoice("product", work, name, 1.0, "", 2.0),)))
    found = product_kernel(target, sizes, a_along_columns=False, b_along_k=False)
    assert isinstance(found, SharedProduct)
    assert by_rule != found
    assert replace(found, split_k=1) == wanted
    # sizes in the same class of work take the measured variant, sizes in another class do not
    near = product_kernel(target, ProductSizes(1300, 900, 600, 1), a_along_columns=False, b_along_k=False)
    assert near.tile == wanted.tile
    far = ProductSizes(128, 128, 1024, 1)
    assert product_kernel(target, far, a_along_columns=False, b_along_k=False) == product_kernel(
        DESKTOP, far, a_along_columns=False, b_along_k=False
    )


def test_variants_beyond_the_device_are_not_chosen() -> None:
    """If matrix units are turned off, or a tile exceeds shared memory, selection ignores the table."""
    full = TARGETS["desktop with matrices"]
    sizes = ProductSizes(1024, 1024, 1024, 1)
    on_units = product_kernel(full, sizes, a_along_columns=False, b_along_k=False, halves=True)
    assert isinstance(on_units, MatrixProduct)
    name = selection.variant_name(replace(on_units, split_k=1))
    table = Tuned((TunedChoice("product", "FLOAT16, 1048576+ sums of 512+", name, 1.0, "", 2.0),))
    for target in (replace(full, features=NO_FEATURES), replace(full, shared_memory=16384)):
        by_rule = product_kernel(target, sizes, a_along_columns=False, b_along_k=False, halves=True)
        with_table = replace(target, tuned=table)
        assert product_kernel(with_table, sizes, a_along_columns=False, b_along_k=False, halves=True) == by_rule


def test_rows_need_not_be_held() -> None:
    work = f"{selection.at_least(4096)} elements by 4"
    none = TunedChoice("rows", work, selection.variant_name(HeldRowsChoice(0)), 1.0, "", 2.0)
    assert held_rows(DESKTOP, 4096, 4) is not None
    assert held_rows(replace(DESKTOP, tuned=Tuned((none,))), 4096, 4) is None


def test_a_cpu_gets_the_tile_that_was_measured() -> None:
    target = TARGETS["SwiftShader"]
    sizes = ProductSizes(512, 512, 512, 1)
    wanted = TiledProduct(8, 8, 4)
    choice = TunedChoice("product", "rows, 65536+ sums of 512+", selection.variant_name(wanted), 1.0, "", 2.0)
    by_table = replace(target, tuned=Tuned((choice,)))
    assert product_kernel(target, sizes, a_along_columns=False, b_along_k=False) != wanted
    assert product_kernel(by_table, sizes, a_along_columns=False, b_along_k=False) == wanted


def test_classes_are_no_sizes() -> None:
    assert [selection.at_least(size) for size in (1, 3, 4, 15, 16, 4095, 4096)] == [
        "1+", "1+", "4+", "4+", "16+", "1024+", "4096+"
    ]  # fmt: skip
    assert selection.at_least(100, 10) == "100+"


@dataclass(frozen=True)
class Kernel:
    rows: int
    own: tuple[int, int]
    parts: int = 1
    more: list[int] = field(default_factory=list, compare=False)


def test_names_are_the_fields_that_are_not_as_usual() -> None:
    assert selection.variant_name(Kernel(8, (2, 4))) == "Kernel rows=8 own=2 x 4 more=[]"
    assert selection.variant_name(Kernel(8, (2, 4), 3)) == "Kernel rows=8 own=2 x 4 parts=3 more=[]"
    assert selection.variant_name("Winograd") == "Winograd"


# --- The table as a file ----------------------------------------------------------------------------------------------

ONE = TunedChoice("product", "some", "SharedProduct rows=64", 0.5, "by rule", 1.0)
OTHER = TunedChoice("rows", "some", "HeldRowsChoice steps=0", 0.5, "by rule", 1.0)


def test_a_table_is_read_as_it_was_written() -> None:
    table = NOTHING_TUNED.with_choices(OTHER, ONE)
    assert from_json(as_json(table, "a"), "a") == table == Tuned((ONE, OTHER))
    assert not NOTHING_TUNED
    assert table


def test_a_newer_choice_replaces_an_older_one() -> None:
    newer = replace(ONE, variant="SharedProduct rows=32")
    assert NOTHING_TUNED.with_choices(ONE, OTHER).with_choices(newer).choices == (newer, OTHER)


def written(**changes: object) -> bytes:
    return json.dumps({**json.loads(as_json(Tuned((ONE,)), "a")), **changes}).encode()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "damaged"),
        (b"\xff{}", "damaged"),
        (b"[]", f"format is not {FORMAT}"),
        (written(format=FORMAT - 1), f"format is not {FORMAT}"),
        (written(device="b"), "for another device"),
        (written(choices={}), "must have a list"),
        (written(choices=[{}] * 2000), "must have a list"),
        (written(choices=[1]), "missing or unknown fields"),
        (written(choices=[{"family": "product"}]), "missing or unknown fields"),
        (written(choices=[{**ONE.__dict__, "variant": 3}]), "variant must be a short text"),
        (written(choices=[{**ONE.__dict__, "work": "x" * 1000}]), "work must be a short text"),
        (written(choices=[{**ONE.__dict__, "work": "\x1b[31m"}]), "work must be a short text"),
        (written(choices=[{**ONE.__dict__, "seconds": -1.0}]), "seconds must be a number of seconds"),
        (written(choices=[{**ONE.__dict__, "seconds": "1"}]), "seconds must be a number of seconds"),
    ],
)
def test_invalid_tables_are_refused_with_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(dml.DMLError, match=reason):
        from_json(data, "a")
