"""Connecting to peers: all promising ways, in parallel where that saves time; the first link that stands wins.

A relayed link is a beginning: while it is in use, better ways are tried again from time to time.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from core.base.back_off import BackOff
from core.base.ids import PeerId
from core.base.machine import earliest
from core.nat.circuits import Circuits, CircuitsOutput, PunchAgreed
from core.nat.events import CancelAttempt, Dial, DialEnded, FindPeerRecord, LinkUp, Punch, Way
from core.nat.messages import NONCE_BYTES, Relay
from core.nat.peer_record import NO_PEER_RECORD, PeerRecord
from core.nat.ways import PlannedDial, plan_dials, punch_plan, relay_after_s

PEER_RECORD_S: Final = 5.0
"""Seconds for the look-up of a peer record."""
DIAL_S: Final = 10.0
PUNCH_S: Final = 3.0
BIRTHDAY_S: Final = 4.0
DIALS_MAX: Final = 256
PUNCHES_FOR_OTHERS_MAX: Final = 32
PUNCH_AGAIN_S: Final = (10.0, 120.0)
"""First and longest pause before another punch for a peer that none has led to: it names the addresses that are called,
which need not be its own."""
UPGRADE_S: Final = (30.0, 120.0, 600.0)
RELAYED_MAX: Final = 256


@dataclass(slots=True)
class _Dialling:
    peer: PeerId
    began: float
    peer_record: PeerRecord | None = None
    planned: deque[PlannedDial] = field(default_factory=deque)
    running: dict[int, tuple[Way, float]] = field(default_factory=dict)
    """By attempt: the way, and the time by which it must have ended."""
    relays: deque[Relay] = field(default_factory=deque)
    relay_at: float | None = None
    opening: bool = False
    way: Way | None = None
    upgrade: bool = False
    reason: str = "no peer record"

    @property
    def deadline(self) -> float | None:
        """Time at which something is due, Unix seconds; None: it awaits other peers' messages only."""
        if self.peer_record is None:
            return self.began + PEER_RECORD_S
        return earliest(
            self.began + self.planned[0].after_s if self.planned else None,
            self.relay_at,
            *(until for _, until in self.running.values()),
        )


