"""The page's line to its backbone: questions about people who have signed in here, on stdout; answers come on stdin."""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from typing import Final

from core.base.site.channel import DeskAct, DeskAnswer, DeskAsk, framed

WAITING_MAX: Final = 64
"""Number of questions without an answer: all of them fit into a pipe, so that writing one waits for nobody."""
ANSWER_S: Final = 10.0
_LATE: Final = DeskAnswer(error="out_of_order", words="The backbone does not answer. Try again in a minute.")


def _write(data: bytes) -> None:
    os.write(1, data)


class BackboneLine:
    """Asks the backbone, whose answers come in the order of the questions.

    Args:
        write: Takes a frame whole, without waiting.
    """

    def __init__(self, write: Callable[[bytes], None] = _write) -> None:
        self._write = write
        self._waiting: deque[asyncio.Future[DeskAnswer]] = deque()

    async def ask(self, act: DeskAct, person: bytes = bytes(16), key: bytes = bytes(32), words: str = "") -> DeskAnswer:
        """What the backbone says.

        Args:
            act: What is asked for.
            person: An account of the database.
            key: The computer or moderator that is meant, where one is.
            words: What a moderator has answered.
        """
        if len(self._waiting) >= WAITING_MAX:
            return _LATE
        future: asyncio.Future[DeskAnswer] = asyncio.get_running_loop().create_future()
        try:
            self._write(framed(DeskAsk(act, person, key, words)))
            self._waiting.append(future)  # only now: what was not asked gets nobody's answer
            async with asyncio.timeout(ANSWER_S):
                return await future
        except (OSError, TimeoutError):
            return _LATE

    def answered(self, answer: DeskAnswer) -> None:
        """Take the next answer; one that nobody waits for any more is dropped."""
        if self._waiting and not (future := self._waiting.popleft()).done():
            future.set_result(answer)
