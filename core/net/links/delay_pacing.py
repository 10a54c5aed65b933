"""Delay-based pacing: keeps the queue before a slow uplink short, for control and the household's other traffic.

TCP alone fills whatever buffer the router has.  As LEDBAT does (RFC 6817), a sender of bulk watches by how much the
round trip exceeds the shortest one, and paces itself so that the excess stays near a target.  On Linux the kernel tells
both and does the pacing; elsewhere nothing is done.

That works for one link.  Where many send bulk at once, as in a round, each would yield to all the others and to queues
of other computers (measured: half of a home line stays unused, and the last link crawls): a round has its own rates
(`core.base.budget`).
"""

import socket
import struct
import sys
from collections import deque
from typing import Any, Final

from core.base.budget import LOOK_S as BUDGET_LOOK_S
from core.base.budget import Budget

TARGET_S: Final = 0.010
"""Target of queueing delay, of this computer's and others' packets, seconds."""
CORRECT_S: Final = 0.1
"""Excess delay above the target that would stop bulk; less, in proportion."""
SLOWEST: Final = 0.5
LOOK_S: Final = 0.05
WINDOW_S: Final = 0.4
"""Time over which the speed is measured: acknowledgements come in heaps after a loss."""
MEMORY_S: Final = 0.5
"""The best speed of this time counts: a queue of others, or a short pause of the reader, must not lower the rate."""
WINDOW_LEAST_S: Final = 0.08
GROWTH: Final = 0.1
"""Growth of the rate at each look, when there is no queue at all."""
FLOOR_BYTES_S: Final = 32 * 1024.0
CEILING_BYTES_S: Final = 64e6
"""A link that is faster than this is not paced."""
_NOTSENT_LOWAT: int | None = getattr(socket, "TCP_NOTSENT_LOWAT", None)
_UNSENT: Final = 0x894B
"""SIOCOUTQNSD: bytes not sent yet."""
_UNACKED: Final = 0x5411
"""SIOCOUTQ: bytes not acknowledged yet."""
_TCP_INFO: Final = 11
_MAX_PACING_RATE: Final = 47
_INFO_BYTES: Final = 168
_RTT_AT: Final = 68
_ACKED_AT: Final = 120
_LEAST_RTT_AT: Final = 148
_SEGMENTS_AT: Final = 156
FRESH_S: Final = 0.3
"""A link that was looked at within this time sends bulk."""
SEGMENTS_LEAST: Final = 32
"""Number of segments after which the kernel's smoothed round trip has forgotten its first one."""
_NO_PACING: Final = 0xFFFFFFFF
_ioctl: Any = None
if sys.platform == "linux":
    from fcntl import ioctl as _ioctl


class DelayPacing:
    """Computes how fast bulk may leave; without a clock of its own.  Times in seconds."""

    def __init__(self) -> None:
        self.rate_bytes_s: float | None = None
        """Rate, bytes per second; None: not paced."""
        self._acked: deque[tuple[float, int]] = deque()
        self._speeds: deque[tuple[float, float]] = deque()

    def seen(self, now: float, *, rtt_s: float, least_s: float, acked_bytes: int, alone: bool = True) -> None:
        """Take the kernel's figures of a link with bulk to send; every `LOOK_S` or so.

        Args:
            now: Seconds.
            rtt_s: The present round trip.
            least_s: The shortest one.
            acked_bytes: All that the other side has acknowledged.
            alone: No other link sends bulk.
        """
        if not alone:
            self.forget()
            return
        if self._acked and now > self._acked[-1][0] + 4 * LOOK_S + rtt_s:
            self.forget()  # there was nothing to send meanwhile, or nobody read it
        self._acked.append((now, acked_bytes))
        while self._acked[0][0] < now - WINDOW_S:
            self._acked.popleft()
        since, before = self._acked[0]
        excess_s = rtt_s - least_s
        if now - since < WINDOW_LEAST_S or (self.rate_bytes_s is None and excess_s <= TARGET_S):
            return
        self._speeds.append((now, (acked_bytes - before) / (now - since)))
        while self._speeds[0][0] < now - MEMORY_S:
            self._speeds.popleft()
        speed = max(speed for _, speed in self._speeds)
        if self.rate_bytes_s is not None and excess_s < TARGET_S / 2:
            growth = 1 + GROWTH * (1 - excess_s / (TARGET_S / 2))
            wanted = min(self.rate_bytes_s * growth, 2 * max(speed, FLOOR_BYTES_S))
        else:
            wanted = speed * max(SLOWEST, 1 + (TARGET_S - excess_s) / CORRECT_S)
        self.rate_bytes_s = max(FLOOR_BYTES_S, wanted) if wanted < CEILING_BYTES_S else None

    def forget(self) -> None:
        """Stop pacing until new figures come."""
        self._acked.clear()
        self._speeds.clear()
        self.rate_bytes_s = None


