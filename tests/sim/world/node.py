"""One life of a peer in the simulated world, and the streams between two of them."""

from collections import deque
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Protocol

from core.base.ids import PeerId, short
from tests.sim.world.gauge import Gauge
from tests.sim.world.links import MAPPING_S, Place, Router


class End(StrEnum):
    """Kind of end of a node's life."""

    LEAVE = "leave"
    """It says goodbye on its streams."""
    CRASH = "crash"
    """The process is gone; the operating system closes its streams, what was not sent yet is lost."""
    POWER_CUT = "power cut"
    """The whole computer is gone; nobody is told."""


class Machinery(Protocol):
    """A machine of a node: the shape of `core.base.machine.Machine`, for any events."""

    @property
    def deadline(self) -> float | None:
        """Time at which it wants a Tick, Unix seconds."""

    def handle(self, event: Any, now: float) -> Sequence[Any]:
        """Advance by one event; returns outputs."""


OnEvent = Callable[[Any, float], Sequence[Any]]
"""The owner of a node's machine: takes outputs other than Send, with the node's time; returns more outputs."""


def ignore(event: Any, now: float) -> Sequence[Any]:
    """Stands for an owner that does nothing."""
    del event, now
    return ()


class Node:
    """A peer from its start to its end.  A peer that comes back is a new node at the same place.

    Args:
        number: Counts the nodes of a world.
        host: The address that others observe.
    """

    __slots__ = (
        "computing", "frozen_until", "gauge", "host", "inbox", "known", "machine", "met", "number", "on_event", "peer",
        "place", "powered", "redials", "router", "sent_to", "skew_s", "spins", "streams", "up", "wake_at", "went_at",
    )  # fmt: skip

    def __init__(
        self, number: int, peer: PeerId, machine: Machinery, *, on_event: OnEvent, place: Place, host: str
    ) -> None:
        self.number = number
        self.peer = peer
        self.machine = machine
        self.on_event = on_event
        self.place = place
        self.host = host
        self.skew_s = 0.0
        """How far the node's clock is ahead of the world's."""
        self.router = Router.OPEN
        """Router between it and the Internet."""
        self.sent_to: dict[PeerId, float] = {}
        """Behind a router: when the last datagram went to each peer."""
        self.up = True
        self.powered = True
        """False after a power cut: nobody answers in its name."""
        self.went_at = 0.0
        """When it ended."""
        self.frozen_until = 0.0
        """Until then nothing moves in it."""
        self.computing = False
        """Whether it is busy with the first event of its inbox."""
        self.inbox: deque[Any] = deque()
        """Events that have arrived and were not handled yet."""
        self.wake_at: float | None = None
        self.spins = 0
        """Ticks in a row after which the machine wanted another one at once."""
        self.met: set[PeerId] = set()
        """Senders of datagrams whose address has been reported."""
        self.known: set[PeerId] = set()
        """Peers whose address the node has learned."""
        self.streams: dict[PeerId, Stream] = {}
        self.gauge: Gauge | None = None
        """Counts its bulk, if anybody wants to know."""
        self.redials: dict[PeerId, tuple[float, float]] = {}
        """After a failed call: when the next may begin, and the last rest in seconds."""

    def local(self, now: float) -> float:
        """Return the time on the node's own clock when it is `now` in the world."""
        return now + self.skew_s

    def lets_in(self, sender: "Node", now: float) -> bool:
        """Whether a datagram of `sender` comes through to this node."""
        if self.router is Router.OPEN:
            return True
        if now - self.sent_to.get(sender.peer, -MAPPING_S) >= MAPPING_S:
            return False
        symmetric = Router.SYMMETRIC in {self.router, sender.router}
        return not symmetric or sender.router is Router.OPEN

    def __repr__(self) -> str:
        return f"node {self.number} ({short(self.peer)}, {'up' if self.up else 'down'})"


class Stream:
    """A stream between two nodes; each side forgets it for itself."""

    __slots__ = ("ends", "held", "last", "opened", "stalled_at", "waiting")

    def __init__(self, caller: Node, callee: Node | None) -> None:
        self.ends = (caller, callee)
        self.opened = False
        self.waiting: list[tuple[bytes, bool]] = []
        """Said before it was open."""
        self.last: dict[tuple[int, bool], float] = {}
        """By the sender's number and channel: when the last message arrives."""
        self.stalled_at: float | None = None
        """Since when a partition lies across it."""
        self.held: list[tuple[Node, Node, bytes, bool, float]] = []

    def other(self, node: Node) -> Node:
        """The node at the other end."""
        caller, callee = self.ends
        other = callee if node is caller else caller
        assert other is not None
        return other
