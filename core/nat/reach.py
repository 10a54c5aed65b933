"""How others can reach us, for people."""

from dataclasses import dataclass, replace
from enum import StrEnum

from core.nat.messages import Mapping


class Standing(StrEnum):
    """How others can reach us, in one word."""

    UNKNOWN = "unknown"
    REACHABLE = "reachable"
    PUNCHABLE = "punchable"
    RELAYED = "relayed"
    OFFLINE = "offline"


@dataclass(frozen=True, slots=True)
class Reach:
    """What is known about ourselves.

    Attributes:
        standing: In one word.
        outside: Our public IP address, empty if not known.
        tcp: The mapping of the TCP port.
        udp: The mapping of the UDP port.
        relays: Reservations held.
        ipv6: Whether strangers get through over IPv6.
    """

    standing: Standing
    outside: str = ""
    tcp: Mapping = "unknown"
    udp: Mapping = "unknown"
    relays: int = 0
    ipv6: bool = False

    @property
    def client(self) -> bool:
        """Whether to take part without a share to reduce, every byte of which would go through a relay."""
        return self.standing is Standing.RELAYED

    def hearing(self, *, others: bool) -> "Reach":
        """For people: whoever hears others is not offline, though no connection may be open just now.

        Args:
            others: Somebody else has reported lately.
        """
        return replace(self, standing=Standing.UNKNOWN) if others and self.standing is Standing.OFFLINE else self

    @property
    def sentence(self) -> str:
        """For a person."""
        if self.ipv6 and self.standing in {Standing.PUNCHABLE, Standing.RELAYED}:
            return f"{self._by_ipv4} Those who have IPv6 reach it directly."
        return self._by_ipv4

    @property
    def _by_ipv4(self) -> str:
        match self.standing:
            case Standing.REACHABLE:
                return "Other volunteers can reach this computer directly."
            case Standing.PUNCHABLE:
                return (
                    "This computer is behind a router. Other volunteers reach it directly after a short introduction."
                )
            case Standing.RELAYED if self.relays:
                return "The router lets nobody in. Other volunteers reach this computer through a relay."
            case Standing.RELAYED:
                return "The router lets nobody in, and no relay has been found yet."
            case Standing.OFFLINE:
                return "There is no connection to other volunteers."
            case _:
                return "How others can reach this computer is not known yet."

    @property
    def advice(self) -> str:
        """What would help; empty if nothing is needed."""
        match self.standing:
            case Standing.PUNCHABLE:
                return "It works well as it is. With UPnP in the router, connections would start a little faster."
            case Standing.RELAYED:
                return (
                    "Turn on UPnP or NAT-PMP in the router, or forward the port that `potluck doctor` names to this "
                    "computer. Until then it trains as usual, but does not average for others."
                )
            case Standing.OFFLINE:
                return "Check the network connection, and whether a firewall blocks this program."
            case Standing.UNKNOWN:
                return "It takes volunteers outside of this network to find out."
            case _:
                return ""
