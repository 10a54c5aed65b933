"""Send queues of a link: control before bulk, in fragments, with a limit on both."""

from collections import deque
from typing import Final

from core.base.wire import (
    BULK_BYTES_MAX,
    CONTROL_BYTES_MAX,
    FLAG_BESIDE,
    FLAG_BULK,
    FLAG_LAST,
    fragment_header,
)

CONTROL_QUEUE_BYTES_MAX = 1024 * 1024
BULK_QUEUE_BYTES_MAX = 64 * 1024 * 1024
MESSAGE_COST_BYTES = 128
"""Bytes counted for every queued message besides its own, so that many empty ones are not free."""
BESIDE_SHARE: Final = 0.1
"""Share of what leaves in which bulk beside a round overtakes the round's, so that it takes little longer for it."""
BESIDE_BYTES_MAX: Final = 128 * 1024
"""Upper bound on the bytes of it that overtake at once."""


class _Channel:
    """Bulk that leaves in its order.

    Args:
        flag: Its fragments have it.
    """

    def __init__(self, flag: int) -> None:
        self._flag = flag
        self._waiting: deque[bytes] = deque()
        self._taken = 0
        """Bytes of the first message that have left."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def put(self, data: bytes) -> None:
        """Queue a message behind those that wait."""
        self._waiting.append(data)

    def take(self, fragment_bytes: int) -> tuple[list[bytes | memoryview], int]:
        """The next fragment, and the bytes of the message that it ends, or 0."""
        data = self._waiting[0]
        piece = memoryview(data)[self._taken : self._taken + fragment_bytes]
        self._taken += len(piece)
        if self._taken < len(data):
            return [fragment_header(len(piece), self._flag), piece], 0
        self._waiting.popleft()
        self._taken = 0
        return [fragment_header(len(piece), self._flag | FLAG_LAST), piece], len(data) + MESSAGE_COST_BYTES


class Outbox:
    """Queues of encoded messages, cut into fragments as the link asks for them."""

    def __init__(self) -> None:
        self._control: deque[bytes] = deque()
        self._bulk, self._beside = _Channel(FLAG_BULK), _Channel(FLAG_BESIDE)
        self._ahead_bytes: float = BESIDE_BYTES_MAX
        """Number of bytes that may overtake now."""
        self.control_bytes = 0
        self.bulk_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._control or self._bulk or self._beside)

    @property
    def overtakes(self) -> bool:
        """Whether bulk that goes beside a round leaves before the round's."""
        return bool(self._beside) and self._ahead_bytes > 0

    def put(self, data: bytes, *, bulk: bool, beside: bool = False) -> bool:
        """Queue a message.

        Args:
            data: The encoded message.
            bulk: It yields to control.
            beside: It is bulk that goes beside a round's.

        Returns:
            Whether it was queued; False: its queue is full.

        Raises:
            ValueError: the message is larger than the other side would accept.
        """
        limit = BULK_BYTES_MAX if bulk else CONTROL_BYTES_MAX
        if len(data) > limit:
            raise ValueError(f"a message of {len(data)} bytes, the limit is {limit}")
        cost = len(data) + MESSAGE_COST_BYTES
        if bulk:
            if self.bulk_bytes + cost > BULK_QUEUE_BYTES_MAX:
                return False
            (self._beside if beside else self._bulk).put(data)
            self.bulk_bytes += cost
        else:
            if self.control_bytes + cost > CONTROL_QUEUE_BYTES_MAX:
                return False
            self._control.append(data)
            self.control_bytes += cost
        return True

    def take(self, fragment_bytes: int) -> list[bytes | memoryview]:
        """Take the next pieces to send: all control up to about `fragment_bytes`, or else one fragment of bulk."""
        if self._control:
            return [self._take_control(fragment_bytes)]
        return self._take_bulk(fragment_bytes) if self else []

    def clear(self) -> None:
        """Drop all messages of all queues."""
        self._control.clear()
        self._bulk, self._beside = _Channel(FLAG_BULK), _Channel(FLAG_BESIDE)
        self.control_bytes = self.bulk_bytes = 0

    def _take_control(self, room: int) -> bytes:
        pieces: list[bytes] = []
        while self._control and room > 0:
            data = self._control.popleft()
            self.control_bytes -= len(data) + MESSAGE_COST_BYTES
            room -= len(data)
            pieces += (fragment_header(len(data), FLAG_LAST), data)
        return b"".join(pieces)

    def _take_bulk(self, fragment_bytes: int) -> list[bytes | memoryview]:
        beside = self.overtakes or not self._bulk
        pieces, ended_bytes = (self._beside if beside else self._bulk).take(fragment_bytes)
        self.bulk_bytes -= ended_bytes
        if not beside:
            earned = len(pieces[1]) * BESIDE_SHARE / (1 - BESIDE_SHARE)
            self._ahead_bytes = min(self._ahead_bytes + earned, BESIDE_BYTES_MAX)
        elif self._bulk:
            self._ahead_bytes -= len(pieces[1])
        return pieces
