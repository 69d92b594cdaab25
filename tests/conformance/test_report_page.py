"""The report's page: its contents, and in a browser filters, details, copying and a phone's width."""

from __future__ import annotations

import html
import json
import re

import jsonschema
import pytest
from every_operator_report import BROKEN, DEVICES, HUNG, changed, report

import dml
from browser import DESK, PHONE, PROGRAM, WHY_NOT, browser
from dml.capability import operator_support
from dml.conformance.page import page, write_page
from dml.conformance.page.changes import changes
from dml.conformance.report import SCHEMA

needs_browser = pytest.mark.skipif(PROGRAM is None, reason=WHY_NOT)
FIRST = report()
SECOND = changed(FIRST)


def test_the_reports_are_such_as_the_suite_makes():
    """Outcomes that differ only in names and in signed numbers or null are validated once: validating all of them takes
    15 seconds."""
    schema = json.loads(SCHEMA.read_text("utf-8"))
    validated: set[str] = set()

    def kind(outcome):
        tensors = [one | {key: type(one[key]).__name__ for key in ("worst_ulp", "share")} for one in outcome["tensors"]]
        names = {key: type(outcome[key]).__name__ for key in ("case", "operator")}
        return json.dumps(outcome | names | {"tensors": tensors})

    for made in (FIRST, SECOND):
        runs = []
        for run in made["runs"]:
            new = {text: outcome for outcome in run["results"] if (text := kind(outcome)) not in validated}
            validated |= new.keys()
            runs.append({**run, "results": list(new.values())})
        jsonschema.validate({**made, "runs": runs}, schema)


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


def test_a_page_is_one_file_that_fetches_nothing():
    text = page([FIRST])
    assert "default-src 'none'" in html.unescape(text)
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#)|@import|url\(|https?://(?!www\.w3\.org)""", text)
    # a descriptor's text must not become markup
    assert "<script>alert" not in text
    assert "</script><script>alert(1)" in data_of(text)["failures"][1]["failure"]["descriptor"]["note"]


def test_cells_add_up_to_the_outcomes():
    data = data_of(page([FIRST]))
    assert len(data["operators"]) == len(dml.operators())
    for index, run in enumerate(FIRST["runs"]):
        cells = [cell for cell in data["cells"] if cell["run"] == index]
        assert sum(map(sum, (cell["counts"] for cell in cells))) == len(run["results"])
        histograms = (one["histogram"] for one in run["results"])
        assert sum(sum(cell["histogram"]) for cell in cells) == sum(map(sum, histograms))
    gru = data["operators"].index(["GRU", "recurrent"])
    half = data["data_types"].index("FLOAT16")
    (cell,) = [c for c in data["cells"] if (c["operator"], c["type"], c["run"]) == (gru, half, 0)]
    assert cell["counts"] == [1, 1, 0, 0, 0]
    assert cell["worst"]["case"] == BROKEN
    assert cell["worst"]["worst_ulp"] == 258894.08


def sections(text):
    return [re.findall(f'{attribute}="#?(\\w[\\w-]*)"', text) for attribute in ("<section id", "<a href")]


def test_failures_come_before_the_long_table():
    """Failures, if any, come first, and the links are in the order of the sections."""
    failing, links = sections(page([FIRST]))
    assert failing.index("failures") < failing.index("operators")
    passing = json.loads(json.dumps(FIRST))
    for run in passing["runs"]:
        for result in run["results"]:
            result["status"] = "passed" if result["status"] == "failed" else result["status"]
    passed, passed_links = sections(page([passing]))
    assert passed.index("failures") > passed.index("operators")
    for found, linked in ((failing, links), (passed, passed_links)):
        assert [name for name in linked if name in found] == found


@needs_browser
def test_the_worst_errors_on_a_phone(pages):
    """Each error becomes lines of named numbers, without an unreadable percentage."""
    opened, folder = pages
    opened.open(folder / "one.html", width=PHONE)
    first = " ".join(opened.texts("#worst tbody tr")[0].split())
    assert first.startswith("GRU FLOAT16")
    assert opened.texts("#worst tbody tr td.failed")[0].endswith("times")
    label = "getComputedStyle(document.querySelector('#worst td.failed'), '::before').content"
    assert "of allowed" in opened.ask(label)
    beyond = "document.querySelector('#worst').scrollWidth - document.querySelector('#worst').parentElement.clientWidth"
    assert opened.ask(beyond) <= 1
    assert opened.complaints == []


