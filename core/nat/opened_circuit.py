"""A circuit of which this peer is an endpoint, and the relays that may take it over."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from core.base.ids import PeerId
from core.base.machine import Send
from core.nat.circuit_endpoint import CircuitEndpoint, RouteLost
from core.nat.events import AddAddress, NatOutput
from core.nat.messages import OpenCircuit, Relay

RESUME_S: Final = 1.0
CALLED_WAITS_S: Final = 0.4
"""Seconds for which the called endpoint leaves the search for a new relay to the other one."""


@dataclass(slots=True)
class OpenedCircuit:
    """A circuit that is attached to a relay, or looks for one."""

    endpoint: CircuitEndpoint
    peer: PeerId
    called: bool
    """This peer opened it."""
    relays: deque[Relay]
    """Relays at which the two endpoints can meet; rotated when one does not work."""
    resume_at: float | None = None
    asked: set[PeerId] = field(default_factory=set)
    """Relays that have not refused since the last one was lost: the first answer is taken, however late."""
    refusals: int = 0
    """Number of relays that could not help since the last one was lost."""

    def route_lost(self, lost: RouteLost, relays: Iterable[Relay], now: float) -> None:
        """Look for another relay, the lost one last.

        Args:
            lost: The lost relay.
            relays: Relays that hold a reservation for this peer.
            now: Unix seconds.
        """
        known = dict.fromkeys((*self.relays, *relays))
        self.relays = deque(sorted(known, key=lambda relay: relay.peer == lost.relay))
        self.asked.clear()
        self.refusals = 0
        self.resume_at = now if self.called or lost.peer_unaware else now + CALLED_WAITS_S

    def ask(self, now: float) -> list[NatOutput]:
        """Ask the next relay to take the circuit over."""
        self.resume_at = now + RESUME_S
        if not self.relays:
            return []
        relay = self.relays[0]
        self.relays.rotate(-1)
        asked = PeerId(relay.peer)
        self.asked.add(asked)
        received = self.endpoint.receiving.arrived
        ask = OpenCircuit(self.endpoint.circuit, self.peer, None, carry=True, resume=True, received=received)
        return [AddAddress(asked, relay.address, hearsay=True), Send(asked, ask)]

    def refused(self, relay: PeerId, now: float) -> None:
        """Try the next relay at once; after all have refused, try them again after a pause."""
        self.asked.discard(relay)
        if self.endpoint.relay is None:
            self.refusals += 1
            self.resume_at = now + (0.0 if self.refusals % max(1, len(self.relays)) else RESUME_S)
