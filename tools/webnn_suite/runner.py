"""Run the suite's files one by one, each in a new Node.js process."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dml
from tools.webnn_suite.answers import Answers

FOLDERS = ("conformance_tests", "validation_tests")
HARNESS = Path(__file__).with_name("harness.js")
#: Seconds that one file may take.
LIMIT = 900


@dataclass(frozen=True)
class CaseResult:
    """The result of one case. message: the error, empty if the case passed."""

    file: str
    name: str
    passed: bool
    message: str


def files(folder: Path, wanted: str) -> list[tuple[Path, str]]:
    """Return the suite's files whose names contain the text, each with the query string of one GPU variant."""
    found = []
    for kind in FOLDERS:
        for path in sorted((folder / "webnn" / kind).glob("*.any.js")):
            if wanted in f"{kind}/{path.name}":
                source = path.read_text("utf-8")
                variants = re.findall(r"^// META: variant=\?(.*)$", source, re.MULTILINE)
                found += [(path, query) for query in variants if "gpu" in query] or [(path, "")]
    return found


def run_file(node: str, folder: Path, path: Path, query: str, device: dml.Device) -> list[CaseResult]:
    """Run a file and return the results of its cases."""
    name = f"{path.parent.name}/{path.name.removesuffix('.https.any.js')}"
    if "&" in query:
        name += f" ({query.split('&')[0].removeprefix('op=')})"
    command = [node, str(HARNESS), str(folder), str(path.relative_to(folder)), query]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    limit = threading.Timer(LIMIT, process.kill)
    errors: list[bytes] = []
    assert process.stderr is not None
    reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))
    limit.start()
    reader.start()
    answers = Answers(device)
    try:
        cases = _converse(process, answers)
    finally:
        answers.close()
        limit.cancel()
        process.kill()
        process.wait()
        reader.join()
    if cases is None:
        said = b"".join(errors).decode(errors="replace").strip()
        return [CaseResult(name, "(the file)", False, f"ended without results: {said[-2000:]}")]
    return [CaseResult(name, case["name"], case["passed"], case["message"] or "") for case in cases]


def _converse(process: subprocess.Popen[bytes], answers: Answers) -> list[dict[str, Any]] | None:
    """Answer calls until the results arrive; None if the process ends first."""
    assert process.stdin is not None
    for line in _lines(process):
        message = json.loads(line)
        if "done" in message:
            cases: list[dict[str, Any]] = message["done"]
            if message["status"]["status"] != 0:
                wrong = message["status"]["message"] or "the harness failed"
                cases.append({"name": "(the harness)", "passed": False, "message": wrong})
            return cases
        if "failed" in message:
            return [{"name": "(the file)", "passed": False, "message": message["failed"]}]
        try:
            process.stdin.write(json.dumps(answers.answer(message)).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return None
    return None


def _lines(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    assert process.stdout is not None
    yield from process.stdout
