"""The engine's side of the senses: a child process that is kept alive, and what it last found."""

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from core.schedule.sensed import RuleNames, Sensed
from core.schedule.senses.findings import KEPT_S
from core.system.child_process import open_log, own_command
from core.system.reports import end, start
from core.system.restarts import Restarts

LINE_BYTES_MAX: Final = 512 * 1024
EXIT_TIMEOUT_S: Final = 2.0

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Word:
    """What a child said, and when, by the loop's clock."""

    said: Sensed
    at: float


class SensesChild:
    """Findings of the senses, which run in a child: a driver or a library that crashes ends that one only.

    Args:
        log: Where the child's stderr goes; begun anew when it has grown beyond 4 MiB.
        random: Draws the jitter of the waits before it is started again.
        command: The program; by default this program's own.
        kept_s: Seconds for which the last word of a child that ends holds, as far as the next one says nothing.
    """

    def __init__(self, log: Path, random: Random, command: Sequence[str] | None = None, kept_s: float = KEPT_S) -> None:
        self._log = log
        self._random = random
        self._command = list(command or [*own_command("senses", "core.schedule.senses"), str(os.getpid())])
        self._kept_s = kept_s
        self._decoder = msgspec.json.Decoder(Sensed)
        self._followers: list[Callable[[Sensed], object]] = []
        self._process: asyncio.subprocess.Process | None = None
        self._watching = RuleNames()
        self._word = _Word(Sensed(), 0.0)
        self._kept: deque[_Word] = deque()
        """Last words of children that have ended, the latest last."""
        self.sensed = Sensed()
        """What was known at the last change; idle time has grown since."""
        self._told_at = 0.0

    @property
    def pid(self) -> int | None:
        """The child's number while it runs."""
        return None if self._process is None or self._process.returncode is not None else self._process.pid

    def follow(self, callback: Callable[[Sensed], object]) -> Callable[[], None]:
        """Call `callback` in the loop's thread with each change; idle time that grows does not count.

        Returns:
            What ends that.
        """
        self._followers.append(callback)
        return lambda: self._followers.remove(callback)

    def watch(self, names: RuleNames) -> None:
        """Look at this from now on, and at nothing that was named before."""
        if names != self._watching:
            self._watching = names
            self._say_names()

    def _say_names(self) -> None:
        if self.pid is not None and self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(msgspec.json.encode(self._watching) + b"\n")

    async def run(self) -> None:
        """Keep a child alive until cancelled; one that ends is started again after a wait that grows."""
        restarts = Restarts(self._random)
        while True:
            try:
                await self._run_once()
            except Exception:  # noqa: BLE001 - a full disk, a limit on processes: the engine works without senses
                _LOG.exception("the process that watches this system has failed")
            await restarts.wait()

    async def _run_once(self) -> None:
        with open_log(self._log) as log:
            process = await start(self._command, log=log, line_bytes_max=LINE_BYTES_MAX)
        self._process = process
        self._say_names()
        try:
            await self._read(process)
        finally:
            await end(process, patience_s=EXIT_TIMEOUT_S)
            self._keep_last_word()
        _LOG.warning("the process that watches this system has ended (%s)", process.returncode)

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Learn each line until the child ends, or writes something else: then it is not believed any more."""
        assert process.stdout is not None
        while True:
            try:
                line = await process.stdout.readline()
                sensed = self._decoder.decode(line) if line else None
            except ValueError as error:  # too long, or not a value of this type
                _LOG.warning("the process that watches this system writes nonsense: %s", error)
                return
            if sensed is None:
                return
            self._learn(sensed)

    def _learn(self, said: Sensed) -> None:
        now = asyncio.get_running_loop().time()
        self._word = _Word(said, now)
        self._tell(now)

    def _tell(self, now: float) -> None:
        sensed = _newest([word.said.after(now - word.at) for word in (*self._kept, self._word)])
        if sensed.is_like(self.sensed.after(now - self._told_at)):
            return
        self.sensed, self._told_at = sensed, now
        for callback in tuple(self._followers):
            callback(sensed)

    def _keep_last_word(self) -> None:
        """A child that has just begun knows nothing yet: rules would be served or not by its restarts."""
        self._kept.append(self._word)
        asyncio.get_running_loop().call_later(self._kept_s, self._forget_oldest)
        self._learn(Sensed())

    def _forget_oldest(self) -> None:
        self._kept.popleft()
        self._tell(asyncio.get_running_loop().time())


def _newest(words: Sequence[Sensed]) -> Sensed:
    """Return each finding as the latest word that has it tells it.

    Args:
        words: The latest last.
    """
    known: dict[str, Any] = {}
    for field in fields(Sensed):
        told = (getattr(word, field.name) for word in reversed(words))
        known[field.name] = next((value for value in told if value != field.default), field.default)
    return Sensed(**known)
