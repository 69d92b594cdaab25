"""`dml conformance --stress`: a process for each device and axis, since the driver may hang or crash it."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from dml.conformance.places import DeviceAxis
from dml.conformance.report import title
from dml.conformance.stress import Done, Strain, strain
from dml.runtime.devices import list_devices
from dml.runtime.memory_limit import mebibytes
from dml.words import bytes_text

#: Memory of a run in MiB, if no option gives it.
MEMORY_VARIABLE = "DML_STRESS_MEMORY"
#: Seconds beyond the requested duration after which a process is killed as hung.
_GRACE = 300.0

WORKER = (sys.executable, "-m", "dml.conformance.straining")


def memory_of(asked: int | None) -> int | None:
    """Return the bytes that may be used: the option's MiB, else the variable's, else None. Raises DMLError if the
    variable is not a positive number."""
    return mebibytes(MEMORY_VARIABLE) if asked is None else asked << 20


def run(places: Sequence[DeviceAxis], options: Strain, console: Console) -> bool:
    """Stress each device on each axis and print the work done; return whether all results were right."""
    is_right = True
    for place in places:
        name = title(place.record())
        with console.status(f"{name}: opening the device") as status:
            done = _in_process(place, options, lambda far: status.update(f"{name}: {told(far)}"))  # noqa: B023
        console.print(Text(f"{name}: {told(done)}"), soft_wrap=True)
        if done.wrong:
            is_right = False
            console.print(Text(f"{name}: wrong: {done.wrong}", "bold red"), soft_wrap=True)
            console.print(Text(f"again: {command(place, options)}"), soft_wrap=True)
        else:
            console.print(Text(f"{name}: nothing wrong", "green"), soft_wrap=True)
    return is_right


def told(done: Done) -> str:
    """Describe the work done."""
    return (
        f"{done.seconds:.0f} s, {done.steps} steps on {done.devices} devices: {done.cases} cases, {done.dispatches} "
        f"dispatches in {done.submissions} submissions, {bytes_text(done.bytes)} moved, {done.allocations} allocations "
        f"({bytes_text(done.held)} held, {done.refused} refused), {done.compared} comparisons"
    )


def command(place: DeviceAxis, options: Strain) -> str:
    """Return the command that repeats a run."""
    words = ["dml conformance --stress", f"--seed {options.seed}", f"--minutes {options.seconds / 60:g}"]
    words += [f"--threads {options.threads}", f"--device '{place.which}'", f"--as {place.axis}"]
    if options.memory is not None:
        words.append(f"--memory {math.ceil(options.memory / (1 << 20))}")
    return " ".join(words)


def _in_process(place: DeviceAxis, options: Strain, report: Callable[[Done], None]) -> Done:
    """Stress a device on an axis in another process."""
    request = {"device": place.device.index, "axis": place.axis, **asdict(options)}
    process = subprocess.Popen(
        [*WORKER, json.dumps(request)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    timer = threading.Timer(options.seconds + _GRACE, process.kill)
    timer.start()
    done, is_last = Done(), False
    try:
        for line in process.stdout:
            answer: dict[str, Any] = json.loads(line)
            is_last = answer.pop("last")
            done = Done(**answer)
            report(done)
        status = process.wait()
    finally:
        timer.cancel()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    if not is_last:
        how = f"exit status {status}"
        if status < 0:
            with contextlib.suppress(ValueError):
                how = signal.Signals(-status).name
        done.wrong = done.wrong or f"the process ended with {how}, or hung"
    return done


def main() -> None:
    """Stress the device of the request in the first argument; print its progress as JSON lines, the last one with the
    result."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    request = json.loads(sys.argv[1])
    device, axis = list_devices()[request.pop("device")], request.pop("axis")

    def tell(done: Done, *, last: bool = False) -> None:
        answers.write(json.dumps({**done.record(), "last": last}) + "\n")
        answers.flush()

    tell(strain(device, axis, Strain(**request), tell), last=True)


if __name__ == "__main__":
    main()
