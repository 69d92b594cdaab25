"""A headless Chromium for tests of pages, controlled through a pipe by the DevTools protocol, without other
packages."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: Its names in Debian, in other distributions, and as Chrome.
PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WHY_NOT = "needs Chromium: tools/setup --browser"

#: Widths of a desktop screen and of a phone, in CSS pixels.
DESK, PHONE = 1440, 390


class Page:
    """A page in a browser. Raises RuntimeError if the browser does not answer or a script of the test throws."""

    def __init__(self, to_browser: int, from_browser: int, session: str = "") -> None:
        self._to, self._from, self._session = to_browser, from_browser, session
        self._number, self._rest = 0, b""
        #: Errors of the page's scripts, violations of its policy, and its network requests.
        self.complaints: list[str] = []

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol, and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        return self._wait(lambda found: found.get("id") == self._number)

    def attach(self) -> None:
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def open(self, path: Path, *, width: int = DESK, dark: bool = False) -> None:
        """Load a file in a window of this width."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.complaints.clear()
        self.send("Page.navigate", url=path.resolve().as_uri())
        self._wait(lambda found: found.get("method") == "Page.loadEventFired")

    def ask(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page, as JSON, after any promise has resolved."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"], indent=1))
        return answer["result"].get("value")

    def set(self, selector: str, value: str) -> None:
        """Type into a field or choose from a list, as a user does, and let the page react."""
        field = f"document.querySelector({json.dumps(selector)})"
        self.ask(f"{field}.value = {json.dumps(value)}; {field}.dispatchEvent(new Event('input', {{bubbles: true}}))")
        self.pause(150)

    def pause(self, milliseconds: int) -> None:
        """Wait until the page's timers of less than this many milliseconds have fired."""
        self.ask(f"new Promise(done => setTimeout(done, {milliseconds}))")

    def click(self, selector: str) -> None:
        self.ask(f"document.querySelector({json.dumps(selector)}).click()")

    def texts(self, selector: str) -> list[str]:
        """Return the visible text of each element that matches the selector."""
        found = self.ask(f"[...document.querySelectorAll({json.dumps(selector)})].map(one => one.innerText.trim())")
        return list(found)

    def too_wide(self) -> list[str]:
        """Return the elements that reach beyond the window and do not scroll on their own."""
        found = self.ask("""[...document.body.querySelectorAll("*")].filter(one => {
            const box = one.getBoundingClientRect();
            if (box.width <= 1 || box.right <= document.documentElement.clientWidth + 1) return false;
            for (let at = one.parentElement; at; at = at.parentElement)
                if (["auto", "scroll", "hidden"].includes(getComputedStyle(at).overflowX)) return false;
            return true;
        }).map(one => one.outerHTML.slice(0, 120))""")
        wide = self.ask("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        return list(found) + (["the page scrolls sideways"] if wide else [])

    def faint(self) -> list[str]:
        """Return the visible texts whose contrast with their background is below 4.5 (WCAG 2, AA)."""
        found = self.ask("""(() => {
            const parts = (text) => text.match(/[\\d.]+/g).map(Number);
            const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
                .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
                .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
            const ground = (one) => {
                for (let at = one; at; at = at.parentElement) {
                    const found = parts(getComputedStyle(at).backgroundColor);
                    if (found.length === 3 || found[3] === 1) return found;
                }
                return [255, 255, 255];
            };
            const faint = new Set();
            const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            while (walker.nextNode()) {
                const one = walker.currentNode.parentElement;
                if (!walker.currentNode.data.trim() || !one.checkVisibility() || one.closest("svg")) continue;
                const pair = [light(parts(getComputedStyle(one).color)), light(ground(one))];
                const contrast = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
                if (contrast < 4.5) faint.add(`${contrast.toFixed(2)}: ${walker.currentNode.data.trim().slice(0, 60)}`);
            }
            return [...faint];
        })()""")
        return list(found)

    def _wait(self, wanted: Any) -> dict[str, Any]:
        end = time.monotonic() + 60
        while True:
            while b"\0" in self._rest:
                one, self._rest = self._rest.split(b"\0", 1)
                found = json.loads(one)
                self._listen(found)
                if wanted(found):
                    if "error" in found:
                        raise RuntimeError(f"{found['error']}")
                    return dict(found.get("result", {}))
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._from], [], [], left)[0]:
                raise RuntimeError("the browser does not answer")
            read = os.read(self._from, 1 << 16)
            if not read:
                raise RuntimeError("the browser has ended")
            self._rest += read

    def _listen(self, found: dict[str, Any]) -> None:
        method, parameters = found.get("method"), found.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(parameters["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.complaints.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = parameters["request"]["url"]
            if not url.startswith(("file:", "data:", "about:")):
                self.complaints.append(f"asked for {url}")


@contextlib.contextmanager
def browser() -> Iterator[Page]:
    """Yield a page in its own browser process, which is closed with it."""
    assert PROGRAM is not None
    read_commands, to_browser = os.pipe()
    from_browser, write_answers = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        # The protocol's ends are file descriptors 3 and 4.
        arguments = [PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--disable-background-networking", "--hide-scrollbars",
                     f"--user-data-dir={folder}", "--remote-debugging-pipe"]  # fmt: skip
        command = ["bash", "-c", f'exec "$@" 3<&{read_commands} 4>&{write_answers}', "browser", *arguments]
        # The browser's own use of Vulkan is not under test, so it runs without the validation layer.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("VK_")}
        process = subprocess.Popen(command, pass_fds=(read_commands, write_answers), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)  # fmt: skip
        os.close(read_commands)
        os.close(write_answers)
        try:
            page = Page(to_browser, from_browser)
            page.attach()
            yield page
        finally:
            os.close(to_browser)
            os.close(from_browser)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
            process.kill()
            process.wait()
