"""The real process of the senses beside a Wayland compositor made with libwayland."""

import asyncio
import contextlib
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.process.sensing import PATIENCE_S, senses, without_screen

pytest.importorskip("pywayland", reason="not installed: pywayland")
pytestmark = pytest.mark.process

PROGRAM = Path(__file__).with_name("wayland_compositor.py")


@contextlib.contextmanager
def compositor(folder, version):
    """A compositor with a version of the protocol, and the environment of its session."""
    environ = {**without_screen(), "XDG_RUNTIME_DIR": str(folder)}
    words = [sys.executable, str(PROGRAM), str(version)]
    process = subprocess.Popen(words, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        name = process.stdout.readline().decode().strip()
        assert name, "the compositor did not start"
        yield process, {**environ, "WAYLAND_DISPLAY": name}
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_S)


@pytest.mark.parametrize(("version", "request_"), [(1, "get_idle_notification"), (2, "get_input_idle_notification")])
def test_input_is_told_as_compositor_tells_it(tmp_path, version, request_):
    async def go(process, environ):
        def say(word):
            process.stdin.write(f"{word}\n".encode())
            process.stdin.flush()

        async with senses(tmp_path, environ) as found:
            assert await asyncio.to_thread(process.stdout.readline) == f"{request_} 1000\n".encode()
            await found.until(lambda sensed: sensed.idle_s == 0)
            for _ in range(3):
                say("idled")
                await found.until(lambda sensed: (sensed.idle_s or 0) >= 1)
                began = time.monotonic()
                say("resumed")
                _, at = await found.until(lambda sensed: sensed.idle_s == 0)
                assert at - began < 0.5
            say("idled")
            await found.until(lambda sensed: (sensed.idle_s or 0) >= 1)
            process.kill()
            await asyncio.sleep(4)
            assert 1 <= found.child.sensed.idle_s < 3  # its last word, which counts no further

    with compositor(tmp_path, version) as (process, environ):
        asyncio.run(go(process, environ))
