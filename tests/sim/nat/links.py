"""Datagrams and streams between simulated homes, through the routers of both."""

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, Final

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send
from core.nat.events import AddressSeen, AttemptFailed, DialBackTried, LinkUp, SendDatagramTo, Way
from core.nat.messages import Address
from tests.sim.nat.homes import PORT, TLS_ROUND_TRIPS, Homes, SimulatedHome

CONNECT_S: Final = 3.0
"""How long a call waits for an answer."""


class HomeLinks:
    """Carries what homes send.

    Args:
        homes: Of all peers.
        random: Draws ports.
        tell: Gives an event to a peer's machine.
        linked: Told of two peers with a new link, and by what way.
    """

    def __init__(
        self,
        homes: Homes,
        *,
        random: Random,
        tell: Callable[[SimulatedHome, Any], None],
        linked: Callable[[SimulatedHome, SimulatedHome, Way], None],
    ) -> None:
        self._homes = homes
        self._random = random
        self._tell = tell
        self._linked = linked
        self.messages: Counter[str] = Counter()
        """Delivered messages by their type."""

    def send(self, home: SimulatedHome, output: Send[Any] | SendDatagramTo) -> None:
        """Send a message to a peer, or to an address."""
        match output:
            case SendDatagramTo(address=address, message=message, fresh=fresh):
                self._datagram(home, address, message, port=self._random.randrange(40_000, 60_000) if fresh else PORT)
            case Send(to=to, message=message) if message.plane == "datagram":
                address_known = home.book.get(to) or home.sources.get(to)
                if address_known is not None:
                    self._datagram(home, address_known, message, port=PORT)
            case Send(to=to, message=message):
                self._stream(home, self._homes.homes[to], message)

    # --- datagrams ---------------------------------------------------------------------------------------------------

    def _datagram(self, home: SimulatedHome, to: Address, message: Any, *, port: int) -> None:
        router = home.router(to)
        source = router.outward("udp", port, to, self._homes.now) if router is not None else None
        target = self._homes.at.get(to.host)
        if target is not None and source is not None:
            self._homes.agenda.after(
                self._homes.delay_s(home, target), self._datagram_arrives, home, target, source, to, message
            )

    def _datagram_arrives(
        self, sender: SimulatedHome, home: SimulatedHome, source: Address, to: Address, message: Any
    ) -> None:
        router = home.router(to)
        if not home.up or router is None or not router.lets_in("udp", to.port, source, self._homes.now):
            return
        if router.nature == "public" and to.port != PORT:
            return
        self.messages[type(message).__name__] += 1
        if home.sources.get(sender.peer) != source:
            home.sources[sender.peer] = source
            self._tell(home, AddressSeen(sender.peer, source))
        self._tell(home, Received(sender.peer, message))

    # --- streams -----------------------------------------------------------------------------------------------------

    def _stream(self, home: SimulatedHome, other: SimulatedHome, message: Any) -> None:
        if other.peer in home.links:
            self._homes.agenda.after(self._homes.delay_s(home, other), self._stream_arrives, home, other, message)
            return
        waiting = home.calling.get(other.peer)
        if waiting is not None:
            waiting.append(message)
        elif (address := home.book.get(other.peer)) is not None:
            home.calling[other.peer] = [message]
            self.connect(home, address, attempt=0, peer=other.peer, way=Way.PUBLIC)
        else:
            self._homes.agenda.after(0.0, self._tell, home, Lost(other.peer, "no address"))

    def _stream_arrives(self, sender: SimulatedHome, home: SimulatedHome, message: Any) -> None:
        if home.up and sender.peer in home.links:
            self.messages[type(message).__name__] += 1
            self._tell(home, Received(sender.peer, message))

    def connect(self, home: SimulatedHome, to: Address, *, attempt: int, peer: PeerId, way: Way) -> None:
        """Call an address.

        Args:
            home: The caller.
            to: The address.
            attempt: The caller's name for it; 0: the link is for messages that wait.
            peer: The peer that should answer.
            way: How the link is called if it comes to be.
        """
        router, target = home.router(to), self._homes.at.get(to.host)
        source = router.outward("tcp", PORT, to, self._homes.now) if router is not None else None
        open_ = target is not None and target.up and to.port == PORT and target.peer == peer
        if target is None or source is None or not open_ or not self._lets_in(target, to, source):
            self._homes.agenda.after(CONNECT_S, self._not_connected, home, attempt, peer)
            return
        round_trip_s = 2 * self._homes.delay_s(home, target)
        after_s = round_trip_s * (1 + TLS_ROUND_TRIPS)
        self._homes.agenda.after(after_s, self._connected, home, target, way, attempt, to, source)

    def _lets_in(self, target: SimulatedHome, to: Address, source: Address) -> bool:
        router = target.router(to)
        return router is not None and router.lets_in("tcp", to.port, source, self._homes.now)

    def _connected(
        self, home: SimulatedHome, target: SimulatedHome, way: Way, attempt: int, to: Address, source: Address
    ) -> None:
        if attempt and attempt not in home.attempts:
            return
        if not target.up:
            self._not_connected(home, attempt, target.peer)
            return
        home.attempts.discard(attempt)
        home.links[target.peer] = way
        target.links[home.peer] = way
        self._linked(home, target, way)
        self._tell(target, LinkUp(home.peer, way, source, called=False))
        self._tell(home, LinkUp(target.peer, way, to, called=True, attempt=attempt))
        for message in home.calling.pop(target.peer, []):
            self._stream(home, target, message)

    def _not_connected(self, home: SimulatedHome, attempt: int, peer: PeerId) -> None:
        if attempt:
            if attempt in home.attempts:
                home.attempts.discard(attempt)
                self._tell(home, AttemptFailed(attempt, "nobody answered"))
        elif home.calling.pop(peer, None) is not None:
            self._tell(home, Lost(peer, "nobody answered"))

    def dial_back(self, home: SimulatedHome, nonce: bytes, to: Address) -> None:
        """Try whether a stranger reaches an address, and tell `home`."""
        router = home.router(to) or home.box
        source = Address(router.host, self._random.randrange(40_000, 60_000))
        target = self._homes.at.get(to.host)
        reached = target is not None and to.port == PORT and self._lets_in(target, to, source)
        self._homes.agenda.after(0.3 if reached else CONNECT_S, self._tell, home, DialBackTried(nonce, reached))
