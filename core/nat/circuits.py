"""All circuits of a peer: opening them, being asked for one, and taking them over to another relay when one fails."""

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
"""The side that was called lets the other one find a new relay first; when both do, both relays carry."""
RELAYS_COUNTED_MAX: Final = 64
"""Relays whose bytes are counted until somebody asks."""
ASKS_PER_S: Final = 4.0
ASKS_BURST: Final = 40.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PunchAgreed:
    """Both sides have said what they are; a punch may begin."""

    peer: PeerId
    relay: PeerId
    attempt: int
    """Ours; 0: the other side began."""
    theirs: PunchOffer
    mine: PunchOffer
    at: float
    """When both begin, unix seconds."""
    carried: bool


@dataclass(frozen=True, slots=True)
class CircuitFailed:
    """That relay did not connect us."""

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
    """A circuit that stands, or looks for a relay."""

    end: CircuitEndpoint
    peer: PeerId
    called: bool
    """We opened it."""
    relays: deque[Relay] = field(default_factory=deque)
    """Where the two ends can meet; turned when one does not work."""
    resume_at: float | None = None
    asked: set[PeerId] = field(default_factory=set)
    """Relays that have not refused since the last one was lost: whichever answers is taken, however late."""
    refusals: int = 0
    """Relays that could not help since the last one was lost."""


