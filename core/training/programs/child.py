"""What programs that report to another one have in common: they print JSON objects, and end when their input closes."""

import json
import os
import sys
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from queue import SimpleQueue
from typing import Any

from core.base.data_source import SECRETS
from core.base.problems import BadInput, Problem
from core.system.child_process import end_with_parent
from core.system.memory_bound import OWN


def reporting(work: Callable[[], None]) -> int:
    """Do the work of a child process; a problem in it becomes a line `problem` (code, message, hint).

    Returns:
        The exit code: 0, or 2 after a problem.
    """
    try:
        work()
    except Problem as problem:
        say_problem(problem)
        return 2
    return 0


def chosen_by(parser: ArgumentParser, arguments: Sequence[str] | None) -> Namespace:
    """Read a program's words, and have it end with its parent if they say so."""
    parser.add_argument("--with-parent", action="store_true", help="end when standard input closes")
    chosen = parser.parse_args(arguments)
    if chosen.with_parent:
        end_with_parent()
    return chosen


def bounded_memory() -> None:
    """From now on a file that unfolds to too much memory ends this process with a sentence, where nothing else does."""
    OWN.watch(_end_too_large)


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


def say_problem(problem: Problem) -> None:
    """Print a problem as a line, from which `core.system.reports` makes one again."""
    said = [asdict(one) for one in problem.said]
    say("problem", code=problem.code, message=problem.message, hint=problem.hint, said=said)


def given_lines() -> Iterator[Any]:
    """Lines of standard input, each a value as JSON; its end ends this process, whatever it is doing."""
    lines = SimpleQueue[Any]()
    threading.Thread(target=_read_lines, args=(lines,), name="lines", daemon=True).start()
    while True:
        yield lines.get()


def say_wait(why: str) -> None:
    """Report why nothing goes on; how far the work is stays as it was."""
    say("progress", text=why)


def _end_too_large() -> None:
    hint = "Leave it out: it is damaged, or made to do harm."
    say_problem(BadInput("A file unfolds to more memory than any text needs.", hint=hint))
    os._exit(2)


def _read_lines(lines: "SimpleQueue[Any]") -> None:
    for line in sys.stdin.buffer:
        lines.put(json.loads(line))
    os._exit(0)
