"""Tight limits, beyond which a result is loose; exact results; reruns that must give the same bits."""

from __future__ import annotations

import copy
import io
import json
import shutil

import jsonschema
import numpy as np
import pytest
from rich.console import Console
from sample_report import sample_report
from typer.testing import CliRunner

from dml.compiler.kernels import sources
from dml.conformance import execution, report, terminal
from dml.conformance.case import Case
from dml.conformance.command import app
from dml.conformance.compare import compare
from dml.conformance.execution import run_case
from dml.conformance.junit import junit
from dml.conformance.limits import AROUND_LIBRARY, LIBRARY, Expected, webnn_absolute
from dml.conformance.page import page
from dml.conformance.variety import moved

TANH = webnn_absolute(1 / 1024, 1 / 512).keeping(LIBRARY)
SCHEMA = json.loads(report.SCHEMA.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("ulp", "status"), [(0, "tight"), (4, "tight"), (5, "loose"), (4000, "loose"), (90000, "wrong")]
)
def test_between_the_limits_a_result_is_loose(ulp, status):
    """At 0.75 an ulp of float32 is 2^-24, and WebNN's 1/1024 is 16,384 ulp."""
    exact = np.full(7, 0.75)
    found = exact.astype(np.float32)
    found[3] += np.float32(ulp * 2.0**-24)
    made = compare(found, TANH.expected(exact, found.dtype))
    assert (made.mismatch is not None) == (status == "wrong")
    assert (made.loose is not None) == (status == "loose")
    if made.loose is not None:
        assert (made.loose.index, made.loose.ulp, made.loose.allowed_ulp) == ((3,), ulp, 4.0)
        assert made.loose.differing == 1
    assert made.tight_share == pytest.approx(ulp / 4)


def test_a_limit_with_nothing_tighter_knows_no_loose_results():
    made = compare(np.float32([1.5]), Expected(np.array([1.0]), ulp=2.0**23))
    assert (made.loose, made.tight_share) == (None, None)


@pytest.mark.parametrize(("found", "is_loose"), [(0.0, False), (1.3e-38, False), (1e-36, True)])
def test_a_subnormal_product_around_a_function_may_be_flushed(found, is_loose):
    limit = webnn_absolute(1 / 512, 1 / 256).keeping(AROUND_LIBRARY)
    made = compare(np.float32([found]), limit.expected(np.array([1.3e-38]), np.dtype(np.float32)))
    assert (made.loose is not None) == is_loose


def test_limits_of_consecutive_steps_add_up():
    both = TANH.and_then(LIBRARY)
    assert both.tight is not None
    assert list(both.tight.ulp) == [8, 1.02]
    twice = LIBRARY.and_then(LIBRARY)
    assert twice.tight is None


@pytest.mark.parametrize(("found", "wanted"), [
    (0.0, -0.0), (-0.0, 0.0), (0.0, 1e-40), (2e-40, 1e-40), (np.inf, -np.inf), (np.nan, 1.0), (1.0, np.nan),
])  # fmt: skip
def test_copies_keep_signs_of_zeros_and_subnormals(found, wanted):
    for kind in ("f4", "f8"):
        one, other = np.array([found], kind), np.array([wanted], kind)
        assert [compare(array, moved(other)).mismatch is None for array in (one, other)] == [False, True]
    assert (
        compare(np.array([0.0], np.float32), moved(np.float32([1e-40])), moved(np.float32([0.0]))).mismatch is not None
    )


def test_a_nan_that_is_moved_may_have_other_bits():
    nans = np.array([0x7FC00000, 0x7FC00001], np.uint32).view(np.float32)
    assert compare(nans[:1], moved(nans[1:])).mismatch is None


@pytest.fixture
def library(monkeypatch, tmp_path):
    """Return a function that replaces a line of a kernel in a copy of the shaders; operators are compiled from the
    copy."""
    folder = tmp_path / "shaders"
    shutil.copytree(sources.directory(), folder)
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path))

    def forget():
        sources._text.cache_clear()
        sources.identifiers.cache_clear()

    def replaced(file, line, by):
        text = (folder / file).read_text(encoding="utf-8")
        assert text.count(line) == 1
        (folder / file).write_text(text.replace(line, by), encoding="utf-8")
        monkeypatch.setattr(sources, "directory", lambda: folder)
        forget()

    yield replaced
    forget()


