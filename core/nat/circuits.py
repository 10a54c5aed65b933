"""All circuits of a peer: opening them, accepting them, and moving them to another relay when one fails."""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from core.base.ids import PeerId
from core.base.machine import Send, earliest
from core.base.trace import Trace
from core.nat.circuit_endpoint import CircuitEndpoint, RouteLost
from core.nat.events import AddAddress, CircuitOpened
from core.nat.messages import (
    CIRCUIT_BYTES,
    AcceptCircuit,
    CircuitAccepted,
    CircuitAck,
    CircuitData,
    CircuitRequested,
    CloseCircuit,
    OpenCircuit,
    PunchOffer,
    Relay,
)
from core.nat.peer_record import is_callable

CIRCUITS_MAX: Final = 64
PER_PEER_MAX: Final = 4
OPEN_S: Final = 3.0
RESUME_S: Final = 1.0
CALLED_WAITS_S: Final = 0.4
"""Seconds for which the called endpoint leaves the search for a new relay to the other one."""
RELAYS_COUNTED_MAX: Final = 64
"""Relays whose bytes are counted until `take_carried` is called."""
ASKS_PER_S: Final = 4.0
ASKS_BURST: Final = 40.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PunchAgreed:
    """Both sides have exchanged their offers; a punch may begin."""

    peer: PeerId
    relay: PeerId
    attempt: int
    """This peer's attempt; 0: the other side began."""
    theirs: PunchOffer
    mine: PunchOffer
    at: float
    """Time at which both sides begin, Unix seconds."""
    carried: bool


@dataclass(frozen=True, slots=True)
class CircuitFailed:
    """The relay did not connect the two peers."""

    attempt: int
    peer: PeerId
    relay: PeerId
    reason: str


@dataclass(slots=True)
class _Opening:
    peer: PeerId
    relay: Relay
    offer: PunchOffer
    attempt: int
    at: float


@dataclass(slots=True)
class _OpenedCircuit:
    """A circuit that is attached to a relay, or looks for one."""

    endpoint: CircuitEndpoint
    peer: PeerId
    called: bool
    """This peer opened it."""
    relays: deque[Relay] = field(default_factory=deque)
    """Relays at which the two endpoints can meet; rotated when one does not work."""
    resume_at: float | None = None
    asked: set[PeerId] = field(default_factory=set)
    """Relays that have not refused since the last one was lost: the first answer is taken, however late."""
    refusals: int = 0
    """Number of relays that could not help since the last one was lost."""


