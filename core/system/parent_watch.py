"""The parent watch: a child process ends when its stdin closes, so that nothing runs on after its owner's crash."""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable


def watch_parent(stop: Callable[[], None]) -> None:
    """Call `stop` in this loop when stdin reaches its end."""
    loop = asyncio.get_running_loop()

    def watch() -> None:
        # Past sys.stdin, whose lock a daemon thread must not hold when the interpreter ends.
        with contextlib.suppress(OSError):
            while os.read(0, 4096):
                pass
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(stop)

    threading.Thread(target=watch, name="parent watch", daemon=True).start()


def stop_on_signals(stop: Callable[[], None]) -> None:
    """Call `stop` in this loop on Ctrl-C and on a polite request of the system to end."""
    loop = asyncio.get_running_loop()
    for name in ("SIGINT", "SIGTERM", "SIGBREAK"):
        number = getattr(signal, name, None)
        if number is None:
            continue
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))
