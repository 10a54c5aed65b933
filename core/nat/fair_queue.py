"""A queue that passes on the messages of several circuits in turn, within a rate."""

from collections import Counter, OrderedDict, deque
from typing import Final

from core.base.ids import PeerId
from core.base.machine import Send
from core.base.rate_limit import TokenBucket
from core.nat.messages import CircuitData

BURST_S: Final = 0.25
"""Unused rate is kept up to the worth of this time."""
MESSAGE_BYTES: Final = 256
"""What a message counts for beside its payload: without it, the bound on what waits does not bound memory."""
WAIT_S: Final = 0.001
"""Time beyond the moment at which the rate allows bytes again, so that it does when the queue is asked."""


def cost_bytes(message: CircuitData) -> int:
    """What a message counts for where bytes are limited."""
    return MESSAGE_BYTES + len(message.payload)


class FairQueue:
    """Holds messages until the rate allows them; circuits take turns.

    Args:
        rate_bytes_per_s: Bytes that leave in the long run.
    """

    def __init__(self, rate_bytes_per_s: float) -> None:
        self.limit(rate_bytes_per_s)
        self._waiting: OrderedDict[bytes, deque[Send[CircuitData]]] = OrderedDict()
        """By circuit; the one whose turn is next first."""
        self._held: Counter[bytes] = Counter()
        """Bytes that wait, by circuit."""
        self.moved_bytes = 0
        """Bytes passed on so far."""

    def limit(self, rate_bytes_per_s: float) -> None:
        """Let messages leave at another rate from now on."""
        self._bucket = TokenBucket(rate_per_s=rate_bytes_per_s, burst=rate_bytes_per_s * BURST_S)

    @property
    def deadline(self) -> float | None:
        """Time at which `release` has something to pass on, Unix seconds; None: nothing waits."""
        ready_at = self._bucket.ready_at
        return ready_at + WAIT_S if self._waiting and ready_at is not None else None

    @property
    def held_bytes(self) -> int:
        """Bytes of all circuits that wait."""
        return self._held.total()

    def held_bytes_of(self, circuit: bytes) -> int:
        """Bytes of one circuit that wait."""
        return self._held[circuit]

    def add(self, to: PeerId, message: CircuitData) -> None:
        """Let a message wait for the turn of its circuit.

        Args:
            to: The receiver.
            message: The message.
        """
        self._waiting.setdefault(message.circuit, deque()).append(Send(to, message))
        self._held[message.circuit] += cost_bytes(message)

    def drop(self, circuit: bytes) -> None:
        """Forget the messages of a circuit."""
        self._waiting.pop(circuit, None)
        del self._held[circuit]

    def release(self, now: float) -> list[Send[CircuitData]]:
        """Pass on what the rate allows."""
        outputs: list[Send[CircuitData]] = []
        while self._bucket.tokens(now) > 0 and self._waiting:
            circuit, queue = next(iter(self._waiting.items()))
            outputs.append(queue.popleft())
            message = outputs[-1].message
            self._bucket.spend(cost_bytes(message))
            self._held[circuit] -= cost_bytes(message)
            self.moved_bytes += len(message.payload)
            self._waiting.move_to_end(circuit)
            if not queue:
                self.drop(circuit)
        return outputs
