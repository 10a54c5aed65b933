"""A DHT with honest peers and hostile ones, and what becomes of the honest peers' lookups."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.base.ids import Contact, Key, PeerId, hashed_key
from core.base.machine import Trace
from core.base.signing import Verifier
from core.dht.node import DhtNode
from core.dht.settings import DhtSettings
from tests.sim.attacks.liars import Gang, Liar, Lie
from tests.sim.dht.swarm import DhtSwarm, Population, TimedOperation
from tests.sim.world.datagrams import PORT
from tests.sim.world.links import LinkSettings
from tests.sim.world.signing import SimSigner, SimVerifier

SETTLE_S = 20.0
PATIENCE_S = 12.0
"""After the last call; a lookup ends after 10 s."""
CALLS_AT_ONCE = 10
CALLS_EVERY_S = 0.5
LIFETIME_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How large a simulated attack is."""

    peers: int = 250
    hostile: float = 0.2
    """Share of the peers."""
    seed: int = 1
    lookups: int = 150

    @property
    def hostile_peers(self) -> int:
        """Number of hostile peers in the swarm."""
        return round(self.peers * self.hostile)

    @property
    def honest_peers(self) -> int:
        """Number of honest peers in the swarm."""
        return self.peers - self.hostile_peers


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackOutcome:
    """Figures of one attack, with or without its defence."""

    attack: str
    defence: str
    """The defence that is switched on or off."""
    on: bool
    """Whether it did."""
    scale: Scale
    lookups: int
    succeeded: float
    """Share of the lookups that gave the newest value that was stored, and nothing false beside it."""
    harm: float
    harm_is: str
    """Name of the count `harm`."""


class HostileDht(DhtSwarm):
    """A DHT of honest peers that hostile ones invade.

    Args:
        scale: Numbers of peers and lookups.
        settings: Of the honest peers.
        verifier: Verifies signatures for the honest peers.
    """

    def __init__(
        self,
        scale: Scale,
        settings: DhtSettings,
        *,
        links: LinkSettings | None = None,
        verifier: Verifier | None = None,
    ) -> None:
        super().__init__(scale.seed, Population(peers=scale.honest_peers), settings=settings, links=links)
        self.gang = Gang()
        self._verifier = verifier or SimVerifier()

    def begin(self, peer: PeerId, seeds: Sequence[PeerId]) -> None:
        """Start an honest peer in the world."""
        machine = self._node(self.signers[peer], self.settings)

        def on_event(event: Any, now: float) -> tuple[()]:
            del now
            self._heard(peer, event)
            return ()

        self.up[peer] = None
        self._join(peer, machine, machine, seeds, on_event=on_event)

    def invade(self, contacts: Iterable[Contact], lie: Lie | None = None) -> None:
        """Let hostile peers live at these addresses; with no lie, they answer honestly."""
        for contact in contacts:
            self.gang.members.append(contact)
            node = self._node(SimSigner(contact.peer_id), DhtSettings())
            machine = node if lie is None else Liar(node, lie)
            self._join(contact.peer_id, machine, node, self.some_seeds(), host=contact.host)

    def join_and_invade(self, contacts: Sequence[Contact], lie: Lie | None = None) -> None:
        """Honest and hostile peers come side by side."""
        waiting = list(contacts)
        for there in self.join_all():
            share = there / len(self.signers)
            come = round(share * len(contacts)) - (len(contacts) - len(waiting))
            self.invade(waiting[:come], lie)
            del waiting[:come]
        self.world.run(SETTLE_S)

    def write(self, keys: Iterable[Key], value: Callable[[Key], bytes] = bytes) -> dict[Key, bytes]:
        """Honest peers store a value under each key, one after the other."""
        written = {}
        for key in keys:
            written[key] = value(key)
            self.store(self.random.choice(list(self.up)), key, written[key], lifetime_s=LIFETIME_S)
        self.world.run(PATIENCE_S)
        return written

    def read(self, keys: Sequence[Key], count: int, *, quorum: int | None = None) -> list[TimedOperation]:
        """Honest peers chosen at random read keys in turn."""
        operations = []
        for number in range(count):
            reader = self.random.choice(list(self.up))
            operations.append(self.get(reader, keys[number % len(keys)], quorum=quorum))
            if number % CALLS_AT_ONCE == CALLS_AT_ONCE - 1:
                self.world.run(CALLS_EVERY_S)
        self.world.run(PATIENCE_S)
        return operations

    def hostile_share_of_tables(self) -> float:
        """Share of hostile peers among the contacts that honest ones know."""
        hostile = {contact.peer for contact in self.gang.members}
        known = [contact.peer in hostile for peer in self.up for contact in self.machine(peer).contacts]
        return sum(known) / max(len(known), 1)

    def _node(self, signer: SimSigner, settings: DhtSettings) -> DhtNode:
        trace = self.traces[signer.peer_id] = Trace()
        return DhtNode(
            signer=signer,
            verifier=self._verifier,
            random=self.world.chance(f"node {signer.peer_id.hex()}"),
            settings=settings,
            trace=trace,
        )

    def _join(self, peer: PeerId, machine: Any, node: DhtNode, seeds: Sequence[PeerId], **options: Any) -> None:
        place = self.world.add(peer, machine, **options)
        contacts = [Contact(seed, self.world.nodes[seed].host, PORT) for seed in seeds if seed != peer]
        for contact in contacts:
            place.known.add(contact.peer_id)
        self.world.driver.perform(place, node.bootstrap(contacts, place.local(self.world.now)))


def some_keys(count: int) -> list[Key]:
    """Make `count` keys to store under."""
    return [hashed_key(b"attacked", number.to_bytes(4, "big")) for number in range(count)]


def share_true(operations: Sequence[TimedOperation], written: Mapping[Key, bytes], *, of: int | None = None) -> float:
    """Share of the reads, or of `of`, that ended with exactly the written value."""
    good = sum([record.value for record in one.records] == [written[one.key]] for one in operations)
    return good / max(len(operations) if of is None else of, 1)


def share_false(operations: Sequence[TimedOperation], written: Mapping[Key, bytes]) -> float:
    """Share of the reads that gave a value that was not, or is no longer, written."""
    bad = sum(any(record.value != written[one.key] for record in one.records) for one in operations)
    return bad / max(len(operations), 1)


def quick(operations: Sequence[TimedOperation], seconds: float) -> list[TimedOperation]:
    """Operations that ended within `seconds` of their beginning."""
    return [one for one in operations if one.seconds is not None and one.seconds <= seconds]


def slowest_s(operations: Sequence[TimedOperation], share: float = 0.95) -> float:
    """Quantile `share` of the durations, seconds; an operation that never ended counts as the patience."""
    seconds = sorted(one.seconds if one.seconds is not None else PATIENCE_S for one in operations)
    return seconds[min(int(share * len(seconds)), len(seconds) - 1)] if seconds else 0.0
