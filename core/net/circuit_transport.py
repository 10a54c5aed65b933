"""A relayed circuit with the face of an asyncio transport, so that a link over a relay is a link like any other."""

from typing import Any, Protocol

from core.net.carrier_transport import CarriedTransport


class Circuit(Protocol):
    """One end of a reliable byte stream through a relay, as its owner drives it.

    The owner tells the transport: `made` when the circuit stands, `arrived` for bytes in order, `resume_if_room`
    when the other end acknowledged something, `lost` when the circuit is over.
    """

    def carry(self, data: bytes) -> None:
        """Send bytes, after those before."""

    def room(self) -> bool:
        """Whether the window lets more pass."""

    def consumed(self, count: int) -> None:
        """So many bytes were read: the window may move on."""

    def end(self, *, at_once: bool) -> None:
        """Nothing more is sent; what was sent before still arrives, unless `at_once`."""


class CircuitTransport(CarriedTransport):
    """See the module's docstring."""

    def __init__(self, circuit: Circuit, protocol: Any) -> None:
        super().__init__(protocol, extra={"way": "relay"})
        self._circuit = circuit

    def carry(self, data: bytes) -> None:
        """Send bytes."""
        self._circuit.carry(data)

    def room(self) -> bool:
        """Whether more may be sent now."""
        return self._circuit.room()

    def consumed(self, count: int) -> None:
        """The owner has read."""
        self._circuit.consumed(count)

    def end(self, *, at_once: bool) -> None:
        """Nothing more is sent."""
        self._circuit.end(at_once=at_once)
