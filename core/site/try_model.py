"""Try the model: visitors' texts, answered one after another by a child process that has torch.

The child is `core.training.programs.use`, the same that the window asks.  It loads the newest copy at the first text,
and ends when nobody has asked for `IDLE_S`, when a newer copy is there, or when an answer takes longer than `ANSWER_S`.
A text goes to the child's standard input, where no other program reads it, and is kept nowhere.

What the worst visitor gains: one answer each `EVERY_S` seconds for each household, at the lowest priority that this
computer has; `QUEUE_MAX` texts wait, and a contributor's comes before all others.
"""

import asyncio
import contextlib
import logging
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from core.api.score import WordGuess
from core.base.rate_limit import RateLimit

_LOG = logging.getLogger(__name__)
TEXT_LETTERS_MAX: Final = 400
EVERY_S: Final = 5.0
QUEUE_MAX: Final = 8
ANSWER_S: Final = 60.0
"""Upper bound on one answer, on a computer whose cores are busy; one that loads the model first has `LOAD_S` more."""
LOAD_S: Final = 120.0
IDLE_S: Final = 120.0
LINE_BYTES_MAX: Final = 256 * 1024
FAILED: Final = "The model gave no answer. Try again in a minute."
BUSY: Final = "Many people try the model at the moment. Try again in a minute."
TOO_OFTEN: Final = f"One text in {EVERY_S:.0f} seconds. Wait for a moment, then ask again."
TOO_LONG: Final = f"The text is too long. Write at most {TEXT_LETTERS_MAX} letters."
NO_TEXT: Final = "Write a sentence first."


class UnansweredError(Exception):
    """There is no answer.

    Args:
        says: Why, and what to do.
    """

    def __init__(self, says: str) -> None:
        super().__init__(says)
        self.is_busy = says in {BUSY, TOO_OFTEN}


class ModelWords(msgspec.Struct, frozen=True):
    """What the child says, as far as it is shown."""

    event: str = ""
    text: str = ""
    """The text with its blanks filled, or how it goes on."""
    blanks: list[list[WordGuess]] = []
    message: str = ""
    """Why there is no answer, as a sentence."""
    hint: str = ""


@dataclass(eq=False, slots=True)
class _Turn:
    text: str
    file: str
    is_contributor: bool
    answer: asyncio.Future[ModelWords]


class TryModel:
    """Answers texts, one at a time.

    Args:
        command: The child, up to the state; empty: this computer has no torch.
        folder: Where the copies lie.
    """

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self._command = tuple(command)
        self._folder = folder
        self._limit: RateLimit[str] = RateLimit(rate_per_s=1 / EVERY_S, burst=1)
        self._waiting: list[_Turn] = []
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_here(self) -> bool:
        """Whether this computer can load a model."""
        return bool(self._command)

    async def ask(
        self, text: str, file: str, *, household: str, now: float, is_contributor: bool = False
    ) -> ModelWords:
        """What the model says of a text.

        Args:
            text: At most `TEXT_LETTERS_MAX` letters.
            file: The copy's.
            household: Who asks.
            now: Seconds, of a clock that only goes on.
            is_contributor: Whether samples of this person have been counted.

        Raises:
            UnansweredError: there is no text, it is too long, this household asks too often, too many texts wait, or
                the child failed.
        """
        if not text.strip():
            raise UnansweredError(NO_TEXT)
        if len(text) > TEXT_LETTERS_MAX:
            raise UnansweredError(TOO_LONG)
        if not self._limit.admits(household, now):
            raise UnansweredError(TOO_OFTEN)
        if len(self._waiting) >= QUEUE_MAX and not (is_contributor and self._make_way()):
            raise UnansweredError(BUSY)
        asked = _Turn(text, file, is_contributor, asyncio.get_running_loop().create_future())
        self._waiting.append(asked)
        self._news.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())
        try:
            return await asked.answer
        finally:
            if asked in self._waiting:
                self._waiting.remove(asked)

    async def close(self) -> None:
        """End the child, and answer nobody any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _make_way(self) -> bool:
        """Whether the last text of somebody who has given nothing made way for a contributor's."""
        last = next((one for one in reversed(self._waiting) if not one.is_contributor), None)
        if last is None:
            return False
        self._waiting.remove(last)
        _fail(last, BUSY)
        return True

    async def _work(self) -> None:
        """Run children until nobody has asked for a while."""
        while (asked := await self._next()) is not None:
            try:
                with tempfile.TemporaryDirectory(prefix="potluck-", ignore_cleanup_errors=True) as cache:
                    await self._run(asked, cache)
            except Exception as error:  # noqa: BLE001 - a full disk, a limit on processes: this answer is lost
                _LOG.warning("a visitor's text got no answer: %s", type(error).__name__)
                _fail(asked, FAILED)

    async def _run(self, first: _Turn, cache: str) -> None:
        """Have one child answer texts about one copy, as long as it does.

        Raises:
            OSError: it cannot be started, or has ended.
            TimeoutError: it takes too long.
        """
        words = ("--cache", cache, "--state", str(self._folder / first.file), "answer")
        child = await asyncio.create_subprocess_exec(
            *self._command,
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,  # what a library says there may repeat the text
            limit=LINE_BYTES_MAX,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        asked: _Turn | None = first
        try:
            patience_s = LOAD_S + ANSWER_S
            while asked is not None and asked.file == first.file:
                async with asyncio.timeout(patience_s):
                    said = await _answer(child, asked.text)
                if not asked.answer.done():
                    asked.answer.set_result(said)
                asked, patience_s = await self._next(), ANSWER_S
            if asked is not None:
                self._waiting.insert(0, asked)  # about a newer copy
        except BaseException:
            if asked is not None and asked is not first:
                _fail(asked, FAILED)
            raise
        finally:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()

    async def _next(self) -> _Turn | None:
        """The text whose turn it is; None: nobody has asked for `IDLE_S`."""
        while not self._waiting:
            self._news.clear()
            try:
                async with asyncio.timeout(IDLE_S):
                    await self._news.wait()
            except TimeoutError:
                if not self._waiting:
                    return None
        asked = next((one for one in self._waiting if one.is_contributor), self._waiting[0])
        self._waiting.remove(asked)
        return asked


def _fail(asked: _Turn, why: str) -> None:
    if not asked.answer.done():
        asked.answer.set_exception(UnansweredError(why))


async def _answer(child: asyncio.subprocess.Process, text: str) -> ModelWords:
    """What a child says of a text.

    Raises:
        OSError: it has ended, or says something unreadable.
    """
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(msgspec.json.encode(text) + b"\n")
    await child.stdin.drain()
    while line := await child.stdout.readline():
        try:
            said = msgspec.json.decode(line, type=ModelWords)
        except msgspec.DecodeError:
            continue  # a library has printed something
        if said.event in {"filled", "continued", "problem"}:
            return said
    raise BrokenPipeError("the child has ended")
