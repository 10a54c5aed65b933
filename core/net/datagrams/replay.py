"""Replay guard: whether a datagram was received before."""

import heapq
from collections import OrderedDict
from typing import Final

from core.base.ids import PeerId

WINDOW_S: Final = 60.0
"""Tolerated difference between a datagram's time and the receiver's (N in S000 appendix I.5)."""
NONCES_MAX: Final = 65_536
"""Number of nonces that all senders together may have remembered.  Each has an equal share, and gives back what it has
beyond it with its next datagram, so 1 + ln(senders) times as many at most are held while more and more come."""
SENDERS_MAX: Final = 16_384
"""Number of senders remembered, each for 2N after its last datagram: four times the passes that a host remembers."""


class ReplayGuard:
    """Remembers nonces for as long as the time signed beside them is acceptable, which is up to 2N.

    Memory is bounded without ever admitting a replay, and a full table costs only the senders that filled it.  Each
    sender has its own window: when a sender has its share of `NONCES_MAX`, its oldest nonce is forgotten, and its own
    datagrams as old as that are refused from then on.

    What the worst sender gains: a sender that dates datagrams ahead refuses its own earlier ones.  Members that fill
    all shares, with many passes, take nothing from the windows of others but their size: a datagram of another sender
    is lost only if more than its share of later-dated ones overtook it.  Only `SENDERS_MAX` passes that all speak
    within 2N keep out senders that were not heard before.
    """

    def __init__(self) -> None:
        self._windows: OrderedDict[PeerId, _Window] = OrderedDict()
        """Window of each sender; the one heard longest ago comes first."""

    def __len__(self) -> int:
        return sum(len(window) for window in self._windows.values())

    def admit(self, sender: PeerId, nonce: bytes, *, time: float, now: float) -> bool:
        """Whether this datagram is new.

        Args:
            sender: The peer whose signature holds.
            nonce: Signed beside `time`.
            time: Unix seconds, within `WINDOW_S` of now.
            now: Unix seconds.
        """
        self._forget_silent(now)
        window = self._windows.get(sender)
        if window is None:
            if len(self._windows) >= SENDERS_MAX:
                return False
            window = self._windows[sender] = _Window()
        if not window.admit(nonce, time=time, now=now, size=NONCES_MAX // len(self._windows)):
            return False
        self._windows.move_to_end(sender)
        return True

    def _forget_silent(self, now: float) -> None:
        """Forget senders all of whose datagrams are too old to be accepted again."""
        while self._windows:
            sender, window = next(iter(self._windows.items()))
            if window.newest >= now - WINDOW_S:
                return
            del self._windows[sender]


class _Window:
    """Nonces of one sender: the newest, and all that are not older than `_floor` and may still be accepted."""

    def __init__(self) -> None:
        self._nonces: set[bytes] = set()
        self._by_time: list[tuple[float, bytes]] = []
        self._floor = 0.0
        self.newest = 0.0
        """Greatest time of an admitted datagram, Unix seconds."""

    def __len__(self) -> int:
        return len(self._nonces)

    def admit(self, nonce: bytes, *, time: float, now: float, size: int) -> bool:
        """Whether the datagram is new.

        Args:
            nonce: Signed beside `time`.
            time: Unix seconds, within `WINDOW_S` of now.
            now: Unix seconds.
            size: Number of nonces that may be remembered.
        """
        while self._by_time and self._by_time[0][0] < now - WINDOW_S:
            self._forget_oldest()
        if time <= self._floor or nonce in self._nonces:
            return False
        self._nonces.add(nonce)
        heapq.heappush(self._by_time, (time, nonce))
        self.newest = max(self.newest, time)
        while len(self._nonces) > size:
            self._floor = self._forget_oldest()
        return True

    def _forget_oldest(self) -> float:
        time, nonce = heapq.heappop(self._by_time)
        self._nonces.discard(nonce)
        return time
