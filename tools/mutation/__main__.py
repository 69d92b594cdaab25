"""tools/mutate: find the mutants of the shaders that the default conformance run does not catch."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import posixpath
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from dml.compiler.kernels import sources
from dml.conformance.axes import seen_as
from dml.conformance.suite import Suite
from dml.conformance.variants import kernel_of
from dml.runtime.devices import choose
from tools.mutation.mutants import Mutant, files, mutants, sampled, write

_INCLUDE = re.compile(r'#\s*include\s+"([^"]+)"')
#: Mutants per worker process: each one leaves kernels on the device.
_OF_A_WORKER = 60
#: The reasons why mutants survive, by file and mutated line.
REASONS = Path(__file__).with_name("reasons.json")
#: The mutants that were run, with their outcomes.
FOUND = Path(__file__).with_name("mutants.json")
PAGE = Path(__file__).parents[1] / "documentation" / "guide" / "mutations.md"


def main() -> None:
    """Run the mutants that the options choose, and print the score and the survivors."""
    options = _options()
    root = sources.directory()
    known = present(root, read(options.json))
    chosen = [
        mutant
        for file in files(root)
        if options.filter in file
        for mutant in sampled(list(mutants(root, file)), options.sample, options.seed)
    ][options.part - 1 :: options.parts]
    if options.again:
        chosen = [
            mutant
            for mutant, one in known.items()
            if one["outcome"] in ("survived", "unused") and options.filter in mutant.name
        ][options.part - 1 :: options.parts]
    if options.page:
        chosen = []
    entered = Entered(options.device, options.axis or ["plain", "discrete"]) if chosen else None
    found: dict[Mutant, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="dml-mutants-") as folder:
        workers = Workers(Path(folder), options.device)
        for number, mutant in enumerate(chosen, 1):
            assert entered is not None
            cases = entered.cases(mutant.file)
            if not cases:
                outcome = {"outcome": "unused", "by": "", "reason": "no case enters it here", "run": 0}
            else:
                outcome = workers.outcome(mutant, cases, options.cases, options.seconds)
            # This device may lack a kernel that another has.
            if options.again and outcome["outcome"] not in ("caught", "survived"):
                outcome = known[mutant]
            elif outcome["outcome"] == "caught":
                outcome["on"] = " as ".join([options.device, *(options.axis or ())])
            found[mutant] = {**vars(mutant), **outcome}
            print(f"{number}/{len(chosen)} {mutant.name}: {outcome['outcome']} {outcome['by']}", flush=True)
            if number % 10 == 0 or number == len(chosen):
                write_found(options.json, known | found)
        workers.close()
    every = list((known | found).values())
    reasons = json.loads(REASONS.read_text(encoding="utf-8"))
    print(summary(every if options.page else list(found.values()), reasons))
    if options.page:
        PAGE.write_text(page(every, reasons), encoding="utf-8")


def read(path: Path) -> list[dict[str, Any]]:
    """Read the mutants of earlier runs; none if there is no such file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def write_found(path: Path, found: Mapping[Mutant, Mapping[str, Any]]) -> None:
    """Write mutants with their outcomes, one in a line, in the order of the files."""
    rows = sorted(found.values(), key=lambda one: (one["file"], one["line"], one["kind"], one["after"]))
    path.write_text("[\n" + ",\n".join(json.dumps(one) for one in rows) + "\n]\n", encoding="utf-8")


def present(root: Path, found: Sequence[Mapping[str, Any]]) -> dict[Mutant, dict[str, Any]]:
    """Return the mutants whose line is still in its file, with the line's current number."""
    kept: dict[Mutant, dict[str, Any]] = {}
    for one in found:
        path = root / one["file"]
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        places = [number for number, line in enumerate(lines, 1) if line == one["before"]]
        if places:
            line = min(places, key=lambda number: abs(number - one["line"]))
            mutant = Mutant(one["file"], line, one["kind"], one["before"], one["after"])
            kept[mutant] = {**one, "line": line}
    return kept


def score(found: list[dict[str, Any]], reasons: Mapping[str, str]) -> tuple[int, int, int]:
    """Return three numbers of mutants: caught; able to change a result; and equivalent, which change only the kernel
    (their reason begins with "Equal")."""
    caught = sum(one["outcome"] == "caught" for one in found)
    equal = sum(reasons.get(key(one), "").startswith("Equal") for one in _survivors(found))
    return caught, caught + len(list(_survivors(found))) - equal, equal


