"""Calls as trainers make them of hosts of experts, which go on beside rounds."""

from collections.abc import Sequence
from random import Random
from typing import Any, ClassVar, Final

from core.base.ids import PeerId
from core.base.machine import Received, Send
from core.base.wire import Message
from core.experts.messages import ExpertCall, ExpertReply
from core.experts.queue import CallKind

EVERY_S: Final = 0.25
"""Time between two calls of one peer to another."""
BYTES: Final = 16 * 1024
"""Size of a call, and of its answer: with four peers calls take a thirteenth of a line of 40 Mbit/s each way."""
WITHIN_MS: Final = 60_000


class Calls:
    """Asks each other peer in turn while it is on, and answers their calls at once.

    Args:
        others: The peers that it asks.
        random: Draws the calls' numbers.
    """

    MESSAGES: ClassVar[tuple[type[Message], ...]] = (ExpertCall, ExpertReply)

    def __init__(self, others: Sequence[PeerId], random: Random) -> None:
        self._others = others
        self._random = random
        self._payload = memoryview(random.randbytes(BYTES))
        self._turn = 0
        self._asked: dict[int, float] = {}
        self._took: list[tuple[float, float]] = []
        """When each call was made that was answered, and how long it took."""
        self.deadline: float | None = None
        """When the next call is due, Unix seconds."""

    def begin(self, now: float) -> None:
        """Ask from now on."""
        self._took.clear()
        self.deadline = now

    def end(self, at: float) -> tuple[list[float], list[float]]:
        """Ask no more; returns how long the calls took that were made before `at`, and those from then on."""
        self.deadline = None
        alone = [took for made, took in self._took if made < at]
        return alone, [took for made, took in self._took if made >= at]

    def handle(self, event: Any, now: float) -> Sequence[Send[Message]]:
        """Answer, note an answer, or ask the next one."""
        match event:
            case Received(sender=sender, message=ExpertCall() as call):
                return [Send(sender, ExpertReply(call.call, call.rows, 0, call.payload))]
            case Received(message=ExpertReply(call=number)):
                made = self._asked.pop(number, now)
                self._took.append((made, now - made))
            case _ if self.deadline is not None and self.deadline <= now:
                self.deadline += EVERY_S / len(self._others)
                self._turn = (self._turn + 1) % len(self._others)
                number = self._random.getrandbits(62)
                self._asked[number] = now
                return [Send(self._others[self._turn], self._call(number))]
        return []

    def _call(self, number: int) -> ExpertCall:
        return ExpertCall(
            call=number,
            layer=0,
            place=(0,),
            kind=CallKind.FORWARD,
            rows=64,
            seen=0,
            within_ms=WITHIN_MS,
            payload=self._payload,
        )
