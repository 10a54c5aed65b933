"""A real X server without a screen, with a window manager, for tests that type and look."""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence

import pytest

NEEDED = ("Xvfb", "openbox", "xdotool")
PATIENCE_S = 20.0


@contextlib.contextmanager
def running(words: Sequence[str], environ: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A program that ends with the test."""
    process = subprocess.Popen(
        words, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def screen(*, size: str = "1100x720x24") -> Iterator[dict[str, str]]:
    """An X server with a window manager; gives the environment in which programs find it."""
    lacking = [name for name in NEEDED if shutil.which(name) is None]
    if lacking:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    reads, writes = os.pipe()
    words = ["Xvfb", "-displayfd", str(writes), "-screen", "0", size, "-nolisten", "tcp"]
    server = subprocess.Popen(
        words, pass_fds=(writes,), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(writes)
    try:
        with os.fdopen(reads, encoding="ascii") as said:
            number = said.readline().strip()
        assert number, "Xvfb did not start"
        environ = {name: value for name, value in os.environ.items() if name != "WAYLAND_DISPLAY"}
        environ["DISPLAY"] = f":{number}"
        with running(["openbox"], environ):
            _managed(environ)
            yield environ
    finally:
        server.terminate()
        server.wait(PATIENCE_S)


def type_key(environ: Mapping[str, str], key: str = "a") -> None:
    """Press a key, and let it go."""
    subprocess.run(["xdotool", "key", key], env=environ, check=True, timeout=PATIENCE_S)


def _managed(environ: Mapping[str, str]) -> None:
    """Wait until the window manager has begun."""
    until = time.monotonic() + PATIENCE_S
    asked = ["xdotool", "get_num_desktops"]
    while subprocess.run(asked, env=environ, capture_output=True, check=False).returncode != 0:
        assert time.monotonic() < until, "openbox did not start"
        time.sleep(0.1)
