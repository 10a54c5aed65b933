"""All circuits of a peer: opening them, accepting them, and moving them to another relay when one fails."""

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Final

from core.base.ids import PeerId
from core.base.machine import Send, Trace, earliest
from core.base.rate_limit import RateLimit
from core.base.wire import Message
from core.nat.circuit_endpoint import CircuitEndpoint, EndpointOutput, RouteLost
from core.nat.events import AddAddress, CircuitOpened, NatOutput
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
from core.nat.opened_circuit import OpenedCircuit
from core.nat.peer_record import is_callable

CIRCUITS_MAX: Final = 64
PER_PEER_MAX: Final = 4
OPEN_S: Final = 3.0
RELAYS_COUNTED_MAX: Final = 64
"""Relays whose bytes are counted until `take_carried` is called."""
PUNCH_DELAY_S_MAX: Final = 2.0
"""A punch that waits holds a place that others need, and the other side names the delay."""
ASKS_PER_S: Final = 4.0
ASKS_BURST: Final = 40.0
"""Circuits that each relay may ask this peer to accept: one that invents them takes nothing from the other relay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PunchAgreed:
    """Both sides have exchanged their offers; a punch may begin."""

    peer: PeerId
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
    reason: str


CircuitsOutput = NatOutput | PunchAgreed | CircuitFailed


@dataclass(slots=True)
class _Opening:
    """A circuit that a relay was asked for."""

    peer: PeerId
    relay: Relay
    offer: PunchOffer
    attempt: int
    at: float

    def failed(self, reason: str) -> CircuitFailed:
        """Tell that the relay did not connect the two peers."""
        return CircuitFailed(self.attempt, reason)


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
        self.opened: dict[bytes, OpenedCircuit] = {}
        """Circuits of which this peer is an endpoint."""
        self._asks = RateLimit[PeerId](rate_per_s=ASKS_PER_S, burst=ASKS_BURST)
        self.takeovers = 0
        self._carried: Counter[PeerId] = Counter()

    def __contains__(self, circuit: bytes) -> bool:
        return circuit in self.opened or circuit in self._opening

    def take_carried(self) -> dict[PeerId, int]:
        """Bytes that each relay has carried for this peer as an endpoint, since the last call."""
        carried = dict(self._carried)
        self._carried.clear()
        return carried

    def use(
        self, circuit: bytes, act: Callable[[CircuitEndpoint], list[EndpointOutput]], now: float
    ) -> list[CircuitsOutput]:
        """Act on this peer's endpoint of a circuit; nothing happens if it has ended, which `CircuitEnded` has told.

        Args:
            circuit: Id of the circuit.
            act: Calls one method of the endpoint.
            now: Unix seconds.
        """
        opened = self.opened.get(circuit)
        return [] if opened is None else self._settle(act(opened.endpoint), now)

    @property
    def deadline(self) -> float | None:
        """Time at which `tick` is due, Unix seconds; None: nothing is pending."""
        opening = (opening.at + OPEN_S for opening in self._opening.values())
        opened = (earliest(one.endpoint.deadline, one.resume_at) for one in self.opened.values())
        return earliest(*opening, *opened)

    def open(
        self, peer: PeerId, relay: Relay, now: float, *, attempt: int, nonce: bytes, carry: bool
    ) -> list[CircuitsOutput]:
        """Ask a relay for a circuit to a peer, and agree on a punch; `PunchAgreed` or `CircuitFailed` follows.

        The outputs repeat the number `attempt`.  Unless `carry` is true, only the punch is agreed on.
        """
        circuit = self._random.randbytes(CIRCUIT_BYTES)
        offer = self._offer(nonce, PeerId(relay.peer))
        self._opening[circuit] = _Opening(peer, relay, offer, attempt, now)
        ask = OpenCircuit(circuit, peer, offer, carry=carry, resume=False, received=0)
        return [AddAddress(PeerId(relay.peer), relay.address, hearsay=True), Send(PeerId(relay.peer), ask)]

    def received(self, sender: PeerId, message: Message, now: float) -> list[CircuitsOutput]:
        """Handle a message of `core.nat.messages` that a relay sent to this peer as an endpoint."""
        match message:
            case CircuitRequested(resume=False):
                return self._asked_for(sender, message, now)
            case CircuitAccepted(circuit=circuit) if circuit in self._opening:
                return self._accepted(sender, message, now)
            case CircuitRequested() | CircuitAccepted():
                return self._take_over(sender, message, now)
            case CloseCircuit(circuit=circuit) if circuit in self._opening:
                refused = self._opening[circuit].relay.peer == sender
                return [self._opening.pop(circuit).failed(message.reason)] if refused else []
            case CircuitData(circuit=circuit) | CircuitAck(circuit=circuit) | CloseCircuit(circuit=circuit):
                opened = self.opened.get(circuit)
                if opened is None:
                    return []
                looks = sender in opened.asked and opened.endpoint.relay is None
                if looks and isinstance(message, CloseCircuit) and not message.final:
                    opened.refused(sender, now)
                    return self.tick(now)
                return self._settle(opened.endpoint.handle(sender, message, now), now)
        return []

    def lost(self, peer: PeerId, reason: str, now: float) -> list[CircuitsOutput]:
        """Handle the loss of a link, whose other end may be a relay."""
        gone = [circuit for circuit, opening in self._opening.items() if opening.relay.peer == peer]
        outputs: list[CircuitsOutput] = [self._opening.pop(circuit).failed(reason) for circuit in gone]
        for opened in list(self.opened.values()):
            if peer in opened.asked:
                opened.refused(peer, now)
            outputs += self._settle(opened.endpoint.detach(peer, reason, now), now)
        return outputs

    def tick(self, now: float) -> list[CircuitsOutput]:
        """Give up requests that were not answered, and look for relays for detached circuits."""
        late = [circuit for circuit, opening in self._opening.items() if opening.at + OPEN_S <= now]
        outputs: list[CircuitsOutput] = [self._opening.pop(circuit).failed("silent") for circuit in late]
        for opened in list(self.opened.values()):
            deadline = opened.endpoint.deadline
            if deadline is not None and deadline <= now:
                outputs += self._settle(opened.endpoint.tick(now), now)
            if opened.resume_at is not None and opened.resume_at <= now and not opened.endpoint.ended:
                outputs += opened.ask(now)
        return outputs

    # --- inside ------------------------------------------------------------------------------------------------------

    def _settle(self, outputs: list[EndpointOutput], now: float) -> list[CircuitsOutput]:
        """Pass on the outputs of an endpoint's methods, and look for another relay where one was lost."""
        said: list[CircuitsOutput] = [output for output in outputs if not isinstance(output, RouteLost)]
        lost = [output for output in outputs if isinstance(output, RouteLost)]
        for route in lost:
            self.takeovers += 1
            self.opened[route.circuit].route_lost(route, self._relays(), now)
        for circuit in [name for name, opened in self.opened.items() if opened.endpoint.ended]:
            del self.opened[circuit]
        return said + self.tick(now) if lost else said

    def _add(
        self, circuit: bytes, peer: PeerId, relay: PeerId, named: Iterable[Relay], now: float, *, attempt: int | None
    ) -> list[CircuitsOutput]:
        """Begin a circuit to `peer` over a relay, as its opener with the number of the attempt, or as the called one.

        Args:
            circuit: Id of the circuit.
            peer: The other endpoint.
            relay: The relay that connects the two.
            named: Relays that may take it over.
            now: Unix seconds.
            attempt: Number of this peer's attempt; None: the other endpoint opened it.
        """
        if len(self._carried) > RELAYS_COUNTED_MAX:
            self._carried = Counter(dict(self._carried.most_common(RELAYS_COUNTED_MAX)))
        relays = deque(dict.fromkeys(named))
        endpoint = CircuitEndpoint(circuit, now=now, trace=self._trace, carried=self._carried)
        self.opened[circuit] = OpenedCircuit(endpoint, peer, called=attempt is not None, relays=relays)
        outputs = self._settle(endpoint.attach(relay, 0, now), now)
        return [*outputs, CircuitOpened(circuit, peer, attempt is not None, attempt or 0)]

    def _accepted(self, sender: PeerId, message: CircuitAccepted, now: float) -> list[CircuitsOutput]:
        opening = self._opening[message.circuit]
        if opening.relay.peer != sender:
            return self._take_over(sender, message, now)
        del self._opening[message.circuit]
        outputs: list[CircuitsOutput] = []
        theirs = message.offer
        if message.carried:
            named = (opening.relay, *_named(theirs, self._me))
            outputs += self._add(message.circuit, opening.peer, sender, named, now, attempt=opening.attempt)
        if theirs is None or theirs.nonce != opening.offer.nonce:
            return [*outputs, opening.failed("no punch")]
        agreed = PunchAgreed(
            peer=opening.peer, attempt=opening.attempt, theirs=theirs, mine=opening.offer, at=now,
            carried=message.carried,
        )  # fmt: skip
        return [*outputs, agreed]

    def _asked_for(self, sender: PeerId, message: CircuitRequested, now: float) -> list[CircuitsOutput]:
        peer, theirs = PeerId(message.sender), message.offer
        mine = sum(opened.peer == peer for opened in self.opened.values())
        full = message.carried and (len(self.opened) >= CIRCUITS_MAX or mine >= PER_PEER_MAX)
        expected = any(relay.peer == sender for relay in self._relays())
        if full or not expected or message.circuit in self or not self._asks.admits(sender, now):
            self._trace.mark("nat.circuit.refused")
            return [Send(sender, CloseCircuit(message.circuit, "refused", final=False))] if expected else []
        offer = None if theirs is None else self._offer(theirs.nonce, sender)
        outputs: list[CircuitsOutput] = [Send(sender, AcceptCircuit(message.circuit, offer, 0))]
        if message.carried:
            outputs += self._add(message.circuit, peer, sender, _named(theirs, self._me), now, attempt=None)
        if theirs is not None and offer is not None:
            at = now + min((offer.one_way_ms + theirs.one_way_ms) / 1000, PUNCH_DELAY_S_MAX)
            agreed = PunchAgreed(peer=peer, attempt=0, theirs=theirs, mine=offer, at=at, carried=message.carried)
            outputs.append(agreed)
        return outputs

    def _take_over(
        self, sender: PeerId, message: CircuitAccepted | CircuitRequested, now: float
    ) -> list[CircuitsOutput]:
        """Attach a circuit to another relay, which one of the two endpoints has asked for."""
        opened = self.opened.get(message.circuit)
        if isinstance(message, CircuitAccepted):
            expected = opened is not None and sender in opened.asked and message.carried
        else:
            known = () if opened is None or opened.peer != message.sender else (*self._relays(), *opened.relays)
            expected = any(relay.peer == sender for relay in known)
        if opened is None or not expected:
            self._trace.mark("nat.circuit.stray")
            # Perhaps an answer that came too late: neither relay nor other endpoint shall keep an unused circuit.
            reason = "too late" if isinstance(message, CircuitAccepted) else "unknown"
            unused = opened is None and message.carried
            return [Send(sender, CloseCircuit(message.circuit, reason, final=True))] if unused else []
        opened.resume_at = None
        outputs: list[CircuitsOutput] = []
        if isinstance(message, CircuitAccepted):
            opened.asked.discard(sender)
        else:
            outputs.append(Send(sender, AcceptCircuit(message.circuit, None, opened.endpoint.receiving.arrived)))
        return outputs + self._settle(opened.endpoint.attach(sender, message.received, now), now)


def _named(offer: PunchOffer | None, me: PeerId) -> tuple[Relay, ...]:
    """Relays that the other endpoint names and that may be called, without this peer itself."""
    named = () if offer is None else offer.relays
    return tuple(relay for relay in named if relay.peer != me and is_callable(relay.address.host))
