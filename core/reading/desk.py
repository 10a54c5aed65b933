"""The reader's side of the engine's desk (`core.base.data_desk`): blocking questions, to be asked from any thread."""

import contextlib
import http.client
import urllib.parse
from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

from core.base.data_desk import (
    ALLOW_BYTES_MAX,
    WAIT_S_MAX,
    AllowAnswer,
    AllowAsk,
    KeptAnswer,
    KeptAsk,
    NextAnswer,
    NextAsk,
)

ANSWER_S: Final = 60.0
"""The engine answers much sooner, whatever the answer is; where it does not it has ended, and this process will."""

Answer = TypeVar("Answer", AllowAnswer, NextAnswer, KeptAnswer)


class Desk:
    """Asks the engine's desk for the reader; one that cannot be reached allows, knows and keeps nothing.

    Args:
        url: Where the desk answers; empty: there is none, so everything is allowed and all shards lie at the origin.
        token: Shown with each question.
    """

    def __init__(self, url: str = "", token: str = "") -> None:
        self._address = urllib.parse.urlsplit(url).netloc
        self._headers = {"Authorization": f"Bearer {token}", "Connection": "close"}

    def allow(self, count: int) -> bool:
        """Wait until bytes may be read from the network, as the person's limits have it; they count as read then.

        Args:
            count: Number of bytes.

        Returns:
            Whether they may be read; False: the network rests, ask again later.
        """
        while count and self._address:
            part = min(count, ALLOW_BYTES_MAX)
            answer = self._ask("/v1/allow", AllowAsk(part), AllowAnswer)
            if answer is None or answer.rests:
                return False
            count -= part - answer.left
        return True

    def next(self, source: int, wanted: Sequence[int], *, wait_s: float = 3.0) -> tuple[int, str]:
        """Ask which shard to read next.  The engine also learns what to have peers send meanwhile.

        Args:
            source: The source's place in the manifest.
            wanted: Its shards that can be read now, in order of preference; the more there are, the better those can
                be chosen that few have (S000, appendix H).
            wait_s: How long it may take before the origin is the answer: 0 where something waits for the shard.

        Returns:
            The shard, and the path of a file with its bytes; an empty path: it is to be read from the origin.

        Raises:
            ValueError: nothing is wanted.
        """
        if not wanted:
            raise ValueError("no shard is wanted")
        ask = NextAsk(source, tuple(wanted), min(wait_s, WAIT_S_MAX))
        answer = self._ask("/v1/next", ask, NextAnswer) if self._address else None
        return (wanted[0], "") if answer is None else (answer.shard, answer.path)

    def kept(self, source: int, shard: int, path: str) -> bool:
        """Tell that a shard was read from the origin and checked, so that others may have it.

        Args:
            source: The source's place in the manifest.
            shard: The shard's number.
            path: A file with its bytes; it may go when this returns.

        Returns:
            Whether the engine keeps a copy.
        """
        answer = self._ask("/v1/kept", KeptAsk(source, shard, path), KeptAnswer) if self._address else None
        return answer is not None and answer.kept

    def _ask(self, path: str, question: msgspec.Struct, kind: type[Answer]) -> Answer | None:
        """The answer; None: there is none."""
        with contextlib.closing(http.client.HTTPConnection(self._address, timeout=ANSWER_S)) as connection:
            try:
                connection.request("POST", path, msgspec.json.encode(question), self._headers)
                response = connection.getresponse()
                data = response.read()
                return msgspec.json.decode(data, type=kind) if response.status == 200 else None
            except (OSError, http.client.HTTPException, msgspec.MsgspecError):
                return None
