"""A network in which only the members' own lines cost time: what a round takes beyond its bytes is the protocol's.

Bulk is cut into fragments.  A sender's line serves the link that has had least (start-time fair queueing: Goyal et al.
1996), and leaves out links whose receiver has not taken enough of what is on its way, so that a slow receiver holds up
nobody else: as with one TCP connection for each pair.  A receiver's line takes fragments in the order of their arrival;
since each link has the same number of bytes on its way at most, busy links get equal parts of it.  Together that is
nearly the max-min fair division of all lines that a fluid would have.  A fragment passes through both lines at the same
time, so a single flow has the rate of the slower line.  Both directions of a line are apart, and neither is idle while
there is anything that it could carry.  Control arrives after the delay and takes no room.
"""

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from core.averaging.balance.traffic import Line
from core.base.budget import Budget
from core.base.ids import PeerId
from core.base.machine import Transfer
from core.base.meter import Glance
from tests.sim.world.agenda import Agenda

Deliver = Callable[[int, int, Any], None]
"""Sender, receiver, message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """Parameters of the simulated network of a round."""

    delay_s: float = 1e-4
    """From any line to any other, one way."""
    fragment_bytes: int = 65_536
    """The most that a link sends in one turn."""
    packet_bytes: int = 1_500
    """The least, unless the message is shorter."""
    queue_s: float = 0.1
    """Fragments of a slow line are so short that, were all its links busy, its queue would hold about this much,
    seconds."""
    overhead_bytes: int = 64
    """Added to each bulk message: its other fields, the encryption, the fragments' heads."""


class _Link:
    """Messages from one member to another."""

    __slots__ = (
        "budget",
        "fragment",
        "in_flight",
        "listed",
        "queue",
        "receiver",
        "sender",
        "sent",
        "served",
        "taken",
        "window",
    )

    def __init__(self, sender: int, receiver: int, *, fragment: float, window: float) -> None:
        self.sender = sender
        self.receiver = receiver
        self.fragment = fragment
        self.window = window
        self.queue: deque[list[Any]] = deque()
        """Bytes still to be sent and message."""
        self.in_flight = self.sent = self.taken = 0.0
        self.served = 0.0
        """Its share of the sender's line so far, counted as in `SimulatedLines._served`."""
        self.listed = False
        """Whether it waits for its sender's line, or for its time."""
        self.budget: Budget | None = None

    def waits(self, now: float) -> bool:
        """Whether bulk waits for the line, and not for its turn in the round."""
        follows = self.budget is not None and self.budget.follows(now, 0, int(self.sent))
        return bool(self.queue) and not follows

    def clear(self) -> None:
        """Drop all messages that wait on the link."""
        self.queue.clear()

    def take(self) -> tuple[float, Any]:
        """The next fragment's size, and the message if it is its last."""
        item = self.queue[0]
        if item[0] <= self.fragment:
            size, message = self.queue.popleft()
            return size, message
        item[0] -= self.fragment
        return self.fragment, None


