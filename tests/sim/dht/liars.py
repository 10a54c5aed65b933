"""Some peers of a small world lie: wrong contacts, stale records, dropped answers.

The gain of an attacker that lies well is measured in `tests.sim.attacks`; here the others must merely stay right.
"""

from collections.abc import Callable
from random import Random
from typing import Any, Final

from msgspec.structs import replace

from core.base.ids import PEER_ID_BYTES, Contact, PeerId
from core.dht.messages import Answer, Fetch, Get, Nodes, Record, Records, Request, Store, Values
from core.dht.node import DhtNode
from tests.sim.attacks.liars import Liar, Lie
from tests.sim.dht.swarm import SEEDS_PER_PEER, DhtSwarm, Population
from tests.sim.world.datagrams import PORT
from tests.sim.world.links import chance

DROPPED: Final = 0.5
"""Share of its answers that a silent liar drops."""


def wrong_contacts(random: Random) -> Lie:
    """Names as many peers as an honest one, none of which exists."""

    def lie(asker: PeerId, request: Request, honest: Answer, now: float) -> Answer:
        del asker, request, now
        if isinstance(honest, Nodes | Values):
            return replace(honest, nodes=tuple(_nobody(random) for _ in honest.nodes))
        return honest

    return lie


def stale_records(random: Random) -> Lie:
    """Gives the first version that it has been asked to hold, whatever came later."""
    del random
    first: dict[tuple[bytes, bytes], Record] = {}

    def old(key: bytes, records: tuple[Record, ...]) -> tuple[Record, ...]:
        return tuple(first.get((key, record.subkey), record) for record in records)

    def lie(asker: PeerId, request: Request, honest: Answer, now: float) -> Answer:
        del asker, now
        match request, honest:
            case Store(key=key, record=record), _:
                first.setdefault((key, record.subkey), record)
            case Get(key=key), Values(records=records):
                return replace(honest, records=old(key, records))
            case Fetch(key=key), Records(records=records):
                return replace(honest, records=old(key, records))
            case _:
                pass
        return honest

    return lie


def dropped_answers(random: Random) -> Lie:
    """Does what it is asked, and half of the time says nothing."""

    def lie(asker: PeerId, request: Request, honest: Answer, now: float) -> Answer | None:
        del asker, request, now
        return None if random.random() < DROPPED else honest

    return lie


LIES: Final[tuple[Callable[[Random], Lie], ...]] = (wrong_contacts, stale_records, dropped_answers)


class LyingDht(DhtSwarm):
    """A swarm in which some of the answering peers are liars, each in its own way.

    Args:
        liars: The share of them; the first few peers are honest.
        options: Those of `DhtSwarm`.
    """

    def __init__(self, seed: int, population: Population, *, liars: float, **options: Any) -> None:
        self.liars: set[PeerId] = set()
        self._share = liars
        self._lying = chance(seed, "liars")
        super().__init__(seed, population, **options)

    def newcomers(self, count: int) -> list[PeerId]:
        """Make newcomers, of which some are liars."""
        new = super().newcomers(count)
        for number, peer in enumerate(new, len(self.signers) - count):
            if number >= SEEDS_PER_PEER and peer not in self.clients and self._lying.random() < self._share:
                self.liars.add(peer)
        return new

    def dressed(self, peer: PeerId, machine: DhtNode) -> Any:
        """A liar has a mouth of its own."""
        return Liar(machine, self._lying.choice(LIES)(self._lying)) if peer in self.liars else machine

    def some_seeds(self) -> list[PeerId]:
        """Seeds of a newcomer: one of them is honest, as those are whose addresses come with the program."""
        seeds = super().some_seeds()
        if seeds and self.liars.issuperset(seeds):
            honest = [peer for peer in self.servers() if peer not in self.liars]
            seeds[0] = self._lying.choice(honest or seeds)
        return seeds

    def honest(self) -> list[PeerId]:
        """Living peers that do not lie."""
        return [peer for peer in self.up if peer not in self.liars]


def _nobody(random: Random) -> Contact:
    host = f"198.51.{random.randrange(256)}.{random.randrange(256)}"
    return Contact(random.randbytes(PEER_ID_BYTES), host, PORT)
