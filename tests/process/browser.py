"""A real browser without a window, told what to do through its DevTools protocol: Debian's `chromium`."""

import base64
import contextlib
import itertools
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

PROGRAM = "chromium"
START_S = 60.0
WORDS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)


def is_here() -> bool:
    return shutil.which(PROGRAM) is not None


class Browser:
    """One tab.

    Args:
        connection: To the tab.
    """

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._numbers = itertools.count(1)
        self.asked: list[str] = []
        """Addresses that were asked for since the last page was opened."""
        for domain in ("Page", "Network", "Runtime"):
            self.tell(f"{domain}.enable")

    def tell(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._connection.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            said = self._heard()
            if said.get("id") == number:
                assert "error" not in said, said
                return dict(said["result"])

    def open(self, address: str, *, width: int, dark: bool, height: int = 800) -> None:
        """Open a page as a screen of this width shows it, and wait until it is there."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.tell("Emulation.setEmulatedMedia", features=[scheme])
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.tell("Emulation.setDeviceMetricsOverride", **size)
        self.asked.clear()
        self.tell("Page.navigate", url=address)
        self.wait()

    def value(self, script: str) -> Any:
        """What an expression comes to; the page itself runs no script, a debugger may."""
        return self.tell("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def press(self, key: str, code: int) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            self.tell("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def submit(self, key: str, code: int) -> None:
        """Press a key that sends a form, and wait for the page that answers."""
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            given = text if kind == "keyDown" else {}
            self.tell("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **given)
        self.wait()

    def wait(self) -> None:
        """Wait until another page is there."""
        while self._heard().get("method") != "Page.loadEventFired":
            pass

    def picture(self, path: Path, *, whole: bool = True) -> None:
        said = self.tell("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(said["data"]))

    def _heard(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self._connection.recv(timeout=START_S))
        if said.get("method") == "Network.requestWillBeSent":
            self.asked.append(said["params"]["request"]["url"])
        return said


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A browser with an empty profile, which ends with the context."""
    with tempfile.TemporaryDirectory(prefix="potluck-browser-", ignore_cleanup_errors=True) as profile:
        words = [PROGRAM, *WORDS, f"--user-data-dir={profile}", "about:blank"]
        nothing = subprocess.DEVNULL
        process = subprocess.Popen(words, stdin=nothing, stdout=nothing, stderr=nothing)
        try:
            where = Path(profile) / "DevToolsActivePort"
            until = time.monotonic() + START_S
            while not (where.exists() and where.read_text().strip()):
                assert time.monotonic() < until, "the browser does not start"
                time.sleep(0.1)
            port = where.read_text().split()[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=START_S) as answer:
                tab = next(one for one in json.load(answer) if one["type"] == "page")
            with connect(tab["webSocketDebuggerUrl"], max_size=None) as connection:
                yield Browser(connection)
        finally:
            process.terminate()
            process.wait(START_S)
