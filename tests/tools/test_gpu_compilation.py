"""tools/gpu_compile: what passes for no worse than the record, and kernels through AMD's compiler."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dml.compiler.target import DeviceClass, Target
from tools.gpu_compilation import __main__ as command
from tools.gpu_compilation import record
from tools.gpu_compilation.drivers import DRIVERS, Driver, NoDriverError
from tools.gpu_compilation.figures import Figures
from tools.gpu_compilation.generation import Report, compile_generation
from tools.gpu_compilation.record import Record, judge, load, renewed, row, save
from tools.gpu_compilation.workloads import workloads

FIGURES = Figures(
    instructions=400, vgprs=64, sgprs=128, vgpr_spills=0, sgpr_spills=0, scratch=0, lds=8704, waves=16, milliseconds=9.0
)
SPILLS = replace(FIGURES, vgpr_spills=20, scratch=1024)


def report(figures: Figures = FIGURES, name: str = "GEMM: gemm/shared", mesa: str = "22.3.6") -> Report:
    return Report("navi21", mesa, {name: figures})


def recorded(figures: Figures = FIGURES, reason: str = "") -> Record:
    """A record of that one report. reason: why its kernel may spill."""
    return renewed(Record(accepted={"navi21 GEMM: gemm/shared": reason} if reason else {}), [report(figures)])


@pytest.mark.parametrize("changes", [{}, {"instructions": 500, "vgprs": 80}, {"lds": 16384, "waves": 2}])
def test_as_good_as_recorded(changes: dict[str, int]) -> None:
    verdict = judge(report(replace(FIGURES, **changes)), recorded())
    assert verdict == record.Verdict(compared=True)


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"instructions": 501}, "has 501 instructions, 400 are recorded"),
        ({"vgprs": 84}, "has 84 vgprs, 64 are recorded"),
        ({"vgpr_spills": 3}, "spills 3 vector and 0 scalar registers, 0 bytes of scratch"),
        ({"sgpr_spills": 2}, "spills 0 vector and 2 scalar registers"),
        ({"scratch": 16}, "16 bytes of scratch"),
    ],
)
def test_what_got_worse(changes: dict[str, int], said: str) -> None:
    (failure,) = judge(report(replace(FIGURES, **changes)), recorded()).failures
    assert failure.startswith("GEMM: gemm/shared ")
    assert said in failure


def test_a_small_kernel_may_grow_by_a_step() -> None:
    small = replace(FIGURES, instructions=24, vgprs=8)
    assert not judge(report(replace(small, instructions=40, vgprs=16)), recorded(small)).failures
    assert len(judge(report(replace(small, instructions=41, vgprs=20)), recorded(small)).failures) == 2


def test_another_compiler_is_not_compared_and_still_must_not_spill() -> None:
    grown = replace(FIGURES, instructions=4000)
    verdict = judge(report(grown, mesa="25.0.7"), recorded())
    assert (verdict.compared, verdict.failures, verdict.new) == (False, [], [])
    assert judge(report(SPILLS, mesa="25.0.7"), recorded()).failures


def test_a_new_kernel_is_said_and_must_not_spill() -> None:
    verdict = judge(report(name="ADD: vector"), recorded())
    assert (verdict.failures, verdict.new, verdict.gone) == ([], ["ADD: vector"], ["GEMM: gemm/shared"])
    assert judge(report(SPILLS, name="ADD: vector"), recorded()).failures


def test_an_accepted_spill_may_not_grow() -> None:
    known = recorded(SPILLS, "that version's compiler")
    assert not judge(report(SPILLS), known).failures
    (failure,) = judge(report(replace(SPILLS, scratch=2048)), known).failures
    assert "has 2048 scratch, 1024 are recorded" in failure


def test_a_refused_kernel_fails() -> None:
    (failure,) = judge(Report("navi21", "22.3.6", {}, {"ADD: vector": "VkErrorUnknown"}), Record()).failures
    assert failure == "ADD: vector is refused: VkErrorUnknown"


def test_recording_replaces_a_generation_and_keeps_the_others() -> None:
    old = Record(
        {"22.3.6": {"navi21": {"GONE: x": row(FIGURES)}, "vega10": {"KEPT: x": row(FIGURES)}}},
        {"navi21 GONE: x": "mended", "vega10 KEPT: x": "not compiled now"},
    )
    new = renewed(old, [report(mesa="22.3.7")])
    assert new.figures == {
        "22.3.6": {"vega10": {"KEPT: x": row(FIGURES)}},
        "22.3.7": {"navi21": {"GEMM: gemm/shared": row(FIGURES)}},
    }
    assert new.accepted == {"vega10 KEPT: x": "not compiled now"}


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    both = [report(), replace(report(SPILLS, name="ADD: vector"), generation="vega10")]
    known = renewed(Record(accepted={"vega10 ADD: vector": 'a "reason"'}), both)
    save(known, tmp_path / "record.json")
    assert load(tmp_path / "record.json") == known
    assert load(tmp_path / "none.json") == Record()


def test_what_is_committed(tmp_path: Path) -> None:
    """It is of every generation, and as --record writes it, so that what changes is all that a commit shows."""
    known = load()
    generations = {generation for held in known.figures.values() for generation in held}
    assert generations == {generation for driver in DRIVERS for generation in driver.generations}
    save(known, tmp_path / "record.json")
    assert (tmp_path / "record.json").read_text() == record.RECORD.read_text()


@pytest.mark.parametrize(
    "reports, missing, status",
    [
        ([report()], [], 0),
        ([report(SPILLS)], [], 1),
        ([report()], [DRIVERS[1]], 0),
        ([], [DRIVERS[0]], 3),
    ],
    ids=["well", "spills", "without the driver that is unpacked", "without the machine's driver"],
)
def test_exit_status(
    reports: list[Report], missing: list[Driver], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_compile", lambda *_, **__: (reports, missing))
    monkeypatch.setattr(record, "load", recorded)
    assert command.main(["--check"]) == status


def test_a_driver_that_is_not_to_be_had_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine without Debian's tools."""
    (tmp_path / "bash").symlink_to("/bin/bash")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(NoDriverError) as error:
        Driver("trixie", ("navi31",)).find()
    assert str(error.value) == "the drivers of Debian trixie are not to be had: this is no Debian"