def summary(found: list[dict[str, Any]], reasons: Mapping[str, str]) -> str:
    """Return the summary: a line for each survivor, then the score."""
    caught, of, equal = score(found, reasons)
    counts = Counter(one["outcome"] for one in found)
    lines = [f"{one['file']}:{one['line']} {one['kind']}: {one['after'].strip()}" for one in _survivors(found)]
    told = f"caught {caught} of {of} ({caught / max(1, of):.1%}); {equal} change no result, {counts['invalid']} do not "
    return "\n".join([*lines, f"{told}compile, {counts['unused']} change no kernel that a case enters on this device"])


def page(found: list[dict[str, Any]], reasons: Mapping[str, str]) -> str:
    """Return the documentation's page: the score by kind, and each survivor with its reason."""
    kinds: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in found:
        kinds[one["kind"]].append(one)
    caught, of, equal = score(found, reasons)
    on = Counter(one.get("on") for one in found)
    lines = [
        "# Mutations",
        "",
        "`tools/mutate` breaks one line of each shader in turn: an index, a bound, a constant or a barrier. Then it",
        "runs the cases of the default conformance run that enter the kernel, on lavapipe, plain and as a discrete",
        "GPU, until one fails or is loose. Mutants that do not compile, or that change no case's SPIR-V, do not",
        "count. Neither do mutants that change a kernel but no result: the reasons for these, below, begin with",
        "Equal.",
        "",
        "`tools/mutate --page` writes this page from the outcomes in `tools/mutation/mutants.json` and the reasons in",
        "`tools/mutation/reasons.json`. `tools/mutate --again` runs the mutants again that were not caught;",
        "`--device SwiftShader` runs them on a driver that splits workgroups into smaller vectors, and",
        "`--as subgroups` on Mesa 26.1, whose lavapipe has matrix units, runs the kernels that use these.",
        "",
        f"Tried: {len(found)} mutants in {len({one['file'] for one in found})} of "
        f"{len(files(sources.directory()))} files.",
        f"Caught: {caught} of the {of} that can change a result, {caught / max(1, of):.1%}; "
        f"{on['SwiftShader']} only on SwiftShader, {on['llvmpipe as subgroups']} only with matrix units.",
        f"{equal} more change a kernel but no result.",
        "",
        "| kind | caught | of |",
        "| --- | --- | --- |",
        *(f"| {kind} | {score(own, reasons)[0]} | {score(own, reasons)[1]} |" for kind, own in kinds.items()),
        "",
        "The validation layer does not look into kernels: only wrong values show that a kernel lacks a barrier.",
        "Between dispatches it is the other way around: lavapipe runs them in order, so values are right without a",
        "barrier, and only the layer shows that one is missing. Synchronization validation (1.3.239) reports a",
        "missing barrier before a read of what was written, and before a write of what was read",
        "(`tests/runtime/test_barriers.py`). It reports no missing barrier between two writes, against earlier",
        "submissions, or before the host reads.",
        "",
        "## Survivors",
        "",
        "| shader | broken line | why no case notices |",
        "| --- | --- | --- |",
    ]  # fmt: skip
    for one in _survivors(found):
        reason = reasons.get(key(one), "not yet known: a gap of the suite")
        after = one["after"].strip().replace("|", "\\|")
        lines.append(f"| {one['file']}:{one['line']} | `{after}` | {reason} |")
    return "\n".join(lines) + "\n"


def key(one: Mapping[str, Any]) -> str:
    """Return the key of a survivor's reason, which does not depend on line numbers."""
    return f"{one['file']}: {one['after'].strip()}"


