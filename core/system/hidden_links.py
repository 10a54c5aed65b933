"""Keeps invitations out of command lines, which everybody on a computer can read for as long as a process lives.

A process that finds a link among its words begins anew (execve(2)) with the number of a pipe in the link's place.  That
is not done on Windows, which shows the words of a process to its own person and to administrators only.
"""

import os
import re
import sys
from collections.abc import Sequence
from typing import Final

_LINK: Final = re.compile(r"((?:--[a-z]+=)?)(.*potluck:.*#.*)", re.DOTALL | re.IGNORECASE)
_HANDED: Final = re.compile(r"((?:--[a-z]+=)?)link-by-pipe-([0-9]{1,4})")
_BYTES_MAX: Final = 16_384
"""Upper bound on a link that is handed on: pipes hold as much, and one with more is refused
(core.api.joined.LINK_LETTERS_MAX)."""


def own_words() -> Sequence[str]:
    """The words that this process was given, and no link among them in its command line."""
    words = sys.argv[1:]
    first = len(sys.orig_argv) - len(words)
    if os.name != "nt" and any(map(_LINK.fullmatch, words)) and sys.orig_argv[first:] == words:
        shown = [_LINK.sub(lambda found: f"{found[1]}link-by-pipe-{_pipe_with(found[2])}", word) for word in words]
        os.execv(sys.executable, [*sys.orig_argv[:first], *shown])  # noqa: S606 - this program again, no shell
    return [_taken(word) for word in words]


def _pipe_with(link: str) -> int:
    reading, writing = os.pipe()
    os.write(writing, os.fsencode(link)[:_BYTES_MAX])
    os.close(writing)
    os.set_inheritable(reading, True)
    return reading


def _taken(word: str) -> str:
    """A word, or in its place what an earlier self has left in a pipe."""
    handed = _HANDED.fullmatch(word)
    if handed is None:
        return word
    try:
        with os.fdopen(int(handed[2]), "rb") as pipe:
            return handed[1] + os.fsdecode(pipe.read(_BYTES_MAX))
    except OSError:
        return word
