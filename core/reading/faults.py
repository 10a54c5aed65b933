"""What a library makes of the bytes of strangers: a damaged shard, and one line of the log that says where to look."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from core.api.data_state import DataCode
from core.reading.news import NAME_LETTERS
from core.reading.wishes import GivenUp
from core.text.sources.source import ShardUnreadable, SourceTrouble

LINES_MAX: Final = 500
"""Shards of a source that have a line in the log, at most: with five kilobytes each, if every letter has to be escaped,
they fit a log (`core.system.child_process.LOG_BYTES_MAX`)."""
SAID_LETTERS: Final = 200
"""Letters of an exception's text that a line keeps."""
FRAMES_MAX: Final = 3
"""The innermost calls that a line names."""


class Faults:
    """Has whatever goes wrong with one source's bytes concern one shard alone: no bytes end this process.

    A stranger can have every shard fail in every pass.  Each has one line, however often it fails, of bounded length,
    so a stranger gains `LINES_MAX` lines.
    """

    def __init__(self) -> None:
        self._told: set[int] = set()

    @contextmanager
    def of(self, shard: int, name: str = "") -> Iterator[None]:
        """Read something of a shard.

        Args:
            shard: Its number, or another one for the source itself.
            name: Of the shard, for people.

        Raises:
            ShardUnreadable: anything went wrong that is no trouble which a source names itself.
        """
        try:
            yield
        except (SourceTrouble, GivenUp):
            raise
        except Exception as error:
            if shard not in self._told and len(self._told) < LINES_MAX:
                self._told.add(shard)
                sys.stderr.write(fault_line(name, error))
            raise ShardUnreadable(DataCode.DAMAGED, name=name) from error


def fault_line(name: str, error: Exception) -> str:
    """What went wrong with a shard of this name, and in which calls, the innermost first."""
    said = "".join(traceback.format_exception_only(error)).strip()[:SAID_LETTERS]
    frames = reversed(traceback.extract_tb(error.__traceback__, limit=-FRAMES_MAX))
    where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
    return f"Damaged text {name[-NAME_LETTERS:]!a}: {said!a} in {where}\n"
