"""tools/gpu_compile: the comparison with the record, and kernels compiled by vendors' compilers."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from dml.compiler.program import Program
from dml.compiler.selection import devices
from dml.compiler.target import DeviceClass, Target
from dml.errors import DMLError
from dml.runtime.devices import Identity, VulkanDevice
from tools.gpu_compilation import __main__ as command
from tools.gpu_compilation import compiling, drivers, outcomes, page, record
from tools.gpu_compilation.compiling import Report, compile_chip, target_of_chip
from tools.gpu_compilation.drivers import VENDORS, NoDriverError, vendor_of
from tools.gpu_compilation.figures import STATISTICS, Figures, figures
from tools.gpu_compilation.record import Record, judge, load, renewed, row, save
from tools.gpu_compilation.workloads import Workload, conformance_cases, workloads

FIGURES = Figures(instructions=400, registers=64, shared=8704, occupancy=16, cycles=900, milliseconds=9.0)
SPILLS = replace(FIGURES, spills=20, scratch=1024)


def report(figures: Figures = FIGURES, name: str = "GEMM: gemm/shared", mesa: str = "26.1.6") -> Report:
    return Report("amd", "navi21", mesa, {name: figures})


def recorded(figures: Figures = FIGURES, reason: str = "") -> Record:
    """Return a record of one report. reason: why its kernel may spill."""
    return renewed(Record(accepted={"navi21 GEMM: gemm/shared": reason} if reason else {}), [report(figures)])


@pytest.mark.parametrize("changes", [{}, {"instructions": 500, "registers": 80}, {"shared": 16384, "occupancy": 2}])
def test_as_good_as_recorded(changes: dict[str, int]) -> None:
    verdict = judge(report(replace(FIGURES, **changes)), recorded())
    assert verdict == record.Verdict(compared=True)


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"instructions": 501}, "has 501 instructions, 400 are recorded"),
        ({"registers": 84}, "has 84 registers, 64 are recorded"),
        ({"spills": 3}, "spills 3, 0 bytes of scratch"),
        ({"scratch": 16}, "has 16 scratch, 0 are recorded"),
        ({"milliseconds": 2001.0}, "takes 2001 ms to compile"),
    ],
)
def test_regressions(changes: dict[str, int], said: str) -> None:
    (failure,) = judge(report(replace(FIGURES, **changes)), recorded()).failures
    assert failure.startswith("GEMM: gemm/shared ")
    assert said in failure


def test_a_small_kernel_may_grow_by_a_step() -> None:
    small = replace(FIGURES, instructions=24, registers=8)
    assert not judge(report(replace(small, instructions=40, registers=16)), recorded(small)).failures
    assert len(judge(report(replace(small, instructions=41, registers=20)), recorded(small)).failures) == 2


def test_another_compiler_is_not_compared_and_still_must_not_spill() -> None:
    grown = replace(FIGURES, instructions=4000)
    verdict = judge(report(grown, mesa="27.0.0"), recorded())
    assert (verdict.compared, verdict.failures, verdict.new) == (False, [], [])
    assert judge(report(SPILLS, mesa="27.0.0"), recorded()).failures


def test_a_new_kernel_is_reported_and_must_not_spill() -> None:
    verdict = judge(report(name="ADD: vector"), recorded())
    assert (verdict.failures, verdict.new, verdict.gone) == ([], ["ADD: vector"], ["GEMM: gemm/shared"])
    assert judge(report(SPILLS, name="ADD: vector"), recorded()).failures


def test_an_accepted_spill_may_not_grow() -> None:
    known = recorded(SPILLS, "that version's compiler")
    assert not judge(report(SPILLS), known).failures
    (failure,) = judge(report(replace(SPILLS, scratch=2048)), known).failures
    assert "has 2048 scratch, 1024 are recorded" in failure


def test_a_refused_kernel_fails() -> None:
    (failure,) = judge(Report("amd", "navi21", "26.1.6", {}, {"ADD: vector": "VkErrorUnknown"}), Record()).failures
    assert failure == "ADD: vector is refused: VkErrorUnknown"


def test_recording_replaces_a_chip_and_keeps_the_others() -> None:
    old = Record(
        {"navi21": {"GONE: x": row(FIGURES)}, "vega10": {"KEPT: x": row(FIGURES)}},
        {"navi21": "26.1.6", "vega10": "26.1.6"},
        {"navi21 GONE: x": "mended", "vega10 KEPT: x": "not compiled now"},
    )
    new = renewed(old, [report(mesa="26.1.7")])
    assert new.figures == {
        "navi21": {"GEMM: gemm/shared": row(FIGURES)},
        "vega10": {"KEPT: x": row(FIGURES)},
    }
    assert new.mesa == {"navi21": "26.1.7", "vega10": "26.1.6"}
    assert new.accepted == {"vega10 KEPT: x": "not compiled now"}


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    both = [report(), replace(report(SPILLS, name="ADD: vector"), chip="vega10")]
    known = renewed(Record(accepted={"vega10 ADD: vector": 'a "reason"'}), both)
    save("amd", known, tmp_path)
    assert load("amd", tmp_path) == known
    assert load("intel", tmp_path) == Record()


def test_figures_are_known_of_one_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that was slow to compile is compiled again, so that the next check fails, too."""
    found = report(replace(FIGURES, digest=5))
    found.kernels["ADD: vector"] = replace(FIGURES, milliseconds=2001.0, digest=6)
    save("amd", renewed(Record(), [found]), tmp_path)
    monkeypatch.setattr(record, "load", partial(load, folder=tmp_path))
    known = record.known("amd", "navi21", "26.1.6")
    assert {name: held.digest for name, held in known.items()} == {"GEMM: gemm/shared": 5, "ADD: vector": 0}
    assert row(known["GEMM: gemm/shared"]) == row(found.kernels["GEMM: gemm/shared"])
    assert record.known("amd", "navi21", "26.1.7") == record.known("amd", "vega10", "26.1.6") == {}


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
def test_the_committed_record(vendor: drivers.Vendor, tmp_path: Path) -> None:
    """The record has each chip that CI checks, in the format of --record, so that diffs show only changes."""
    known = load(vendor.name)
    assert {*vendor.usual} <= {*known.figures} <= {*vendor.chips}
    assert all(rows[-1] for chip in vendor.usual for rows in known.figures[chip].values()), "digests are missing"
    if known.figures:
        save(vendor.name, known, tmp_path)
        file = f"{vendor.name}.json"
        assert (tmp_path / file).read_text() == (record.FOLDER / file).read_text()


