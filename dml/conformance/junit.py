"""Reports as JUnit XML, for CI: a suite per device and axis, a test per case."""

from __future__ import annotations

import re
from xml.etree import ElementTree as Xml

from dml.conformance import report
from dml.conformance.report import Record
from dml.conformance.terminal import failure_lines, words

#: Characters that XML 1.0 cannot hold, even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(record: Record) -> str:
    """Return the XML. Cases that were not tested or are not supported count as skipped, with the reason."""
    root = Xml.Element("testsuites", name="dml conformance")
    for run in record["runs"]:
        _suite(root, record, run)
    Xml.indent(root, " ")
    return f"<?xml version='1.0' encoding='utf-8'?>\n{Xml.tostring(root, encoding='unicode')}\n"


def _suite(root: Xml.Element, record: Record, run: Record) -> None:
    device, counts = run["device"], report.counts(run["results"])
    suite = Xml.SubElement(
        root, "testsuite", name=_text(report.title(device)), tests=str(len(run["results"])),
        failures=str(counts["failed"]), errors="0", skipped=str(counts["not_tested"] + counts["unsupported"]),
        time=f"{run['seconds']:.3f}", timestamp=record["created"].removesuffix("Z"),
    )  # fmt: skip
    properties = Xml.SubElement(suite, "properties")
    facts = {
        "device": device["name"],
        **{key: device[key] for key in ("driver", "driver_version", "api_version", "axis")},
        "commit": record["commit"] or "",
        "dml_version": record["dml_version"],
        **{f"suite.{key}": record["suite"][key] for key in ("size", "seed", "shard")},
    }
    for name, value in facts.items():
        Xml.SubElement(properties, "property", name=name, value=_text(str(value)))
    for outcome in run["results"]:
        _case(suite, run, outcome)


def _case(suite: Xml.Element, run: Record, outcome: Record) -> None:
    device = run["device"]
    where = f"{device['name']}.{device['axis']}.{outcome['operator']}".replace("/", "_")
    test = Xml.SubElement(
        suite, "testcase", classname=_text(where), name=outcome["case"], time=f"{outcome['seconds']:.3f}"
    )
    if outcome["status"] == "failed":
        message = outcome["failure"]["message"].partition("\n")[0]
        Xml.SubElement(test, "failure", message=_text(message)).text = _text("\n".join(failure_lines(run, outcome)))
    elif outcome["status"] == "loose":
        Xml.SubElement(test, "system-out").text = _text(f"loose: {outcome['loose']['message']}")
    elif outcome["status"] != "passed":
        Xml.SubElement(test, "skipped", message=_text(f"{words(outcome['status'])}: {outcome['reason']}"))


def _text(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
