"""Reservations at two relays by which a peer behind a router is found; chosen by delay and load, renewed in time."""

from dataclasses import dataclass
from random import Random
from typing import Any, Final

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, earliest
from core.nat.events import AddAddress, RelayLost
from core.nat.messages import Address, Relay, Reserve, Reserved, Unreserved
from core.nat.peer_record import RELAYS_MAX, network_prefix, prefer_ipv4

CANDIDATES_MAX: Final = 32
ASK_S: Final = 5.0
BACK_OFF_S: Final = 60.0
"""Longest back-off, seconds, of a relay that refused or failed repeatedly."""
BACK_OFF_FIRST_S: Final = 1.0
"""First back-off after a relay was silent or its link was lost, which may have been this peer's network; then
doubled."""
RENEW: Final = 2 / 3
RTT_UNKNOWN_S: Final = 0.5
LOAD_S: Final = 0.3
"""Added round trip, seconds, that weighs as much as a full relay against an empty one."""

Output = Send[Reserve] | AddAddress | RelayLost


@dataclass(slots=True)
class _RelayCandidate:
    address: Address
    rtt_s: float = RTT_UNKNOWN_S
    load: int = 50
    excluded_until: float = 0.0
    asked_at: float | None = None
    until: float | None = None
    """Time at which the reservation ends; None: there is none."""
    renew_at: float = 0.0
    failures: int = 0
    """Number of failures since it last granted a reservation."""

    @property
    def cost_s(self) -> float:
        """Delay with a penalty for load, seconds; the smaller, the better."""
        return self.rtt_s + LOAD_S * self.load / 100

    @property
    def is_idle(self) -> bool:
        """Whether there is neither a reservation nor a pending request."""
        return self.until is None and self.asked_at is None

    def next_at(self, *, missing: bool) -> float | None:
        """Time at which something is due, Unix seconds; None: nothing is.

        Args:
            missing: Too few reservations are held or pending.
        """
        if self.asked_at is not None:
            return self.asked_at + ASK_S
        if self.until is not None:
            return min(self.renew_at, self.until)
        return self.excluded_until if missing else None

    def grant(self, message: Reserved, now: float) -> None:
        """Note that the relay has granted a reservation, if it was asked.

        Args:
            message: Its answer.
            now: Unix seconds.
        """
        if self.asked_at is None:
            return
        self.rtt_s = min(self.rtt_s, max(now - self.asked_at, 0.001))
        self.load = message.load
        self.asked_at, self.failures = None, 0
        self.until = now + message.lifetime_s
        self.renew_at = now + RENEW * message.lifetime_s


