"""What programs that report to another one have in common: they print JSON objects, and end when their input closes."""

import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from core.base.data_source import SECRETS
from core.base.problems import Problem


def reporting(work: Callable[[], None]) -> int:
    """Do the work of a child process; a problem in it becomes a line `problem` (code, message, hint).

    Returns:
        The exit code: 0, or 2 after a problem.
    """
    try:
        work()
    except Problem as problem:
        say("problem", code=problem.code, message=problem.message, hint=problem.hint)
        return 2
    return 0


def end_with_parent() -> None:
    """From now on the end of standard input ends this process, whatever it is doing."""
    threading.Thread(target=_watch_parent, name="parent watch", daemon=True).start()


def given_secrets() -> dict[str, str]:
    """Credentials of sources that the parent gives (`core.system.reports`); no child of this process gets them."""
    found: dict[str, str] = json.loads(os.environ.pop(SECRETS, "{}"))
    return found


def say(event: str, **words: Any) -> None:
    """Print one JSON object on a line; when nobody reads any more, that is the end."""
    try:
        sys.stdout.write(json.dumps({"event": event, **words}) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os._exit(0)


def say_wait(why: str) -> None:
    """Report why nothing goes on; how far the work is stays as it was."""
    say("progress", text=why)


def _watch_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)