class Uplink:
    """Knows which links of this computer send bulk at the moment."""

    def __init__(self) -> None:
        self._looked: dict[int, float] = {}

    def alone(self, link: int, now: float) -> bool:
        """Whether a link that has bulk to send now is the only one.

        Args:
            link: Number of the link.
            now: Seconds.
        """
        self._looked[link] = now
        self._looked = {link: at for link, at in self._looked.items() if now - at <= FRESH_S}
        return len(self._looked) == 1


class Pacing:
    """Applies delay-based pacing to a socket of the system.

    Args:
        own_socket: Socket of the connection; None if there is none.
        uplink: Shared by all links of this computer.
    """

    def __init__(self, own_socket: Any, uplink: Uplink) -> None:
        supported = sys.platform == "linux" and own_socket is not None and own_socket.type == socket.SOCK_STREAM
        self._own = own_socket
        self._socket = own_socket if supported else None
        self._uplink = uplink
        self._delay_pacing = DelayPacing()
        self._looked_at = 0.0
        self._own_least_s: float | None = None
        self._rate: float | None = None
        self._in_round = False
        self._unsent_bytes_max = 0
        self.least_s = 0.0
        """Round trip of the idle link, seconds: the kernel's shortest, or else the handshake's; 0: unknown."""

    def opened(self, rtt_s: float, *, simultaneous: bool = False) -> None:
        """Take the round trip that the handshake took, seconds.

        Args:
            rtt_s: The round trip.
            simultaneous: Both sides called: the kernel took a SYN for an answer, and its shortest round trip is wrong.
        """
        self.least_s = rtt_s
        if simultaneous:
            self._own_least_s = rtt_s

    def begin(self, now: float) -> None:
        """Forget old figures, and a round's rate; to be called before anything is sent that is not part of a round."""
        if self._rate is not None and (self._in_round or now - self._looked_at > MEMORY_S):
            self._delay_pacing.forget()
            self._apply(None)

    @property
    def paces(self) -> bool:
        """Whether the system paces what is written."""
        return self._socket is not None

    def look(self, now: float, budget: Budget | None = None) -> None:
        """Read the kernel's figures from time to time, and apply the rate; to be called while bulk is being sent.

        Args:
            now: Seconds.
            budget: What a round sends on the link; None: it sends for itself, while more waits.
        """
        if self._socket is None or now - self._looked_at < (LOOK_S if budget is None else BUDGET_LOOK_S):
            return
        self._looked_at = now
        try:
            info = self._socket.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _INFO_BYTES)
        except OSError:  # a kernel that does not know this, or a socket that is gone
            info = b""
        if len(info) < _INFO_BYTES:
            self._socket = None
            return
        self._tell(now, info)
        self._in_round = budget is not None
        if budget is not None:
            self._delay_pacing.forget()
            self._apply(budget.rate(now, unsent_bytes=self.unsent_bytes()))
        else:
            self._apply(self._delay_pacing.rate_bytes_s)

    def unsent_bytes(self) -> int:
        """Number of bytes that the kernel holds unsent; 0 where it does not tell.

        TCP_NOTSENT_LOWAT alone does not bound it: the kernel goes on filling a packet of up to 64 KiB.
        """
        return self._ask(_UNSENT)

    def unacked_bytes(self) -> int:
        """Number of bytes that the other side has not acknowledged to the kernel; 0 where it does not tell."""
        return self._ask(_UNACKED)

    def limit_unsent(self, most: int) -> None:
        """Limit the bytes that the kernel holds unsent, which nothing can overtake any more."""
        if _NOTSENT_LOWAT is not None and self._own is not None and most != self._unsent_bytes_max:
            self._unsent_bytes_max = most
            self._own.setsockopt(socket.IPPROTO_TCP, _NOTSENT_LOWAT, most)

    def _ask(self, what: int) -> int:
        if self._socket is None or _ioctl is None:
            return 0
        try:
            answer: bytes = _ioctl(self._socket.fileno(), what, bytes(4))
        except OSError:
            return 0
        return int.from_bytes(answer, sys.byteorder)

    def _apply(self, rate: float | None) -> None:
        rate = None if rate is None or rate >= CEILING_BYTES_S else rate
        if self._socket is None or rate == self._rate:
            return
        self._rate = rate
        try:
            self._socket.setsockopt(
                socket.SOL_SOCKET, _MAX_PACING_RATE, struct.pack("=I", _NO_PACING if rate is None else int(rate))
            )
        except OSError:
            self._socket = None

    def _tell(self, now: float, info: bytes) -> None:
        rtt_s = struct.unpack_from("=I", info, _RTT_AT)[0] / 1e6
        least_s = struct.unpack_from("=I", info, _LEAST_RTT_AT)[0] / 1e6
        if self._own_least_s is not None:
            if struct.unpack_from("=I", info, _SEGMENTS_AT)[0] < SEGMENTS_LEAST:
                return
            least_s = self._own_least_s = min(self._own_least_s, rtt_s)
        self.least_s = least_s
        acked_bytes = struct.unpack_from("=Q", info, _ACKED_AT)[0]
        self._delay_pacing.seen(
            now,
            rtt_s=rtt_s,
            least_s=least_s,
            acked_bytes=acked_bytes,
            alone=self._uplink.alone(id(self), now),
        )