class Circuits:
    """Opens, accepts and resumes the circuits of one peer.

    Args:
        me: This peer's id.
        random: Draws circuit ids.
        trace: Counts violations by others.
        offer: Describes this peer, given the punch's nonce and the relay.
        relays: Relays that hold a reservation for this peer.
    """

    def __init__(
        self,
        me: PeerId,
        *,
        random: Random,
        trace: Trace,
        offer: Callable[[bytes, PeerId], PunchOffer],
        relays: Callable[[], tuple[Relay, ...]],
    ) -> None:
        self._me = me
        self._random = random
        self._trace = trace
        self._offer = offer
        self._relays = relays
        self._opening: dict[bytes, _Opening] = {}
        self._opened: dict[bytes, _OpenedCircuit] = {}
        self._asks = ASKS_BURST
        self._asks_at = 0.0
        self.takeovers = 0
        self._carried: Counter[PeerId] = Counter()

    def __contains__(self, circuit: bytes) -> bool:
        return circuit in self._opened or circuit in self._opening

    def __len__(self) -> int:
        return len(self._opened)

    def with_peer(self, peer: PeerId) -> bool:
        """Whether a circuit leads to that peer."""
        return any(opened.peer == peer for opened in self._opened.values())

    def endpoint(self, circuit: bytes) -> CircuitEndpoint | None:
        """This peer's endpoint of an opened circuit; None: no such circuit is open."""
        opened = self._opened.get(circuit)
        return None if opened is None else opened.endpoint

    def take_carried(self) -> dict[PeerId, int]:
        """Bytes that each relay has carried for this peer as an endpoint, since the last call."""
        carried = dict(self._carried)
        self._carried.clear()
        return carried

    @property
    def deadline(self) -> float | None:
        """Time at which `tick` is due, Unix seconds; None: nothing is pending."""
        opening = (opening.at + OPEN_S for opening in self._opening.values())
        standing = (earliest(c.endpoint.deadline, c.resume_at) for c in self._opened.values())
        return earliest(*opening, *standing)

    def open(self, peer: PeerId, relay: Relay, now: float, *, attempt: int, nonce: bytes, carry: bool) -> list[Any]:
        """Ask a relay for a circuit to a peer, and agree on a punch; `PunchAgreed` or `CircuitFailed` follows.

        The outputs repeat the number `attempt`.  Unless `carry` is true, only the punch is agreed on.
        """
        circuit = self._random.randbytes(CIRCUIT_BYTES)
        offer = self._offer(nonce, PeerId(relay.peer))
        self._opening[circuit] = _Opening(peer, relay, offer, attempt, now)
        ask = OpenCircuit(circuit, peer, offer, carry=carry, resume=False, received=0)
        return [AddAddress(PeerId(relay.peer), relay.address, hearsay=True), Send(PeerId(relay.peer), ask)]

    def received(self, sender: PeerId, message: Any, now: float) -> list[Any]:
        """Handle a message of `core.nat.messages` that a relay sent to this peer as an endpoint."""
        match message:
            case CircuitRequested(resume=True):
                return self._resumed_by_other(sender, message, now)
            case CircuitRequested():
                return self._asked_for(sender, message, now)
            case CircuitAccepted():
                return self._accepted(sender, message, now)
            case CloseCircuit() if message.circuit in self._opening:
                return self._refused(sender, message)
            case CloseCircuit(final=False) if self._was_asked(sender, message):
                self._refused_again(self._opened[message.circuit], sender, now)
                return self.tick(now)
            case CircuitData() | CircuitAck() | CloseCircuit():
                opened = self._opened.get(message.circuit)
                return [] if opened is None else self.settle(opened.endpoint.handle(sender, message, now), now)
            case _:
                return []

    def lost(self, peer: PeerId, reason: str, now: float) -> list[Any]:
        """Handle the loss of a link, whose other end may be a relay."""
        outputs: list[Any] = []
        for circuit in [name for name, opening in self._opening.items() if opening.relay.peer == peer]:
            opening = self._opening.pop(circuit)
            outputs.append(CircuitFailed(opening.attempt, opening.peer, peer, reason))
        for opened in list(self._opened.values()):
            if peer in opened.asked:
                self._refused_again(opened, peer, now)
            outputs += self.settle(opened.endpoint.detach(peer, reason, now), now)
        return outputs

    def tick(self, now: float) -> list[Any]:
        """Give up requests that were not answered, and look for relays for detached circuits."""
        outputs: list[Any] = []
        for circuit in [name for name, opening in self._opening.items() if opening.at + OPEN_S <= now]:
            opening = self._opening.pop(circuit)
            outputs.append(CircuitFailed(opening.attempt, opening.peer, PeerId(opening.relay.peer), "silent"))
        for opened in list(self._opened.values()):
            deadline = opened.endpoint.deadline
            if deadline is not None and deadline <= now:
                outputs += self.settle(opened.endpoint.tick(now), now)
            if opened.resume_at is not None and opened.resume_at <= now and not opened.endpoint.ended:
                outputs += self._resume(opened, now)
        return outputs

    def settle(self, outputs: list[Any], now: float) -> list[Any]:
        """Pass on the outputs of an endpoint's methods, and look for another relay where one was lost."""
        said: list[Any] = []
        for output in outputs:
            if not isinstance(output, RouteLost):
                said.append(output)
                continue
            opened = self._opened[output.circuit]
            self.takeovers += 1
            for relay in self._relays():
                if relay not in opened.relays:
                    opened.relays.append(relay)
            opened.relays = deque(sorted(opened.relays, key=lambda relay: relay.peer == output.relay))
            opened.asked.clear()
            opened.refusals = 0
            opened.resume_at = now if opened.called or output.peer_unaware else now + CALLED_WAITS_S
        for circuit in [name for name, opened in self._opened.items() if opened.endpoint.ended]:
            del self._opened[circuit]
        if any(isinstance(output, RouteLost) for output in outputs):
            said += self.tick(now)
        return said

    def _new_endpoint(self, circuit: bytes, now: float) -> CircuitEndpoint:
        if len(self._carried) > RELAYS_COUNTED_MAX:
            for relay, _ in self._carried.most_common()[RELAYS_COUNTED_MAX:]:
                del self._carried[relay]
        return CircuitEndpoint(circuit, now=now, trace=self._trace, carried=self._carried)

    # --- opening -----------------------------------------------------------------------------------------------------

    def _accepted(self, sender: PeerId, message: CircuitAccepted, now: float) -> list[Any]:
        opening = self._opening.get(message.circuit)
        if opening is None or opening.relay.peer != sender:
            return self._taken_over(sender, message, now)
        del self._opening[message.circuit]
        outputs: list[Any] = []
        theirs = message.offer
        if message.carried:
            endpoint = self._new_endpoint(message.circuit, now)
            known = deque(dict.fromkeys((opening.relay, *self._named(theirs))))
            self._opened[message.circuit] = _OpenedCircuit(endpoint, opening.peer, called=True, relays=known)
            outputs += self.settle(endpoint.attach(sender, 0, now), now)
            outputs.append(CircuitOpened(message.circuit, opening.peer, sender, True, opening.attempt))
        if theirs is None or theirs.nonce != opening.offer.nonce:
            return [*outputs, CircuitFailed(opening.attempt, opening.peer, sender, "no punch")]
        agreed = PunchAgreed(
            peer=opening.peer, relay=sender, attempt=opening.attempt, theirs=theirs, mine=opening.offer, at=now,
            carried=message.carried,
        )  # fmt: skip
        return [*outputs, agreed]

    def _refused(self, sender: PeerId, message: CloseCircuit) -> list[Any]:
        opening = self._opening[message.circuit]
        if opening.relay.peer != sender:
            return []
        del self._opening[message.circuit]
        return [CircuitFailed(opening.attempt, opening.peer, sender, message.reason)]

    def _asked_for(self, sender: PeerId, message: CircuitRequested, now: float) -> list[Any]:
        peer = PeerId(message.sender)
        mine = sum(opened.peer == peer for opened in self._opened.values())
        full = message.carried and (len(self._opened) >= CIRCUITS_MAX or mine >= PER_PEER_MAX)
        expected = any(relay.peer == sender for relay in self._relays())
        if full or not expected or message.circuit in self or not self._may_ask(now):
            self._trace.mark("nat.circuit.refused")
            return [Send(sender, CloseCircuit(message.circuit, "refused", final=False))] if expected else []
        offer = None if message.offer is None else self._offer(message.offer.nonce, sender)
        outputs: list[Any] = [Send(sender, AcceptCircuit(message.circuit, offer, 0))]
        if message.carried:
            endpoint = self._new_endpoint(message.circuit, now)
            self._opened[message.circuit] = _OpenedCircuit(
                endpoint, peer, called=False, relays=deque(self._named(message.offer))
            )
            outputs += self.settle(endpoint.attach(sender, 0, now), now)
            outputs.append(CircuitOpened(message.circuit, peer, sender, False))
        if message.offer is not None and offer is not None:
            at = now + (offer.one_way_ms + message.offer.one_way_ms) / 1000
            agreed = PunchAgreed(
                peer=peer, relay=sender, attempt=0, theirs=message.offer, mine=offer, at=at, carried=message.carried
            )
            outputs.append(agreed)
        return outputs

    def _may_ask(self, now: float) -> bool:
        self._asks = min(ASKS_BURST, self._asks + ASKS_PER_S * max(0.0, now - self._asks_at))
        self._asks_at = now
        if self._asks < 1:
            return False
        self._asks -= 1
        return True

    # --- another relay -----------------------------------------------------------------------------------------------

    def _resume(self, opened: _OpenedCircuit, now: float) -> list[Any]:
        opened.resume_at = now + RESUME_S
        if not opened.relays:
            return []
        relay = opened.relays[0]
        opened.relays.rotate(-1)
        asked = PeerId(relay.peer)
        opened.asked.add(asked)
        ask = OpenCircuit(
            opened.endpoint.circuit, opened.peer, None, carry=True, resume=True, received=opened.endpoint.received_bytes
        )
        return [AddAddress(asked, relay.address, hearsay=True), Send(asked, ask)]

    def _refused_again(self, opened: _OpenedCircuit, relay: PeerId, now: float) -> None:
        """Try the next relay at once; after all have refused, try them again after a pause."""
        opened.asked.discard(relay)
        if opened.endpoint.relay is not None:
            return
        opened.refusals += 1
        opened.resume_at = now + (0.0 if opened.refusals % max(1, len(opened.relays)) else RESUME_S)

    def _was_asked(self, sender: PeerId, message: CloseCircuit) -> bool:
        opened = self._opened.get(message.circuit)
        return opened is not None and sender in opened.asked and opened.endpoint.relay is None

    def _taken_over(self, sender: PeerId, message: CircuitAccepted, now: float) -> list[Any]:
        opened = self._opened.get(message.circuit)
        if opened is None or sender not in opened.asked or not message.carried:
            self._trace.mark("nat.circuit.stray")
            # An answer that came too late: neither the relay nor the other endpoint shall keep an unused circuit.
            late = opened is None and message.carried
            return [Send(sender, CloseCircuit(message.circuit, "too late", final=True))] if late else []
        opened.asked.discard(sender)
        opened.resume_at = None
        return self.settle(opened.endpoint.attach(sender, message.received, now), now)

    def _resumed_by_other(self, sender: PeerId, message: CircuitRequested, now: float) -> list[Any]:
        opened = self._opened.get(message.circuit)
        expected = opened is not None and any(relay.peer == sender for relay in (*self._relays(), *opened.relays))
        if opened is None or opened.peer != message.sender or not expected:
            self._trace.mark("nat.circuit.stray")
            return [] if opened is not None else [Send(sender, CloseCircuit(message.circuit, "unknown", final=True))]
        opened.resume_at = None
        accept = Send(sender, AcceptCircuit(message.circuit, None, opened.endpoint.received_bytes))
        return [accept, *self.settle(opened.endpoint.attach(sender, message.received, now), now)]

    def _named(self, offer: PunchOffer | None) -> tuple[Relay, ...]:
        """Relays that the other endpoint names and that may be called, without this peer itself."""
        named = () if offer is None else offer.relays
        return tuple(relay for relay in named if relay.peer != self._me and is_callable(relay.address.host))