class SimulatedLines:
    """Carries messages between members, numbered from 0.

    Args:
        lines: The members' lines.
        deliver: Called with each message that arrives.
    """

    def __init__(
        self, agenda: Agenda, lines: Sequence[Line], *, deliver: Deliver, settings: NetworkSettings | None = None
    ) -> None:
        self.settings = settings or NetworkSettings()
        self._agenda = agenda
        self._deliver = deliver
        self._up = [line.up_bytes_per_s for line in lines]
        self._down = [line.down_bytes_per_s for line in lines]
        self._links: dict[tuple[int, int], _Link] = {}
        self._waiting: list[list[tuple[float, int, _Link]]] = [[] for _ in lines]
        """A heap for each sender: what the link has had, the receiver as a tie-break."""
        self._served = [0.0] * len(lines)
        """Count of the link that each sender serves now, before this turn: no new link has less to its credit."""
        self._busy = [False] * len(lines)
        self._free_at = [agenda.now] * len(lines)
        """When each receiving line has taken all that has arrived."""
        self._down_since: dict[int, float] = {}
        self.sent_bytes = [0.0] * len(lines)
        self.received_bytes = [0.0] * len(lines)
        self.messages = 0

    def say(self, sender: int, receiver: int, message: Any) -> None:
        """Send a control message, which overtakes bulk."""
        self.messages += 1
        self._agenda.after(self.settings.delay_s, self._arrive, sender, receiver, message)

    def carry(self, sender: int, receiver: int, message: Any, *, payload_bytes: float) -> None:
        """A member queues a bulk message, which shares its line with those of its other links."""
        self.messages += 1
        link = self._links.get((sender, receiver)) or self._link(sender, receiver)
        link.queue.append([payload_bytes + self.settings.overhead_bytes, message])
        self._list(link)

    def begin(self, sender: int, receiver: int, transfer: Transfer) -> None:
        """Let bulk leave as a transfer has it, from now on."""
        link = self._links.get((sender, receiver)) or self._link(sender, receiver)
        if link.budget is None or link.budget.transfer != transfer:
            link.budget = Budget(transfer, self._agenda.now)

    def stop(self, member: int) -> None:
        """`member` is gone: it sends no more; what has left its line still arrives."""
        self._down_since[member] = self._agenda.now
        self._waiting[member].clear()
        for link in self._links.values():
            if link.sender == member:
                link.clear()

    def forget(self, sender: int, receiver: int) -> None:
        """The link is lost: what waits to be sent on it is dropped."""
        link = self._links.get((sender, receiver))
        if link is not None:
            link.clear()

    def glances(self, member: int, peers: Sequence[PeerId]) -> list[Glance]:
        """How far a member's flows are, as the owner of its sockets would tell a meter."""
        found = []
        for other, peer in enumerate(peers):
            there, back = self._links.get((member, other)), self._links.get((other, member))
            if there is not None or back is not None:
                left, waiting = (int(there.sent), there.waits(self._agenda.now)) if there is not None else (0, False)
                arrived = int(back.taken) if back is not None else 0
                found.append(Glance(other, peer, left, arrived, waiting))
        return found

    # --- lines ---

    def _link(self, sender: int, receiver: int) -> _Link:
        settings = self.settings
        turn, taken = (self._fragment(rate) for rate in (self._up[sender], self._down[receiver]))
        under_way = 2 * settings.delay_s * min(self._up[sender], self._down[receiver])
        link = _Link(sender, receiver, fragment=min(turn, taken), window=2 * taken + under_way)
        self._links[sender, receiver] = link
        return link

    def _fragment(self, rate: float) -> float:
        settings = self.settings
        whole = rate * settings.queue_s / (2 * max(1, len(self._up) - 1))
        return min(settings.fragment_bytes, max(settings.packet_bytes, whole))

    def _list(self, link: _Link) -> None:
        if not link.listed and link.in_flight < link.window:
            sender = link.sender
            link.listed = True
            link.served = max(link.served, self._served[sender])
            heapq.heappush(self._waiting[sender], (link.served, link.receiver, link))
            if not self._busy[sender]:
                self._serve(sender)

    def _serve(self, sender: int) -> None:
        """The sender's line is free: the link that has had least has its turn."""
        waiting = self._waiting[sender]
        while waiting:
            served, receiver, link = heapq.heappop(waiting)
            link.listed = False
            wait_s = link.budget.wait_s(self._agenda.now) if link.queue and link.budget is not None else 0.0
            if wait_s:
                link.listed = True
                self._agenda.after(wait_s, self._due, link)
            if not link.queue or wait_s:
                continue
            size, message = link.take()
            if link.budget is not None:
                link.budget.spend(size)
            self._served[sender] = served
            link.served = served + size
            link.in_flight += size
            if link.queue and link.in_flight < link.window:
                link.listed = True
                heapq.heappush(waiting, (link.served, receiver, link))
            self._busy[sender] = True
            self._agenda.after(size / self._up[sender], self._sent, link, size, message)
            return
        self._busy[sender] = False

    def _due(self, link: _Link) -> None:
        """A link's budget lets it send again, so it queues for its sender's line."""
        link.listed = False
        if link.queue and link.sender not in self._down_since:
            self._list(link)

    def _sent(self, link: _Link, size: float, message: Any) -> None:
        """The last byte of a fragment has left the sender's line; when it will have passed the receiver's follows."""
        sender, receiver = link.sender, link.receiver
        if sender in self._down_since:
            return
        self.sent_bytes[sender] += size
        link.sent += size
        if receiver not in self._down_since:
            taken_at = self._free_at[receiver] + size / self._down[receiver]
            taken_at = max(taken_at, self._agenda.now + self.settings.delay_s)
            self._free_at[receiver] = taken_at
            self._agenda.at(taken_at, self._taken, link, size, message)
        self._serve(sender)

    def _taken(self, link: _Link, size: float, message: Any) -> None:
        """A fragment has passed the receiver's line."""
        link.in_flight -= size
        link.taken += size
        self.received_bytes[link.receiver] += size
        if link.queue:
            self._list(link)
        if message is not None:
            self._arrive(link.sender, link.receiver, message)

    def _arrive(self, sender: int, receiver: int, message: Any) -> None:
        if receiver not in self._down_since:
            self._deliver(sender, receiver, message)