class Circuits:
    """See the module's docstring.

    Args:
        me: Our id.
        random: For ids.
        trace: For what others do wrong.
        offer: What we say of ourselves, given the punch's nonce and the relay.
        relays: Where we hold reservations.
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
        self._conduits: dict[bytes, _OpenedCircuit] = {}
        self._asks = ASKS_BURST
        self._asks_at = 0.0
        self.takeovers = 0
        self._carried: Counter[PeerId] = Counter()

    def __contains__(self, circuit: bytes) -> bool:
        return circuit in self._conduits or circuit in self._opening

    def __len__(self) -> int:
        return len(self._conduits)

    def with_peer(self, peer: PeerId) -> bool:
        """Whether a circuit leads to that peer."""
        return any(conduit.peer == peer for conduit in self._conduits.values())

    def end(self, circuit: bytes) -> CircuitEndpoint | None:
        """Our end of a circuit that stands."""
        conduit = self._conduits.get(circuit)
        return None if conduit is None else conduit.end

    def take_carried(self) -> dict[PeerId, int]:
        """Bytes that each relay has carried for us, as an end, since this was asked last."""
        carried = dict(self._carried)
        self._carried.clear()
        return carried

    @property
    def deadline(self) -> float | None:
        """When to be woken."""
        opening = (opening.at + OPEN_S for opening in self._opening.values())
        standing = (earliest(c.end.deadline, c.resume_at) for c in self._conduits.values())
        return earliest(*opening, *standing)

    def open(self, peer: PeerId, relay: Relay, now: float, *, attempt: int, nonce: bytes, carry: bool) -> list[Any]:
        """Ask the relay for a circuit to `peer`, and agree a punch beside; `PunchAgreed` or `CircuitFailed` follows."""
        circuit = self._random.randbytes(CIRCUIT_BYTES)
        offer = self._offer(nonce, PeerId(relay.peer))
        self._opening[circuit] = _Opening(peer, relay, offer, attempt, now)
        ask = OpenCircuit(circuit, peer, offer, carry=carry, resume=False, received=0)
        return [AddAddress(PeerId(relay.peer), relay.address, named=True), Send(PeerId(relay.peer), ask)]

    def received(self, sender: PeerId, message: Any, now: float) -> list[Any]:
        """A message that concerns us as an end."""
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
                self._refused_again(self._conduits[message.circuit], sender, now)
                return self.tick(now)
            case CircuitData() | CircuitAck() | CloseCircuit():
                conduit = self._conduits.get(message.circuit)
                return [] if conduit is None else self.settle(conduit.end.handle(sender, message, now), now)
            case _:
                return []

    def lost(self, peer: PeerId, reason: str, now: float) -> list[Any]:
        """The link to a peer, perhaps a relay, has ended."""
        outputs: list[Any] = []
        for circuit in [name for name, opening in self._opening.items() if opening.relay.peer == peer]:
            opening = self._opening.pop(circuit)
            outputs.append(CircuitFailed(opening.attempt, opening.peer, peer, reason))
        for conduit in list(self._conduits.values()):
            if peer in conduit.asked:
                self._refused_again(conduit, peer, now)
            outputs += self.settle(conduit.end.detach(peer, reason, now), now)
        return outputs

    def tick(self, now: float) -> list[Any]:
        """Some deadline has come."""
        outputs: list[Any] = []
        for circuit in [name for name, opening in self._opening.items() if opening.at + OPEN_S <= now]:
            opening = self._opening.pop(circuit)
            outputs.append(CircuitFailed(opening.attempt, opening.peer, PeerId(opening.relay.peer), "silent"))
        for conduit in list(self._conduits.values()):
            deadline = conduit.end.deadline
            if deadline is not None and deadline <= now:
                outputs += self.settle(conduit.end.tick(now), now)
            if conduit.resume_at is not None and conduit.resume_at <= now and not conduit.end.ended:
                outputs += self._resume(conduit, now)
        return outputs

    def settle(self, outputs: list[Any], now: float) -> list[Any]:
        """What an end said, with what follows from it."""
        said: list[Any] = []
        for output in outputs:
            if not isinstance(output, RouteLost):
                said.append(output)
                continue
            conduit = self._conduits[output.circuit]
            self.takeovers += 1
            for relay in self._relays():
                if relay not in conduit.relays:
                    conduit.relays.append(relay)
            conduit.relays = deque(sorted(conduit.relays, key=lambda relay: relay.peer == output.relay))
            conduit.asked.clear()
            conduit.refusals = 0
            conduit.resume_at = now if conduit.called or output.alone else now + CALLED_WAITS_S
        for circuit in [name for name, conduit in self._conduits.items() if conduit.end.ended]:
            del self._conduits[circuit]
        if any(isinstance(output, RouteLost) for output in outputs):
            said += self.tick(now)
        return said

    def _new_end(self, circuit: bytes, now: float) -> CircuitEndpoint:
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
            end = self._new_end(message.circuit, now)
            known = deque(dict.fromkeys((opening.relay, *self._named(theirs))))
            self._conduits[message.circuit] = _OpenedCircuit(end, opening.peer, called=True, relays=known)
            outputs += self.settle(end.attach(sender, 0, now), now)
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
        mine = sum(conduit.peer == peer for conduit in self._conduits.values())
        full = message.carried and (len(self._conduits) >= CIRCUITS_MAX or mine >= PER_PEER_MAX)
        expected = any(relay.peer == sender for relay in self._relays())
        if full or not expected or message.circuit in self or not self._may_ask(now):
            self._trace.mark("nat.circuit.refused")
            return [Send(sender, CloseCircuit(message.circuit, "refused", final=False))] if expected else []
        offer = None if message.offer is None else self._offer(message.offer.nonce, sender)
        outputs: list[Any] = [Send(sender, AcceptCircuit(message.circuit, offer, 0))]
        if message.carried:
            end = self._new_end(message.circuit, now)
            self._conduits[message.circuit] = _OpenedCircuit(
                end, peer, called=False, relays=deque(self._named(message.offer))
            )
            outputs += self.settle(end.attach(sender, 0, now), now)
            outputs.append(CircuitOpened(message.circuit, peer, sender, False))
        if message.offer is not None and offer is not None:
            at = now + (offer.half_ms + message.offer.half_ms) / 1000
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

    def _resume(self, conduit: _OpenedCircuit, now: float) -> list[Any]:
        conduit.resume_at = now + RESUME_S
        if not conduit.relays:
            return []
        relay = conduit.relays[0]
        conduit.relays.rotate(-1)
        asked = PeerId(relay.peer)
        conduit.asked.add(asked)
        ask = OpenCircuit(
            conduit.end.circuit, conduit.peer, None, carry=True, resume=True, received=conduit.end.received_bytes
        )
        return [AddAddress(asked, relay.address, named=True), Send(asked, ask)]

    def _refused_again(self, conduit: _OpenedCircuit, relay: PeerId, now: float) -> None:
        """The next relay at once; all of them again after a rest."""
        conduit.asked.discard(relay)
        if conduit.end.relay is not None:
            return
        conduit.refusals += 1
        conduit.resume_at = now + (0.0 if conduit.refusals % max(1, len(conduit.relays)) else RESUME_S)

    def _was_asked(self, sender: PeerId, message: CloseCircuit) -> bool:
        conduit = self._conduits.get(message.circuit)
        return conduit is not None and sender in conduit.asked and conduit.end.relay is None

    def _taken_over(self, sender: PeerId, message: CircuitAccepted, now: float) -> list[Any]:
        conduit = self._conduits.get(message.circuit)
        if conduit is None or sender not in conduit.asked or not message.carried:
            self._trace.mark("nat.circuit.stray")
            # An answer after we had given up: neither the relay nor the other end shall keep what nobody uses.
            late = conduit is None and message.carried
            return [Send(sender, CloseCircuit(message.circuit, "too late", final=True))] if late else []
        conduit.asked.discard(sender)
        conduit.resume_at = None
        return self.settle(conduit.end.attach(sender, message.received, now), now)

    def _resumed_by_other(self, sender: PeerId, message: CircuitRequested, now: float) -> list[Any]:
        conduit = self._conduits.get(message.circuit)
        expected = conduit is not None and any(relay.peer == sender for relay in (*self._relays(), *conduit.relays))
        if conduit is None or conduit.peer != message.sender or not expected:
            self._trace.mark("nat.circuit.stray")
            return [] if conduit is not None else [Send(sender, CloseCircuit(message.circuit, "unknown", final=True))]
        conduit.resume_at = None
        accept = Send(sender, AcceptCircuit(message.circuit, None, conduit.end.received_bytes))
        return [accept, *self.settle(conduit.end.attach(sender, message.received, now), now)]

    def _named(self, offer: PunchOffer | None) -> tuple[Relay, ...]:
        """The relays that the other end names and that may be called; we are none of our own."""
        named = () if offer is None else offer.relays
        return tuple(relay for relay in named if relay.peer != self._me and is_callable(relay.address.host))