def test_numbers_that_json_lacks_and_missing_shares():
    odd = report(DEVICES[:1], ("plain",))
    gru = next(one for one in odd["runs"][0]["results"] if one["case"] == BROKEN)
    gru["tensors"][0].update(share=float("inf"), worst_ulp=float("nan"))
    relu = next(one for one in odd["runs"][0]["results"] if one["operator"] == "ACTIVATION_RELU")
    relu["tensors"][0].update(share=None, worst_ulp=None)
    data = data_of(page([odd]))
    worst = [cell["worst"] for cell in data["cells"] if cell["worst"] and cell["worst"]["case"] == BROKEN]
    assert [(one["share"], one["worst_ulp"]) for one in worst] == [("inf", "nan")]


def test_feature_levels_are_the_capability_tables():
    data = data_of(page([FIRST]))
    levels, types = data["levels"], data["level_types"]
    (gru,) = [one for one in data["support"] if one["operator"] == "GRU"]
    for level in dml.DML_FEATURE_LEVEL:
        at = levels.index(level.name.removeprefix("DML_FEATURE_LEVEL_"))
        step = [step for step in gru["steps"] if step["from"] <= at][-1]
        for name, _, counts, taken in step["tensors"]:
            support = operator_support(dml.DML_OPERATOR_TYPE.DML_OPERATOR_GRU, level)[name]
            assert range(counts[0], counts[1] + 1) == support.dimension_counts
            expected = {t.name.removeprefix("DML_TENSOR_DATA_TYPE_") for t in support.data_types}
            assert {types[at] for at in taken} == expected
    assert sum(one["operator"] == "REDUCE" for one in data["support"]) == len(dml.DML_REDUCE_FUNCTION)


def test_changes_between_two_reports():
    found = changes(FIRST, SECOND)["cases"]
    assert [(one["what"], one["case"]) for one in found if one["what"] in ("worse", "better")] == [
        ("worse", "GEMM:type=FLOAT16"),
        ("better", BROKEN),
    ]
    assert sorted(one["what"] for one in found) == ["better", "gone", "new", "worse"]
    assert changes(FIRST, FIRST)["cases"] == []


def test_runs_without_a_match():
    lone = report(DEVICES[2:], ("plain", "discrete"), broken=False)
    found = changes(report(DEVICES[:1], ("plain",)), lone)
    assert found["pairs"] == [["llvmpipe (LLVM 15.0.6, 256 bits) (plain)", "NVIDIA H100 80GB HBM3 (plain)"]]
    assert found["alone"] == [[], ["NVIDIA H100 80GB HBM3 (discrete)"]]


def test_a_page_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(dml.DMLError, match="at least one conformance report is needed"):
        write_page([], tmp_path / "page.html")
    (tmp_path / "file").write_text("")
    with pytest.raises(dml.DMLError, match="file"):
        write_page([FIRST], tmp_path / "file" / "page.html")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    write_page([FIRST], folder / "one.html")
    write_page([FIRST, SECOND], folder / "two.html")
    with browser() as opened:
        yield opened, folder


OPERATORS = "#matrix > tbody > tr[data-operator] > th"


@needs_browser
def test_filters(pages):
    opened, folder = pages
    opened.open(folder / "one.html")
    assert len(opened.texts(OPERATORS)) == len(dml.operators())
    opened.set("[name=name]", "gru")
    assert opened.texts(OPERATORS) == ["GRU"]
    assert opened.texts("#failures details.card > summary")[0].count("GRU") == 1
    opened.set("[name=name]", "")
    opened.set("[name=family]", "recurrent")
    assert opened.texts(OPERATORS) == ["GRU", "LSTM", "RNN"]
    opened.set("[name=family]", "")
    opened.set("[name=status]", "failed")
    assert opened.texts(OPERATORS) == ["CONVOLUTION", "GRU"]
    opened.set("[name=type]", "FLOAT16")
    assert opened.texts(OPERATORS) == ["GRU"]
    assert opened.texts("#matched") == ["1 operator, 2 cases"]
    opened.set("[name=run]", "1")
    assert opened.texts(OPERATORS) == []
    assert "Nothing matches" in opened.texts("#matrix tbody")[0]
    opened.click("#filters [type=reset]")
    opened.pause(50)
    assert len(opened.texts(OPERATORS)) == len(dml.operators())
    opened.set("[name=type]", "FLOAT64")
    levels = opened.texts("#level-table > tbody > tr[data-operator] > th")
    assert "ELEMENT_WISE_IDENTITY" in levels
    assert "GRU" not in levels
    assert opened.complaints == []


@needs_browser
def test_an_operator_opens_to_its_data_types_and_reasons(pages):
    opened, folder = pages
    opened.open(folder / "one.html")
    assert opened.texts("#matrix tr.details") == []
    opened.click('[data-opener="ELEMENT_WISE_IDENTITY"]')
    (details,) = opened.texts("#matrix tr.details")
    assert "the device has no 64-bit floats" in details
    assert opened.ask("document.activeElement.getAttribute('aria-expanded')") == "true"
    opened.click('[data-opener="level GRU"]')
    assert "SequenceLengthsTensor" in opened.texts("#level-table tr.details")[0]
    opened.click('[data-opener="ELEMENT_WISE_IDENTITY"]')
    assert opened.texts("#matrix tr.details") == []
    assert opened.complaints == []