def _survivors(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (one for one in found if one["outcome"] == "survived")


class Entered:
    """Maps each shader file to the cases whose kernels include it, over all axes of a device."""

    def __init__(self, device: str, axes: list[str]) -> None:
        vulkan, suite = choose(device), Suite()
        by_kernel: dict[str, list[tuple[str, str, tuple[int, ...]]]] = defaultdict(list)
        for axis in axes:
            found = suite.coverage(seen_as(vulkan, axis).target)
            assert found is not None
            for case, indices in found.entered.items():
                for kernel in {kernel_of(found.names[one]) for one in indices}:
                    own = tuple(one for one in indices if kernel_of(found.names[one]) == kernel)
                    by_kernel[kernel].append((axis, case, own))
        self._by_kernel = {kernel: _spread(cases) for kernel, cases in by_kernel.items()}

    def cases(self, file: str) -> list[tuple[str, str]]:
        """Return the cases whose kernels may include the file, starting with one per variant."""
        if file.endswith(".comp"):
            return self._by_kernel.get(file, [])
        # Generated preludes also include lib/ files; comparing SPIR-V shows which kernels do.
        names = [
            kernel for kernel in self._by_kernel if file in included(kernel) or file.startswith("lib/")
        ]  # fmt: skip
        found: dict[tuple[str, str], None] = {}
        lists = [self._by_kernel[kernel] for kernel in sorted(names, key=lambda k: (file not in included(k), k))]
        for index in range(max(map(len, lists), default=0)):
            for cases in lists:
                if index < len(cases):
                    found[cases[index]] = None
        return list(found)


def _spread(cases: list[tuple[str, str, tuple[int, ...]]]) -> list[tuple[str, str]]:
    """Return the cases in a random order that starts with one per variant, then alternates operators and data types:
    neighbors in the suite's order share most parameters."""
    cases = random.Random(0).sample(cases, len(cases))
    seen: set[Any] = set()
    ranked = []
    counts: Counter[str] = Counter()
    for axis, case, variants in cases:
        new = {(axis, one) for one in variants} - seen
        seen |= new
        kind = case.partition(",")[0]
        counts[kind] += 1
        ranked.append((not new, counts[kind], len(ranked), axis, case))
    return [(axis, case) for *_, axis, case in sorted(ranked)]


@cache
def included(file: str) -> frozenset[str]:
    """Return the files that a shader includes, directly and indirectly."""
    root = sources.directory()
    found: set[str] = set()
    for name in _INCLUDE.findall((root / file).read_text(encoding="utf-8")):
        sibling = posixpath.join(posixpath.dirname(file), name)
        path = next((one for one in (sibling, name) if (root / one).is_file()), None)
        if path is not None:
            found |= {path} | included(path)
    return frozenset(found)


class Workers:
    """Runs mutants in a child process, which is replaced after a crash or a fixed number of mutants."""

    def __init__(self, folder: Path, device: str) -> None:
        self._folder, self._device = folder, device
        self._process: subprocess.Popen[str] | None = None
        self._run = 0

    def outcome(self, mutant: Mutant, cases: list[tuple[str, str]], most: int, seconds: float) -> dict[str, Any]:
        """Run a mutant and return its outcome; a crash of the process counts as caught."""
        # Each mutant gets a new folder, since caches identify a file by its path and time.
        root = self._folder / f"mutant{self._run}" / "shaders"
        shutil.rmtree(root.parent, ignore_errors=True)
        shutil.copytree(sources.directory(), root)
        write(root, mutant)
        self._run += 1
        if self._process is None or self._run % _OF_A_WORKER == 0:
            self.close()
            self._process = self._start()
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        request = {"root": str(root), "cases": cases[: 40 * most], "most": most, "seconds": seconds}
        with contextlib.suppress(OSError):
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
        began = time.monotonic()
        line = process.stdout.readline()
        shutil.rmtree(root.parent, ignore_errors=True)
        if line:
            return dict(json.loads(line))
        self.close()
        # A hang cannot be distinguished from many slow cases, so a timeout does not count as caught.
        is_late = time.monotonic() - began >= seconds
        return {"outcome": "late" if is_late else "caught", "by": "", "reason": "the process ended", "run": 0}

    def _start(self) -> subprocess.Popen[str]:
        environment = {**os.environ, "DML_CACHE_DIR": str(self._folder / "cache")}
        return subprocess.Popen(
            [sys.executable, "-m", "tools.mutation.worker", self._device], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
        )  # fmt: skip

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/mutate", description=__doc__)
    parser.add_argument("--sample", type=int, default=2, help="mutants of each kind to run in each file")
    parser.add_argument("--filter", default="", help="only shaders whose paths contain this")
    parser.add_argument("--cases", type=int, default=100, help="number of cases that a mutant must survive")
    parser.add_argument("--seconds", type=float, default=120.0, help="time limit of a mutant; slower ones do not count")
    parser.add_argument("--part", type=int, default=1, help="which of --parts to run")
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="llvmpipe")
    parser.add_argument("--as", dest="axis", action="append", help="kind of device (default: plain and discrete)")
    parser.add_argument("--json", type=Path, default=FOUND, help="file that keeps each mutant and its outcome")
    parser.add_argument("--again", action="store_true", help="run the mutants that were not caught before")
    parser.add_argument("--page", action="store_true", help=f"only write the documentation's {PAGE.name} from --json")
    return parser.parse_args()


if __name__ == "__main__":
    main()