class Dials:
    """Decides which ways to each wanted peer are tried and when.

    Args:
        me: This peer's id.
        random: Draws nonces and ports.
        circuits: Opens circuits.
        peer_record: Returns this peer's present record.
    """

    def __init__(
        self, me: PeerId, *, random: Random, circuits: Circuits, peer_record: Callable[[], PeerRecord]
    ) -> None:
        self._me = me
        self._random = random
        self._circuits = circuits
        self._peer_record = peer_record
        self._dials: dict[PeerId, _Dialling] = {}
        self._attempts = 0
        self._owners: dict[int, PeerId] = {}
        self._punches: dict[int, tuple[PeerId, float]] = {}
        """Punches that other peers began, by attempt: the peer, and the time by which it must have ended."""
        self._in_vain = _punches_in_vain()
        """Peers for which this one has punched, as long as no direct link has come of it."""
        self._relayed: dict[PeerId, tuple[float, int]] = {}

    @property
    def deadline(self) -> float | None:
        """Time at which `tick` is due, Unix seconds; None: nothing is pending."""
        punches = (until for _, until in self._punches.values())
        upgrades = (at for at, _ in self._relayed.values())
        return earliest(*punches, *upgrades, *(dialling.deadline for dialling in self._dials.values()))

    def dial(self, peer: PeerId, now: float, *, upgrade: bool = False) -> list[CircuitsOutput]:
        """Find a way to a peer; `DialEnded` follows.

        Args:
            peer: The peer to reach.
            now: Unix seconds.
            upgrade: A relayed link exists; look for a direct one only.
        """
        if peer in self._dials:
            return []
        if len(self._dials) >= DIALS_MAX:
            return [DialEnded(peer, None, "too many calls at once")]
        way = Way.RELAY if upgrade else None
        self._dials[peer] = _Dialling(peer, now, upgrade=upgrade, way=way)
        return [FindPeerRecord(peer)]

    def peer_record_found(self, peer: PeerId, peer_record: PeerRecord | None, now: float) -> list[CircuitsOutput]:
        """Begin to call, now that the peer's record is known.

        Args:
            peer: The peer to reach.
            peer_record: Its record; None: none was found.
            now: Unix seconds.
        """
        dialling = self._dials.get(peer)
        if dialling is None or dialling.peer_record is not None:
            return []
        dialling.peer_record = peer_record or NO_PEER_RECORD
        dialling.began = now
        mine = self._peer_record()
        dialling.planned = deque(plan_dials(mine, dialling.peer_record))
        relays = [relay for relay in dialling.peer_record.relays if relay.peer != self._me]
        common = {relay.peer for relay in mine.relays}
        relays.sort(key=lambda relay: relay.peer not in common)
        dialling.relays = deque(relays)
        dialling.relay_at = now + relay_after_s(mine, dialling.peer_record) if relays else None
        dialling.reason = "nobody answered" if peer_record is not None else "no peer record"
        return self._advance(dialling, now)

    def link_up(self, event: LinkUp, now: float) -> list[CircuitsOutput]:
        """Stop the attempts that a new link makes superfluous.

        Args:
            event: The link.
            now: Unix seconds.
        """
        dialling = self._dials.get(event.peer)
        self._finish(event.attempt)
        if not event.way.direct:
            if dialling is not None:
                dialling.way = dialling.way or Way.RELAY
            return []
        self._relayed.pop(event.peer, None)
        self._in_vain.clear(event.peer)
        stopped = [CancelAttempt(number) for number, (peer, _) in self._punches.items() if peer == event.peer]
        for abandon in stopped:
            self._finish(abandon.attempt)
        if dialling is None:
            return list(stopped)
        dialling.way = event.way
        return [*stopped, *self._end(dialling, now)]

    def failed(self, attempt: int, reason: str, now: float) -> list[CircuitsOutput]:
        """Go on after a failed attempt; after a relay that did not connect the two peers, with the next relay.

        Args:
            attempt: Number of the attempt.
            reason: Why it failed.
            now: Unix seconds.
        """
        peer = self._owners.get(attempt)
        dialling = self._dials.get(peer) if peer is not None else None
        ran = None if dialling is None else dialling.running.get(attempt)
        self._finish(attempt)
        if dialling is None:
            return []
        dialling.reason = reason
        if ran is not None and ran[0] is Way.RELAY:
            dialling.opening = False
            dialling.relay_at = now if dialling.relays else None
        return self._advance(dialling, now)

    def agreed(self, agreed: PunchAgreed, now: float) -> list[CircuitsOutput]:
        """Punch, if the two routers give any hope, now that both sides know each other's addresses.

        Args:
            agreed: Both offers, and the time to begin.
            now: Unix seconds.
        """
        dialling = self._dials.get(agreed.peer)
        if agreed.attempt and (dialling is None or agreed.attempt not in dialling.running):
            return []
        if agreed.attempt and dialling is not None:
            self._finish(agreed.attempt)
            dialling.opening = False
            if agreed.carried:
                dialling.way, dialling.relay_at = Way.RELAY, None
            elif not dialling.upgrade and dialling.relays:
                dialling.relay_at = now
        plan = punch_plan(agreed.mine, agreed.theirs, random=self._random)
        others = self._punches.values()
        again = self._in_vain.is_excluded(agreed.peer, now) or any(peer == agreed.peer for peer, _ in others)
        crowded = not agreed.attempt and (again or len(others) >= PUNCHES_FOR_OTHERS_MAX)
        outputs: list[CircuitsOutput] = []
        if not plan.hopeless and not crowded:
            until = agreed.at + (PUNCH_S if plan.birthday is None else BIRTHDAY_S)
            number = self._number(agreed.peer)
            if agreed.attempt and dialling is not None:
                dialling.running[number] = (Way.TCP_PUNCH, until + 1)
            else:
                self._punches[number] = (agreed.peer, until + 1)
                self._in_vain.fail(agreed.peer, now)
            outputs.append(
                Punch(
                    attempt=number, peer=agreed.peer, nonce=agreed.mine.nonce, tcp=plan.tcp, udp=plan.udp,
                    at=agreed.at, until=until, caller=self._me < agreed.peer, birthday=plan.birthday,
                )
            )  # fmt: skip
        return outputs if dialling is None else [*outputs, *self._advance(dialling, now)]

    def lost(self, peer: PeerId) -> None:
        """Forget the relayed link to a peer that is not linked any more."""
        self._relayed.pop(peer, None)

    def network_changed(self, now: float) -> None:
        """Try direct ways again soon: routers may differ in the new network."""
        self._relayed = dict.fromkeys(self._relayed, (now + UPGRADE_S[0] / 2, 0))
        self._in_vain = _punches_in_vain()

    def tick(self, now: float) -> list[CircuitsOutput]:
        """Begin, give up and repeat what is due."""
        outputs: list[CircuitsOutput] = []
        for number in [number for number, (_, until) in self._punches.items() if until <= now]:
            self._finish(number)
        for dialling in list(self._dials.values()):
            if dialling.peer_record is None and now >= dialling.began + PEER_RECORD_S:
                outputs += self.peer_record_found(dialling.peer, None, now)
            elif (due := dialling.deadline) is not None and due <= now:
                outputs += self._advance(dialling, now)
        for peer in [peer for peer, (at, _) in self._relayed.items() if at <= now]:
            step = min(self._relayed[peer][1] + 1, len(UPGRADE_S) - 1)
            self._relayed[peer] = (now + UPGRADE_S[step], step)
            if any(opened.peer == peer for opened in self._circuits.opened.values()):
                outputs += self.dial(peer, now, upgrade=True)
            else:
                del self._relayed[peer]
        return outputs

    # --- inside ------------------------------------------------------------------------------------------------------

    def _advance(self, dialling: _Dialling, now: float) -> list[CircuitsOutput]:
        outputs: list[CircuitsOutput] = []
        for number in [number for number, (_, until) in dialling.running.items() if until <= now]:
            outputs.append(CancelAttempt(number))
            self._finish(number)
        while dialling.planned and dialling.began + dialling.planned[0].after_s <= now:
            one = dialling.planned.popleft()
            number = self._number(dialling.peer)
            dialling.running[number] = (one.way, now + DIAL_S)
            outputs.append(Dial(number, dialling.peer, one.address, one.way))
        if not dialling.running and not dialling.planned and dialling.relays and not dialling.opening:
            dialling.relay_at = now if dialling.way is None else dialling.relay_at
        if dialling.relay_at is not None and dialling.relay_at <= now and dialling.relays and not dialling.opening:
            relay = dialling.relays.popleft()
            number = self._number(dialling.peer)
            dialling.opening, dialling.relay_at = True, None
            dialling.running[number] = (Way.RELAY, now + DIAL_S)
            nonce = self._random.randbytes(NONCE_BYTES)
            outputs += self._circuits.open(
                dialling.peer, relay, now, attempt=number, nonce=nonce, carry=not dialling.upgrade
            )
        if not dialling.running and not dialling.planned and dialling.relay_at is None:
            outputs += self._end(dialling, now)
        return outputs

    def _end(self, dialling: _Dialling, now: float) -> list[CircuitsOutput]:
        del self._dials[dialling.peer]
        stopped = [CancelAttempt(number) for number, (way, _) in dialling.running.items() if way is not Way.RELAY]
        for number in list(dialling.running):
            self._owners.pop(number, None)
        if dialling.way is Way.RELAY and dialling.peer not in self._relayed and len(self._relayed) < RELAYED_MAX:
            self._relayed[dialling.peer] = (now + UPGRADE_S[0], 0)
        ended = DialEnded(dialling.peer, dialling.way, "" if dialling.way is not None else dialling.reason)
        return [*stopped, *([] if dialling.upgrade and dialling.way is Way.RELAY else [ended])]

    def _number(self, peer: PeerId) -> int:
        self._attempts += 1
        self._owners[self._attempts] = peer
        return self._attempts

    def _finish(self, attempt: int) -> None:
        peer = self._owners.pop(attempt, None)
        self._punches.pop(attempt, None)
        if peer is not None and peer in self._dials:
            self._dials[peer].running.pop(attempt, None)


def _punches_in_vain() -> BackOff[PeerId]:
    return BackOff(first=PUNCH_AGAIN_S[0], longest=PUNCH_AGAIN_S[1], decay=600.0)
