"""Replay guard: whether a datagram was received before."""

import heapq
from collections import Counter

from core.base.ids import PeerId

WINDOW_S = 60.0
"""Tolerated difference between a datagram's time and the receiver's (N in S000 appendix I.5)."""
NONCES_MAX = 65_536
NONCES_PER_SENDER_MAX = 8192


class ReplayGuard:
    """Remembers nonces for as long as the time signed beside them is acceptable, which is up to 2N.

    Memory is bounded without ever admitting a replay: when it is full the oldest nonce is forgotten, and datagrams as
    old as that are refused from then on.  One sender cannot fill it.
    """

    def __init__(self) -> None:
        self._seen: set[tuple[PeerId, bytes]] = set()
        self._by_time: list[tuple[float, PeerId, bytes]] = []
        self._per_sender: Counter[PeerId] = Counter()
        self._floor = 0.0

    def __len__(self) -> int:
        return len(self._seen)

    def admit(self, sender: PeerId, nonce: bytes, *, time: float, now: float) -> bool:
        """Whether this datagram is new.

        Args:
            sender: The peer whose signature holds.
            nonce: Signed beside `time`.
            time: Unix seconds, within `WINDOW_S` of now.
            now: Unix seconds.
        """
        while self._by_time and self._by_time[0][0] < now - WINDOW_S:
            self._forget_oldest()
        entry = (sender, nonce)
        if time <= self._floor or entry in self._seen or self._per_sender[sender] >= NONCES_PER_SENDER_MAX:
            return False
        self._seen.add(entry)
        self._per_sender[sender] += 1
        heapq.heappush(self._by_time, (time, sender, nonce))
        if len(self._seen) > NONCES_MAX:
            self._floor = self._forget_oldest()
        return True

    def _forget_oldest(self) -> float:
        time, sender, nonce = heapq.heappop(self._by_time)
        self._seen.discard((sender, nonce))
        self._per_sender[sender] -= 1
        if not self._per_sender[sender]:
            del self._per_sender[sender]
        return time