@pytest.mark.parametrize(
    "reports, missing, status",
    [
        ([report()], [], 0),
        ([report(SPILLS)], [], 1),
        ([report()], ["intel is left out: no compiler"], 125),
    ],
    ids=["well", "spills", "without a driver"],
)
def test_exit_status(reports: list[Report], missing: list[str], status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_compile", lambda *_, **__: (reports, missing))
    monkeypatch.setattr(record, "load", lambda _: recorded())
    assert command.main(["--check"]) == status


def test_a_vendor_whose_driver_cannot_be_built(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise NoDriverError("ninja is missing")

    monkeypatch.setattr(drivers.Vendor, "find", fail)
    assert command.main(["--vendor", "broadcom"]) == 125
    assert capsys.readouterr().out.splitlines()[0] == "broadcom is left out: ninja is missing"


def test_a_part_of_the_kernels_is_spread_over_all(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = []
    monkeypatch.setattr(command, "_compile", lambda _, found, *__: (chosen.append(found), ([report()], []))[1])
    assert command.main(["--limit", "4"]) == command.main(["--limit", "100000"]) == 0
    every = workloads()
    assert chosen == [[every[index * len(every) // 4] for index in range(4)], [*every]]


def test_a_process_that_takes_too_long_is_killed() -> None:
    pipe, endless = subprocess.PIPE, "import signal; signal.pause()"
    with subprocess.Popen([sys.executable, "-c", endless], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        found = compiling._Process(process, 0.1)
        assert found.device is None
        assert found.last_line() == "no message (exit -9)"


def test_graphs_of_the_conformance_run_are_lowered() -> None:
    every = conformance_cases()
    chosen = next(case for case in every if case.name.startswith("GRAPH_"))
    assert chosen.lower(Target(DeviceClass.DISCRETE)).dispatches


def test_cases_that_cannot_be_lowered_are_named() -> None:
    def fail(_: Target) -> Program:
        raise DMLError("too large")

    refused: dict[str, str] = {}
    assert compiling._lowered(Workload("GEMM", fail), Target(DeviceClass.DISCRETE), refused) == []
    assert list(refused) == ["GEMM"]
    assert "too large" in refused["GEMM"]


def test_a_kernel_may_take_longer_in_an_emulator() -> None:
    slow = replace(FIGURES, milliseconds=5000.0)
    assert judge(report(slow), Record()).failures
    assert not judge(replace(report(slow), vendor="arm", chip="g610"), Record()).failures


def test_a_driver_that_cannot_be_unpacked_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without Debian's tools gets a one-line error."""
    (tmp_path / "bash").symlink_to("/bin/bash")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(NoDriverError) as error:
        vendor_of("navi31").find()
    assert str(error.value) == "cannot unpack trixie-backports's packages: this is not Debian"
    assert drivers.mesa() == ""


def test_each_chip_has_one_vendor_and_each_vendor_its_statistics() -> None:
    chips = [chip for vendor in VENDORS for chip in vendor.chips]
    assert len(chips) == len(set(chips)) > 30
    assert {vendor.name for vendor in VENDORS} == set(STATISTICS)
    assert all(chip in vendor.chips for vendor in VENDORS for chip in vendor.usual)


def test_a_chip_that_its_shim_calls_another_one() -> None:
    """The shim for NVIDIA reports a GK110 of 255 registers for every chip."""
    target = Target(DeviceClass.DISCRETE, vendor=0x10DE, device=0x1004, driver=24)
    device = VulkanDevice(0, "NVK", "", (1, 2, 0), target, 0, 0, 0, 0, Identity(0x10DE, 0x1004, 0, b""))
    for chip, registers, numbers in (
        ("kepler", 63, 0),
        ("kepler2", 255, 60),
        ("pascal", 255, 60),
        ("volta", 255, None),
    ):
        found = compiling._identified(device, vendor_of(chip), chip).target
        assert (devices.registers(found), devices.kept_numbers(found, 4)) == (registers, numbers)


def test_a_driver_without_a_version_has_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "mesa", lambda: "26.1.6-1~bpo13+1")
    assert [compiling._version(driver) for driver in ("NVK Mesa 25.0.7-2", "")] == ["25.0.7", "26.1.6"]


def test_statistics_that_are_added() -> None:
    told = {"Instruction Count": 9, "Registers used": 4, "STP Count": 2, "LDP Count": 3, "Max Waves Per Core": 8}
    assert figures("qualcomm", told, 1.5) == Figures(9, 4, spills=5, occupancy=8, milliseconds=1.5)
    told = {"Instruction Count": 9, "TMU Spills": 0, "TMU Fills": 0, "Spill Size": 192, "Thread Count": 4}
    assert figures("broadcom", told, 1.5) == Figures(9, scratch=12, occupancy=4, milliseconds=1.5)
    with pytest.raises(KeyError, match="GPRs"):
        figures("apple", {"Instructions": 1}, 0.0)


def test_the_page_and_the_table_have_every_chip() -> None:
    records = {"amd": recorded(SPILLS), "intel": Record({"dg2": {"ADD: <x>": row(FIGURES)}}, {"dg2": "26.1.6"})}
    text = page.html(records)
    assert all(said in text for said in ("\\u003cx>", '"navi21"', '"dg2"'))
    assert page.markdown(records).splitlines()[2:] == [
        "| amd | navi21 | 26.1.6 | 1 | 1 | 1 | 1,024 | 64 | 400 |",
        "| intel | dg2 | 26.1.6 | 1 | 0 |  |  | 64 | 400 |",
    ]


def test_outcomes_of_the_conformance_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--conformance --record replaces the chip's outcome and keeps the others."""
    file = tmp_path / "conformance.json"
    old = Report("arm", "g52", "26.1.5", {}, {"GEMM": "no memory", "ADD": "too large"}, workloads=300)
    outcomes.save([old, report(SPILLS)], file)
    new = replace(report(), refused={"GEMM": "no memory"}, workloads=10660, lowering=40.5)
    new.kernels["ADD: vector"] = replace(FIGURES, milliseconds=2900.0)
    monkeypatch.setattr(command, "_compile", lambda *_: ([new], []))
    monkeypatch.setattr(outcomes, "save", partial(outcomes.save, path=file))
    assert command.main(["--conformance", "--record", "--limit", "1"]) == 1
    assert outcomes.load(file) == {
        "g52": outcomes.Outcome("26.1.5", cases=300, kernels=0, refused=2, spill=0, slowest=0, seconds=0),
        "navi21": outcomes.Outcome("26.1.6", cases=10660, kernels=2, refused=1, spill=0, slowest=2900, seconds=43),
    }
    assert outcomes.markdown(outcomes.load(file)).splitlines()[-2:] == [
        "| amd | navi21 | 26.1.6 | 10,660 | 2 | 1 | 0 | 2,900 | 43 |",
        "| arm | g52 | 26.1.5 | 300 | 0 | 2 | 0 | 0 | 0 |",
    ]


def test_the_committed_outcomes() -> None:
    """No kernel of a conformance case is refused, spills or takes long."""
    found = outcomes.load()
    assert {chip for vendor in VENDORS for chip in vendor.usual} <= {*found}
    for chip, held in found.items():
        assert (held.refused, held.spill) == (0, 0), chip
        assert held.slowest <= (record.EMULATED_SLOW if vendor_of(chip).is_emulated else record.SLOW), chip


def test_no_two_workloads_have_one_name() -> None:
    names = [workload.name for workload in workloads()]
    assert len(set(names)) == len(names) > 500


@pytest.mark.parametrize("case", ["add", "gru", "attention"])
def test_the_benchmarks_cases_are_lowered_without_a_device(case: str) -> None:
    (workload,) = [workload for workload in workloads() if workload.name == f"benchmark {case}"]
    assert workload.lower(Target(DeviceClass.DISCRETE)).dispatches


def test_a_chip_that_a_driver_does_not_know() -> None:
    """A driver without its shim opens no chip, either."""
    amd = vendor_of("navi31")
    try:
        installed = amd.find()
    except NoDriverError as error:
        pytest.skip(str(error))
    unknown = replace(amd, chips={"voodoo2": "voodoo2"})
    with pytest.raises(NoDriverError, match=r"the driver opens no voodoo2: "):
        compile_chip(unknown, installed, "voodoo2", workloads()[:1])


@pytest.mark.parametrize("vendor", [each for each in VENDORS if each.usual], ids=lambda vendor: vendor.name)
def test_products_keep_their_sums_in_registers(vendor: drivers.Vendor) -> None:
    """Vendors' compilers keep the sums in registers, on the targets that their drivers report."""
    wanted = ("GEMM 99x301x61", "MATRIX_MULTIPLY_INTEGER 512x512x512", "MULTIHEAD_ATTENTION 8 heads, 256x64")
    chosen = [workload for workload in workloads() if workload.name in wanted]
    try:
        installed = vendor.find()
        target = target_of_chip(vendor, vendor.usual[0])
        made = compile_chip(vendor, installed, vendor.usual[0], chosen)
    except NoDriverError as error:
        pytest.skip(str(error))
    assert target.device_class in (DeviceClass.DISCRETE, DeviceClass.INTEGRATED)
    assert all((target.vendor, target.driver, target.features.names))
    assert not made.refused
    assert len(made.kernels) >= made.workloads == len(wanted)
    assert made.seconds > made.lowering > 0
    assert not [name for name, found in made.kernels.items() if found.does_spill]
    assert all(found.instructions > 0 and found.registers > 0 for found in made.kernels.values())

    changed, *same = made.kernels
    known = {**made.kernels, changed: replace(made.kernels[changed], instructions=1, digest=1)}
    again = compile_chip(vendor, installed, vendor.usual[0], chosen, known=lambda *_: known)
    assert again.known == len(same)
    assert {name: row(found) for name, found in again.kernels.items()} == {
        name: row(found) for name, found in made.kernels.items()
    }
    assert all(again.kernels[name] is made.kernels[name] for name in same)
