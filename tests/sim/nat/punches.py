"""Punches in a simulated Internet: both sides send at once, and who gets through whose router."""

from collections.abc import Callable
from typing import Any, Final

from core.base.ids import PeerId
from core.nat.events import AttemptFailed, LinkUp, Punch, Way
from core.nat.messages import Address
from tests.sim.nat.boxes import Proto
from tests.sim.nat.homes import PORT, TLS_ROUND_TRIPS, Homes, SimulatedHome
from tests.sim.world.links import chance

PUNCH_EVERY_S: Final = 0.1


class Punches:
    """Hole punches between simulated homes.

    Args:
        homes: Of all peers.
        success: The share of pairs, with routers that should let a punch through, that really let it through; the rest
            have firewalls of other kinds, several routers in a row, or unlucky timing.
        tell: Gives an event to a peer's machine.
        linked: Told of two peers with a new link, and by what way.
    """

    def __init__(
        self,
        homes: Homes,
        *,
        success: float,
        tell: Callable[[SimulatedHome, Any], None],
        linked: Callable[[SimulatedHome, SimulatedHome, Way], None],
    ) -> None:
        self.success = success
        self._homes = homes
        self._tell = tell
        self._linked = linked

    def punch(self, home: SimulatedHome, punch: Punch) -> None:
        """Send to all addresses once, and again soon."""
        if punch.attempt not in home.attempts or not home.up:
            return
        if self._homes.now > punch.until:
            home.attempts.discard(punch.attempt)
            self._tell(home, AttemptFailed(punch.attempt, "the punch did not get through"))
            return
        other = self._homes.homes[punch.peer]
        if punch.birthday is not None:
            self._birthday(home, other, punch)
        else:
            flights: tuple[tuple[Proto, tuple[Address, ...]], ...] = (("tcp", punch.tcp), ("udp", punch.udp))
            for proto, addresses in flights:
                for address in addresses:
                    router = home.router(address)
                    if router is not None:
                        source = router.outward(proto, PORT, address, self._homes.now)
                        self._fly(home, other, punch, proto, source, address)
        self._homes.agenda.after(PUNCH_EVERY_S, self.punch, home, punch)

    def _fly(
        self, home: SimulatedHome, other: SimulatedHome, punch: Punch, proto: Any, source: Address, to: Address
    ) -> None:
        if self._homes.at.get(to.host) is other and self._willing(home.peer, other.peer):
            delay_s = self._homes.delay_s(home, other)
            self._homes.agenda.after(delay_s, self._punch_arrives, home, other, punch, proto, source, to)

    def _punch_arrives(
        self, home: SimulatedHome, other: SimulatedHome, punch: Punch, proto: Any, source: Address, to: Address
    ) -> None:
        theirs, router = other.punches.get(home.peer), other.router(to)
        if theirs is None or theirs.nonce != punch.nonce:
            return
        if router is None or not router.lets_in(proto, to.port, source, self._homes.now):
            return
        way = Way.TCP_PUNCH if proto == "tcp" else Way.QUIC_PUNCH
        self._through(home, other, punch, theirs, way)

    def _birthday(self, home: SimulatedHome, other: SimulatedHome, punch: Punch) -> None:
        """The birthday punch is drawn, not played: when does the first of the tried ports meet an open one?"""
        birthday = punch.birthday
        if birthday is None or not birthday.remote_ports or not self._willing(home.peer, other.peer):
            return
        theirs = other.punches.get(home.peer)
        if theirs is None or theirs.nonce != punch.nonce or theirs.birthday is None or theirs.birthday.local_ports == 0:
            return
        open_ports = set(
            chance(self._homes.seed, f"spread {punch.nonce.hex()}").sample(
                range(1024, 65536), theirs.birthday.local_ports
            )
        )
        hit = next((n for n, port in enumerate(birthday.remote_ports) if port in open_ports), None)
        if hit is not None and self._homes.now >= punch.at + hit / birthday.packets_per_s + 2 * self._homes.delay_s(
            home, other
        ):
            self._through(home, other, punch, theirs, Way.BIRTHDAY)

    def _through(self, home: SimulatedHome, other: SimulatedHome, punch: Punch, theirs: Punch, way: Way) -> None:
        home.punches.pop(other.peer, None)
        other.punches.pop(home.peer, None)
        round_trips = 0.5 + TLS_ROUND_TRIPS + (0.0 if way is Way.TCP_PUNCH else 1.0)
        after_s = 2 * self._homes.delay_s(home, other) * round_trips
        self._homes.agenda.after(after_s, self._punched, home, other, punch, theirs, way)

    def _punched(self, home: SimulatedHome, other: SimulatedHome, punch: Punch, theirs: Punch, way: Way) -> None:
        if not (home.up and other.up):
            return
        for one, two, mine in ((home, other, punch), (other, home, theirs)):
            one.attempts.discard(mine.attempt)
            one.links[two.peer] = way
        self._linked(home, other, way)
        for one, two, mine in ((home, other, punch), (other, home, theirs)):
            address = Address(two.box.host, PORT)
            self._tell(one, LinkUp(two.peer, way, address, called=mine.caller, attempt=mine.attempt))

    def _willing(self, a: PeerId, b: PeerId) -> bool:
        low, high = sorted((a, b))
        return chance(self._homes.seed, f"field {low.hex()} {high.hex()}").random() < self.success
