"""The one shape of every conversation in the swarm.

A machine reads no clock, opens no socket and never sleeps.  `core/net` runs it on the real network, `tests/sim` in a
simulated one; it cannot tell which.  What it drops leaves a mark in a `Trace`, never a stack trace.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from core.base.ids import PeerId

M = TypeVar("M")
M_co = TypeVar("M_co", covariant=True)
M_contra = TypeVar("M_contra", contravariant=True)
E = TypeVar("E")
E_co = TypeVar("E_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Received(Generic[M_co]):
    """A message that arrived, from a sender whose key was verified by its plane."""

    sender: PeerId
    message: M_co


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed: the machine's deadline, or the owner's."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The stream to a peer ended, or could not be made."""

    peer: PeerId
    reason: str


@dataclass(frozen=True, slots=True)
class Transfer:
    """Bulk to one peer, part of what all members send to each other at once."""

    bulk_bytes: float
    """Bytes that go to the peer."""
    seconds: float
    """How long that takes."""
    even: bool = True
    """They leave evenly over that time; False: as fast as the line takes them."""


@dataclass(frozen=True, slots=True)
class Send(Generic[M_co]):
    """Please deliver `message`.  Delivery is never promised."""

    to: PeerId
    message: M_co
    transfer: Transfer | None = None
    """What the message is part of; it begins with the first of them, and bulk that is part of none ends it."""


class Machine(Protocol[M, E_co]):
    """A protocol of messages M that reports events E to its owner."""

    @property
    def deadline(self) -> float | None:
        """When to be woken with a Tick, in seconds of the caller's clock; None: only by a message."""

    def handle(self, event: Received[M] | Tick | Lost, now: float) -> Sequence[Send[M] | E_co]:
        """Advance by one event.

        Args:
            event: A message of another peer, a tick at the deadline or later, or the loss of a stream.
            now: The caller's clock, seconds; never less than before.

        Returns:
            Messages to send and events for the owner, in order.
        """


def earliest(*deadlines: float | None) -> float | None:
    """The first of several deadlines, where None means never."""
    first: float | None = None
    for deadline in deadlines:
        if deadline is not None and (first is None or deadline < first):
            first = deadline
    return first


class Composite(Generic[E]):
    """Several machines behind one deadline.

    Each message, and each other event, goes to the machine of its class, ticks to those that are due, losses to all.
    Outputs are passed on unchanged, in the order of the machines; the owner picks its events out and sends the rest.

    Args:
        machines: Each with the classes of messages and events that it handles, and no other one.

    Raises:
        ValueError: two machines take one class.
    """

    def __init__(self, machines: Sequence[tuple[Machine[Any, E], tuple[type, ...]]]) -> None:
        self._machines = [machine for machine, _ in machines]
        self._routes = {kind: machine for machine, types in machines for kind in types}
        if len(self._routes) < sum(len({*types}) for _, types in machines):
            raise ValueError("two machines take one class")

    @property
    def deadline(self) -> float | None:
        """The earliest deadline of any machine."""
        return earliest(*(machine.deadline for machine in self._machines))

    def handle(self, event: Any, now: float) -> Sequence[Send[Any] | E]:
        """Give the event to the machines that it concerns, and collect their outputs."""
        match event:
            case Tick():
                concerned = [one for one in self._machines if one.deadline is not None and one.deadline <= now]
            case Lost():
                concerned = self._machines
            case _:
                found = self._routes.get(type(event.message if isinstance(event, Received) else event))
                concerned = [] if found is None else [found]
        return [output for machine in concerned for output in machine.handle(event, now)]


class Trace:
    """Counts of named marks such as `dht.drop.signature`; at most `LIMIT` names, so a stranger cannot make it grow."""

    LIMIT = 1000

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def mark(self, name: str) -> None:
        """Add one to the count of `name`."""
        if name not in self._counts and len(self._counts) >= self.LIMIT:
            name = "trace.overflow"
        self._counts[name] += 1

    def __getitem__(self, name: str) -> int:
        return self._counts[name]

    def counts(self) -> dict[str, int]:
        """A copy of all counts, by name."""
        return dict(sorted(self._counts.items()))