@needs_browser
def test_failures_in_full(pages):
    opened, folder = pages
    opened.open(folder / "one.html")
    first, second = opened.texts("#failures details.card")
    assert HUNG in first
    assert "no answer in 60 s" in first
    opened.ask(f"document.querySelector('[data-case=\"{BROKEN}\"]').open = true")
    opened.pause(50)
    second = opened.texts("#failures details.card")[1]
    for part in (DEVICES[0][1], "OutputSequenceTensor[0, 1, 2, 0]", "1.5", "1.25", "258,894 ulp, allowed 8",
                 "3 of 60 elements", "recurrent/gru_steps.comp", f"--case '{BROKEN}'",
                 "--case GRU:type=FLOAT16,sizes=1x1x1"):  # fmt: skip
        assert part in second
    opened.send("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    opened.click(f"[data-case=\"{BROKEN}\"] [aria-label='Copy the command']")
    opened.pause(200)
    assert opened.texts(f"[data-case=\"{BROKEN}\"] [aria-label='Copy the command']")[0] in ("Copied", "Selected")
    assert opened.complaints == []


@needs_browser
def test_errors_and_bug_report(pages):
    opened, folder = pages
    opened.open(folder / "one.html")
    histograms = opened.texts("#histograms .histogram")
    assert len(histograms) == len(FIRST["runs"])
    above = [int(re.search(r"above it\s+(\d+)", text)[1]) for text in histograms]
    assert above == [3, 0, 0, 0, 0, 0]
    worst = opened.texts("#worst tbody tr")
    assert worst[0].startswith("GRU")
    assert len(worst) == 20
    opened.click("#worst-more button")
    assert len(opened.texts("#worst tbody tr")) == 120
    (bug, *_) = opened.texts("#bug-report pre")
    for part in (
        DEVICES[0][0],
        DEVICES[0][1],
        "1.3.230",
        "max_storage_buffer_range 134217728",
        "float16 yes",
        "dff3d13a",
    ):
        assert part in bug


@needs_browser
def test_numbers_of_any_size_stay_short(pages, tmp_path):
    opened, _ = pages
    odd = report(DEVICES[:1], ("plain",))
    tensors = [one["tensors"][0] for one in odd["runs"][0]["results"] if one["operator"] == "GEMM" and one["tensors"]]
    tensors[0].update(share=1e30, worst_ulp=3.4e38, ulp_limit=1.5e300)
    tensors[-1].update(share=float("inf"), worst_ulp=float("nan"))
    write_page([odd], tmp_path / "odd.html")
    opened.open(tmp_path / "odd.html")
    opened.set("[name=name]", "GEMM")
    shown = " ".join(opened.texts("#worst tbody tr"))
    assert "over 2^24" in shown
    assert "absolute" in shown
    assert "inf" in shown
    assert opened.complaints == []


@needs_browser
def test_two_reports_side_by_side(pages):
    opened, folder = pages
    opened.open(folder / "two.html")
    assert "1 worse, 1 better, 1 new, 1 gone" in opened.texts("#changes")[0]
    assert "GEMM:type=FLOAT16" in opened.texts("#changes details[open]")[0]
    assert len(opened.texts("#summary tbody tr")) == 12
    assert opened.complaints == []


@needs_browser
@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("name", ["one.html", "two.html"])
def test_nothing_overflows(pages, name, width):
    opened, folder = pages
    opened.open(folder / name, width=width)
    opened.click('[data-opener="GRU"]')
    opened.click('[data-opener="level GRU"]')
    opened.ask("document.querySelectorAll('details').forEach(one => one.open = true)")
    opened.pause(100)
    assert opened.too_wide() == []


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_texts_stand_out_from_their_ground(pages, dark):
    """Every visible text has at least WCAG's minimum contrast of 4.5."""
    opened, folder = pages
    opened.open(folder / "two.html", dark=dark)
    opened.set("[name=name]", "CONV")
    assert opened.faint() == []


@needs_browser
def test_every_control_has_a_name_and_is_reached_by_keys(pages):
    opened, folder = pages
    opened.open(folder / "two.html")
    nameless = opened.ask("""[...document.querySelectorAll("button, input, select, [tabindex]")].filter(one =>
        !one.textContent.trim() && !one.getAttribute("aria-label") && !one.labels?.length).length""")
    assert nameless == 0
    assert opened.ask("[...document.querySelectorAll('button, input, select')].every(one => one.tabIndex === 0)")