def test_no_two_workloads_have_one_name() -> None:
    names = [workload.name for workload in workloads()]
    assert len(set(names)) == len(names) > 500


@pytest.mark.parametrize("case", ["add", "gru", "attention"])
def test_the_benchmarks_cases_are_lowered_without_a_device(case: str) -> None:
    (workload,) = [workload for workload in workloads() if workload.name == f"benchmark {case}"]
    assert workload.lower(Target(DeviceClass.DISCRETE)).dispatches


def test_a_generation_that_a_driver_does_not_make() -> None:
    """As every generation is to one that makes none out of nothing."""
    try:
        installed = DRIVERS[0].find()
    except NoDriverError as error:
        pytest.skip(str(error))
    with pytest.raises(NoDriverError, match=r"it makes no voodoo2 out of nothing: .*(family|VkError)"):
        compile_generation(installed, "voodoo2", workloads()[:1])


def test_integer_products_keep_their_sums_in_registers() -> None:
    """The unrolled steps of INT32's took 160 registers, and spilled 177 on gfx1100."""
    name = "MATRIX_MULTIPLY_INTEGER 512x512x512"
    try:
        made = compile_generation(DRIVERS[0].find(), "gfx1100", [w for w in workloads() if w.name == name])
    except NoDriverError as error:
        pytest.skip(str(error))
    assert not made.refused
    product = made.kernels[f"{name}: gemm/bytes"]
    assert not product.spills
    assert product.vgprs <= 64
    assert 100 < product.instructions < 1000
    assert product.waves >= 16
    assert 32 * (32 + 32) <= product.lds <= 4096
