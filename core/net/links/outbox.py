"""Send queues of a link: control before bulk, in fragments, with a limit on both."""

from collections import deque

from core.base.wire import BULK_BYTES_MAX, CONTROL_BYTES_MAX, FLAG_BULK, FLAG_LAST, fragment_header

CONTROL_QUEUE_BYTES_MAX = 1024 * 1024
BULK_QUEUE_BYTES_MAX = 64 * 1024 * 1024
MESSAGE_COST_BYTES = 128
"""Bytes counted for every queued message besides its own, so that many empty ones are not free."""


class Outbox:
    """Queues of encoded messages, cut into fragments as the link asks for them."""

    def __init__(self) -> None:
        self._control: deque[bytes] = deque()
        self._bulk: deque[bytes] = deque()
        self._current: bytes | None = None
        """The bulk message of which a part has been taken."""
        self._current_position = 0
        self.control_bytes = 0
        self.bulk_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._control or self._current is not None or self._bulk)

    def put(self, data: bytes, *, bulk: bool) -> bool:
        """Queue a message.

        Args:
            data: The encoded message.
            bulk: It yields to control.

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
            self._bulk.append(data)
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
        self._bulk.clear()
        self._current = None
        self._current_position = self.control_bytes = self.bulk_bytes = 0

    def _take_control(self, room: int) -> bytes:
        pieces: list[bytes] = []
        while self._control and room > 0:
            data = self._control.popleft()
            self.control_bytes -= len(data) + MESSAGE_COST_BYTES
            room -= len(data)
            pieces += (fragment_header(len(data), FLAG_LAST), data)
        return b"".join(pieces)

    def _take_bulk(self, fragment_bytes: int) -> list[bytes | memoryview]:
        if self._current is None:
            self._current = self._bulk.popleft()
        data, start = self._current, self._current_position
        piece = memoryview(data)[start : start + fragment_bytes]
        end = start + len(piece)
        flags = FLAG_BULK
        if end == len(data):
            flags |= FLAG_LAST
            self._current = None
            self._current_position = 0
            self.bulk_bytes -= len(data) + MESSAGE_COST_BYTES
        else:
            self._current_position = end
        return [fragment_header(len(piece), flags), piece]