@pytest.mark.parametrize("name", ["ACTIVATION_TANH", "ELEMENT_WISE_TANH"])
@pytest.mark.parametrize(("factor", "status"), [("1.0001", "loose"), ("1.1", "failed")])
def test_tanh_of_another_argument_is_loose(device, library, name, factor, status):
    """tanh(1.0001 x) is within WebNN's 1/1024 of tanh(x), but hundreds of ulp from it."""
    case = Case.parse(f"{name}:type=FLOAT32,sizes=5x37x41")
    assert run_case(device, case)["status"] == "passed"
    library("lib/math.glsl", "float tanh_accurate(float x) {", f"float tanh_accurate(float x) {{ x *= {factor};")
    outcome = run_case(device, case)
    assert outcome["status"] == status, outcome["reason"]
    if status == "loose":
        assert outcome["failure"] is None
        assert outcome["loose"]["ulp"] > 50 * outcome["loose"]["tight_ulp"]
        assert outcome["loose"]["tight_ulp"] == 4
        jsonschema.validate(outcome["loose"], SCHEMA["$defs"]["loose"] | {"$defs": SCHEMA["$defs"]})


# --- reruns -----------------------------------------------------------------------------------------------------------


def test_a_second_run_must_give_the_same_bits(device, monkeypatch):
    case = Case.parse("ELEMENT_WISE_ADD:type=FLOAT32")
    execute = execution.RecordedCase.again

    def changed(recorded):
        execute(recorded)
        recorded.outputs[0].write(np.zeros(4, np.uint8), 4)

    assert run_case(device, case)["status"] == "passed"
    monkeypatch.setattr(execution.RecordedCase, "again", changed)
    outcome = run_case(device, case)
    assert outcome["status"] == "failed"
    assert f"output 0 of {case.id} differs from its first run, from byte 4 on" in outcome["reason"]


def test_the_previous_case_runs_again_after_the_next(device, monkeypatch):
    first, second = Case.parse("ACTIVATION_RELU:type=FLOAT32"), Case.parse("ELEMENT_WISE_ADD:type=FLOAT32")
    order = []
    again = execution.RecordedCase.again
    monkeypatch.setattr(execution.RecordedCase, "again", lambda one: (order.append(one.case), again(one))[1])
    assert [run_case(device, case)["status"] for case in (first, second)] == ["passed", "passed"]
    assert order[-3:] == [first.id, second.id, first.id] or order[-2:] == [second.id, first.id]
    before = execution._BEFORE[device]
    assert before.case == second.id
    before.found[0][7] ^= 1
    outcome = run_case(device, first)
    assert outcome["status"] == "failed"
    assert f"output 0 of {second.id} differs from its first run, from byte 7 on" in outcome["reason"]


# --- reports ----------------------------------------------------------------------------------------------------------


def loose_report():
    """Return the sample report without its failures."""
    made = sample_report()
    for run in made["runs"]:
        run["results"] = [one for one in run["results"] if one["status"] != "failed"]
    return made


@pytest.mark.parametrize(("options", "code"), [([], 0), (["--strict"], 1)])
def test_loose_results_fail_only_with_strict(tmp_path, options, code):
    path = tmp_path / "report.json"
    report.write(path, loose_report())
    found = CliRunner().invoke(app, ["show", str(path), *options])
    assert found.exit_code == code
    assert "ELEMENT_WISE_SIN:" in found.output
    assert "7509 ulp off, the tight limit is 4" in found.output


def test_the_terminal_shows_them_in_yellow():
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=200, color_system="standard")
    terminal.show(console, loose_report())
    text = file.getvalue()
    assert (
        "\x1b[33m\nloose, within the public limit and beyond the tight one:" in text or "\x1b[33mloose, within" in text
    )
    assert "\x1b[33m18 loose" in text or "\x1b[33m" in text.split("ELEMENT_WISE_SIN", 1)[1]


def test_the_page_has_a_section_of_them_only_where_there_are_some():
    shown = page([loose_report()])
    assert '<h2 id="loose-title">Loose results</h2>' in shown
    row = shown.partition('<tr class="has-loose">')[2].partition("</tr>")[0]
    for text in ("ELEMENT_WISE_SIN", "FLOAT32", "7509", ">4<", "the shader library"):
        assert text in row
    without = copy.deepcopy(loose_report())
    for run in without["runs"]:
        run["results"] = [one for one in run["results"] if one["status"] != "loose"]
    assert "Loose results" not in page([without])


def test_the_page_lists_kernels_that_did_not_run():
    shown = page([loose_report()])
    section = shown.partition('<section id="kernels"')[2].partition("</section>")[0]
    assert "2 of 3 kernels" in section
    assert "TILE_M=4u a:float16 b:float16 result:float16" in section
    rows = [part.partition("</code>")[0] for part in section.split('<th scope="row"><code>')[1:]]
    # kernels with missing cases come first
    assert rows[:3] == ["recurrent/start.comp", "gemm/vector.comp", "elementwise/vector.comp"]


def test_junit_counts_them_as_passed():
    made = loose_report()
    text = junit(made)
    assert text.count("loose: OutputTensor at") == sum(report.counts(run["results"])["loose"] for run in made["runs"])
    assert 'failures="0"' in text
