"""Reachability of this peer, with sentences for people."""

from dataclasses import dataclass, replace
from enum import StrEnum

from core.api.sentence import Sentence, later
from core.nat.messages import Mapping


class Reachability(StrEnum):
    """Class of reachability from other networks."""

    UNKNOWN = "unknown"
    REACHABLE = "reachable"
    PUNCHABLE = "punchable"
    RELAYED = "relayed"
    OFFLINE = "offline"


@dataclass(frozen=True, slots=True)
class OwnReach:
    """Findings about this peer's reachability.

    Attributes:
        standing: The class of reachability.
        external: Public IP address of this network, empty if not known.
        tcp: The mapping of the TCP port.
        udp: The mapping of the UDP port.
        relays: Number of reservations held.
        ipv6: Whether other peers get through over IPv6.
        has_way: Whether the system knows a way to the backbone; without one it is this computer that has no network.
    """

    standing: Reachability
    external: str = ""
    tcp: Mapping = "unknown"
    udp: Mapping = "unknown"
    relays: int = 0
    ipv6: bool = False
    has_way: bool = True

    @property
    def client(self) -> bool:
        """Whether to take part without reducing a share, every byte of which would go through a relay."""
        return self.standing is Reachability.RELAYED

    def hearing(self, *, others: bool) -> "OwnReach":
        """For people: a peer is offline that hears nobody, whatever was found out while it did.

        Args:
            others: Another peer has reported lately.
        """
        match others, self.standing:
            case True, Reachability.OFFLINE:  # no connection may be open just now
                return replace(self, standing=Reachability.UNKNOWN)
            case False, Reachability.REACHABLE | Reachability.PUNCHABLE | Reachability.RELAYED:
                return replace(self, standing=Reachability.OFFLINE)
        return self

    @property
    def sentence(self) -> Sentence:
        """One sentence for a person about how others reach this computer."""
        if self.ipv6 and self.standing in {Reachability.PUNCHABLE, Reachability.RELAYED}:
            return Sentence("{by_ipv4} Volunteers with IPv6 reach it directly.", self._by_ipv4)
        return self._by_ipv4

    @property
    def _by_ipv4(self) -> Sentence:
        match self.standing:
            case Reachability.REACHABLE:
                return Sentence("Other volunteers can reach this computer directly.")
            case Reachability.PUNCHABLE:
                return Sentence(
                    "This computer is behind a router. Other volunteers reach it directly after a short introduction."
                )
            case Reachability.RELAYED if self.relays:
                return Sentence("The router lets nobody in. Other volunteers reach this computer through a relay.")
            case Reachability.RELAYED:
                return Sentence("The router lets nobody in, and no relay has been found yet.")
            case Reachability.OFFLINE if not self.has_way:
                return Sentence("This computer has no network.")
            case Reachability.OFFLINE:
                return Sentence("There is no connection to other volunteers.")
            case _:
                return Sentence("How others can reach this computer is not known yet.")

    @property
    def advice(self) -> str:
        """Sentence on what would improve reachability; empty if nothing is needed."""
        match self.standing:
            case Reachability.PUNCHABLE:
                return later(
                    "It works well as it is. With UPnP in the router, connections would start a little faster."
                )
            case Reachability.RELAYED:
                return later(
                    "Turn on UPnP or NAT-PMP in the router, or forward the port that `potluck doctor` names to this "
                    "computer. Until then it trains as usual, but does not average for others."
                )
            case Reachability.OFFLINE if not self.has_way:
                return later("Plug in its cable, or connect it to Wi-Fi: Potluck goes on by itself.")
            case Reachability.OFFLINE:
                return later(
                    "This computer has a network: its router's line may be dead, or theirs, "
                    "or a firewall blocks this program."
                )
            case Reachability.UNKNOWN:
                return later("It takes volunteers outside of this network to find out.")
            case _:
                return ""