class Reservations:
    """Keeps up to `RELAYS_MAX` reservations while they are wanted.

    Args:
        random: Breaks ties, so that not all peers choose the same relay.
    """

    def __init__(self, *, random: Random) -> None:
        self.wanted = False
        """Whether this peer needs relays at all."""
        self._random = random
        self.candidates: dict[PeerId, _RelayCandidate] = {}
        """Peers that are willing to relay; at most `CANDIDATES_MAX`."""

    @property
    def held(self) -> tuple[Relay, ...]:
        """Relays with a reservation for this peer, nearest first."""
        mine = [(c.rtt_s, peer, c.address) for peer, c in self.candidates.items() if c.until is not None]
        return tuple(Relay(peer, address) for _, peer, address in sorted(mine)[:RELAYS_MAX])

    def one_way_s(self, relay: PeerId) -> float:
        """Delay of a message to that relay, seconds."""
        candidate = self.candidates.get(relay)
        return (RTT_UNKNOWN_S if candidate is None else candidate.rtt_s) / 2

    def candidate(self, peer: PeerId, address: Address) -> None:
        """Remember a peer that is willing to relay.

        Args:
            peer: The relay.
            address: Its address.
        """
        if peer in self.candidates:
            self.candidates[peer].address = prefer_ipv4(self.candidates[peer].address, address)
        elif len(self.candidates) < CANDIDATES_MAX or self._make_room():
            self.candidates[peer] = _RelayCandidate(address)

    def measured(self, peer: PeerId, rtt_s: float, load: int) -> None:
        """Note a candidate's delay and load.

        Args:
            peer: The relay.
            rtt_s: Round trip, seconds.
            load: Used part of its limits, percent.
        """
        candidate = self.candidates.get(peer)
        if candidate is not None:
            candidate.rtt_s, candidate.load = rtt_s, load

    @property
    def deadline(self) -> float | None:
        """Time at which a `Tick` is due, Unix seconds; None: nothing is pending."""
        if not self.wanted:
            return None
        missing = self._missing > 0
        return earliest(*(candidate.next_at(missing=missing) for candidate in self.candidates.values()))

    @property
    def _missing(self) -> int:
        return RELAYS_MAX - sum(not candidate.is_idle for candidate in self.candidates.values())

    def handle(self, event: Received[Any] | Tick | Lost, now: float) -> list[Output]:
        """Advance by one event.

        Args:
            event: A message, the loss of a link, or the deadline.
            now: Unix seconds.
        """
        match event:
            case Received(sender=sender, message=Reserved() as message) if sender in self.candidates:
                self.candidates[sender].grant(message, now)
            case Received(sender=sender, message=Unreserved()):
                return self._fail(sender, now, refused=True)
            case Lost(peer=peer):
                return self._fail(peer, now, refused=False)
            case Tick():
                return self.settle(now)
        return []

    def settle(self, now: float) -> list[Output]:
        """Ask for, renew and give up reservations that are due."""
        outputs: list[Output] = []
        if not self.wanted:
            return outputs
        for peer, candidate in self.candidates.items():
            silent = candidate.asked_at is not None and now >= candidate.asked_at + ASK_S
            if silent or (candidate.until is not None and now >= candidate.until):
                outputs += self._give_up(peer, candidate, now, refused=False)
            elif candidate.until is not None and candidate.asked_at is None and now >= candidate.renew_at:
                outputs += self._ask(peer, candidate, now)
        while self._missing > 0 and (best := self._best(now)) is not None:
            outputs += self._ask(best, self.candidates[best], now)
        return outputs

    def _best(self, now: float) -> PeerId | None:
        taken = {network_prefix(c.address.host) for c in self.candidates.values() if not c.is_idle}
        free = [
            (network_prefix(c.address.host) in taken, c.cost_s, self._random.random(), peer)
            for peer, c in self.candidates.items()
            if c.is_idle and c.excluded_until <= now
        ]
        return min(free)[3] if free else None

    def _ask(self, peer: PeerId, candidate: _RelayCandidate, now: float) -> list[Output]:
        candidate.asked_at = now
        return [AddAddress(peer, candidate.address), Send(peer, Reserve())]

    def _fail(self, peer: PeerId, now: float, *, refused: bool) -> list[Output]:
        candidate = self.candidates.get(peer)
        if candidate is None or candidate.is_idle:
            return []
        return [*self._give_up(peer, candidate, now, refused=refused), *self.settle(now)]

    def _give_up(self, peer: PeerId, candidate: _RelayCandidate, now: float, *, refused: bool) -> list[Output]:
        lost = candidate.until is not None
        candidate.asked_at = candidate.until = None
        back_off_s = BACK_OFF_S if refused else min(BACK_OFF_S, BACK_OFF_FIRST_S * 2 ** min(candidate.failures, 10))
        candidate.failures += 1
        candidate.excluded_until = now + back_off_s * self._random.uniform(0.5, 1.0)
        return [RelayLost(peer)] if lost else []

    def _make_room(self) -> bool:
        """Forget the worst candidate without a reservation or a pending request."""
        idle = [(c.cost_s, peer) for peer, c in self.candidates.items() if c.is_idle]
        if not idle:
            return False
        del self.candidates[max(idle)[1]]
        return True
