"""What simulated homes say on circuits: each side greets the other, and the link is up when both have heard it."""

from collections.abc import Callable
from typing import Any, Final

from core.nat.circuit_endpoint import CircuitEndpoint, EndpointOutput
from core.nat.events import CircuitBytes, CircuitEnded, CircuitOpened, LinkUp, Way
from tests.sim.nat.homes import Homes, SimulatedHome

HELLO: Final = b"hello" * 100


class HomeCircuits:
    """Greets over circuits.

    Args:
        homes: Of all peers.
        tell: Gives an event to a peer's machine.
        use: Acts on a peer's endpoint of a circuit.
        linked: Told of two peers with a new link, and by what way.
    """

    def __init__(
        self,
        homes: Homes,
        *,
        tell: Callable[[SimulatedHome, Any], None],
        use: Callable[[SimulatedHome, bytes, Callable[[CircuitEndpoint], list[EndpointOutput]]], None],
        linked: Callable[[SimulatedHome, SimulatedHome, Way], None],
    ) -> None:
        self._homes = homes
        self._tell = tell
        self._use = use
        self._linked = linked

    def handle(self, home: SimulatedHome, event: CircuitOpened | CircuitBytes | CircuitEnded) -> None:
        """Do what follows from the news of a circuit."""
        match event:
            case CircuitOpened(circuit=circuit, peer=peer, called=called, attempt=attempt):
                home.circuits[circuit] = (peer, called, attempt)
                home.got[circuit] = bytearray()
                if called:
                    self._use(home, circuit, lambda endpoint: endpoint.write(HELLO, self._homes.now))
            case CircuitBytes(circuit=circuit, data=data):
                self._use(home, circuit, lambda endpoint: endpoint.consumed(len(data), self._homes.now))
                self._heard(home, circuit, data)
            case CircuitEnded(circuit=circuit):
                home.circuits.pop(circuit, None)

    def _heard(self, home: SimulatedHome, circuit: bytes, data: bytes) -> None:
        peer, called, attempt = home.circuits[circuit]
        before = len(home.got[circuit])
        home.got[circuit] += data
        if before < len(HELLO) <= len(home.got[circuit]):
            if not called:
                self._use(home, circuit, lambda endpoint: endpoint.write(HELLO, self._homes.now))
            else:
                self._linked(home, self._homes.homes[peer], Way.RELAY)
            self._tell(home, LinkUp(peer, Way.RELAY, None, called=called, attempt=attempt))
