"""A relayed circuit as an asyncio transport, so that a link over a relay is a link like any other."""

from typing import Any, Protocol

from core.net.carrier_transport import CarriedTransport


class Circuit(Protocol):
    """One endpoint of a reliable byte stream through a relay, as its owner drives it.

    The owner tells the transport: `made` when the circuit stands, `arrived` for bytes in order, `resume_if_room` when
    the other endpoint acknowledged something, `lost` when the circuit is over.
    """

    def carry(self, data: bytes) -> None:
        """Send bytes, after all earlier ones."""

    def room(self) -> bool:
        """Whether the send window lets more bytes pass."""

    def consumed(self, count: int) -> None:
        """Move the receive window on by the number of bytes read."""

    def end(self, *, at_once: bool) -> None:
        """Send nothing more; earlier bytes still arrive, unless `at_once`."""


class CircuitTransport(CarriedTransport):
    """Drives a circuit with the calls of an asyncio transport."""

    def __init__(self, circuit: Circuit, protocol: Any) -> None:
        super().__init__(protocol, extra={"way": "relay"})
        self._circuit = circuit

    def carry(self, data: bytes) -> None:
        """Send bytes over the circuit, in order."""
        self._circuit.carry(data)

    def room(self) -> bool:
        """Whether the circuit takes more bytes now."""
        return self._circuit.room()

    def consumed(self, count: int) -> None:
        """Grant the other endpoint as many bytes as the owner has read."""
        self._circuit.consumed(count)

    def end(self, *, at_once: bool) -> None:
        """Send nothing more over the circuit."""
        self._circuit.end(at_once=at_once)
