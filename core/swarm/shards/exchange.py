"""Shares shards with other members: finds the rarest of those that are wanted, fetches it, and gives what it has.

S000, appendix H, which its authors left to future work; `docs/protocols/shards.md` tells what each message costs.  A
peer has the next few shards that its reader wants brought while the reader is busy with another one.  Whatever peers
cannot give in time the reader takes from the origin, so a swarm that has no shards, or lies, is no worse than none.
"""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any, ClassVar, Final

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Tick, Trace, earliest
from core.dht.events import Found
from core.dht.node import DhtNode
from core.swarm.shards.downloads import ShardDownloads, WantedShards
from core.swarm.shards.giving import ShardDonor
from core.swarm.shards.holder_book import HolderBook
from core.swarm.shards.names import (
    OwnRounds,
    ShardFact,
    ShardHere,
    ShardKept,
    ShardName,
    ShardOutput,
    ShardStore,
    ShardsWanted,
    ShardsWeighed,
)
from core.swarm.shards.news import ShardNews
from core.swarm.shards.shelf import ShardShelf
from core.swarm.shards.thanks import ShardCredit
from core.swarm.words.messages import SHARD_FILES, SHARD_MESSAGES

SEED: Final = 0.1
"""Part of the shards without a holder that all readers together read from the origin in one turn.

It is small, since word of a new copy takes as long as several turns: more would read the same ones at once."""


class ShardExchange:
    """Fetches the shards that the reader wants from other members, the rarest first, and gives its own.

    Args:
        me: This peer.
        store: The shards on this computer.
        directory: The DHT.
        random: Draws among shards and peers.
        trace: Counts what others do wrong.
        rounds: This peer's.
    """

    BOOK: ClassVar[type[HolderBook]] = HolderBook
    """Says which shard is to come, and which is to go."""
    TAKES: ClassVar[tuple[type, ...]] = (*SHARD_MESSAGES, ShardsWanted, ShardKept, ShardsWeighed)
    """Classes of messages and events."""

    def __init__(
        self,
        me: PeerId,
        *,
        store: ShardStore,
        directory: DhtNode,
        random: Random,
        trace: Trace,
        rounds: OwnRounds,
    ) -> None:
        self._random = random
        self.trace = trace
        catalogue = store.catalogue
        self._names = {
            source: [catalogue.names[entry.digest] for entry in entries]
            for source, entries in catalogue.sources.items()
        }
        """First names of the shards of each source, by their numbers."""
        self._book = self.BOOK({source: len(names) for source, names in self._names.items()})
        self.shelf = ShardShelf(store, book=self._book, random=random)
        """What is held here."""
        self._wishes = WantedShards()
        self.donor = ShardDonor(self.shelf, store, rounds=rounds, trace=trace)
        """Gives to others."""
        members = rounds.members
        self._news = ShardNews(
            me, shelf=self.shelf, book=self._book, directory=directory, members=members, random=random
        )
        self._downloads = ShardDownloads(
            store, shelf=self.shelf, book=self._book, wishes=self._wishes, random=random, trace=trace
        )
        self._downloads.members = members
        self.credit = ShardCredit(
            me,
            run=catalogue.run,
            data_bytes=sum(catalogue.entry(name).size_bytes for name in catalogue.names.values()),
            directory=directory,
            received=self._downloads.received,
            random=random,
        )
        """What members say to have got from whom."""

    # --- for the reader's desk ---------------------------------------------------------------------------------------

    def lying(self, source: int, numbers: Sequence[int]) -> int | None:
        """The first of these shards that lies here, which stays for now; None: none does."""
        names = self._names[source]
        lies = next((number for number in numbers if names[number] in self.shelf.held), None)
        self._downloads.hungry = lies is None
        if lies is not None:
            self._taken(source, lies)
        return lies

    def comes(self, source: int) -> bool:
        """Whether a shard that is wanted for the source is on its way."""
        return any(name in self._downloads.coming for name in self._wishes.of(source))

    def to_seed(self, source: int, numbers: Sequence[int]) -> int | None:
        """One of these shards that nobody has, if this peer is to read it from the origin, for all; else None.

        To be asked while another one lies here.  Where the disks of all together are too small for all shards, nobody
        reads one from the origin only to lose the last copy of another.
        """
        names, count = self._names[source], self._book.count
        missing = [number for number in numbers if not count(names[number]) and names[number] not in self.shelf]
        chance = SEED * sum(not count(name) for name in names) / (1 + self._news.peers) if missing else 0.0
        if self._random.random() >= chance:
            return None
        number = self._random.choice(missing)
        if not self.shelf.is_worth(names[number]):
            return None
        self._taken(source, number)
        return number

    def from_origin(self, source: int, numbers: Sequence[int]) -> int:
        """Which of these shards to read from the origin: one that the fewest have, and nobody sends just now."""
        names = self._names[source]
        open_to = [number for number in numbers if names[number] not in self._downloads.coming]
        by_name = {names[number]: number for number in open_to or numbers}
        chosen = self._book.rarest(by_name, self._random)
        assert chosen is not None
        self._taken(source, by_name[chosen])
        return by_name[chosen]

    def keeps(self, name: ShardName) -> bool:
        """Make room for a shard that was read from the origin; False: it is not worth what would have to go for it."""
        if name in self.shelf or not self.shelf.is_worth(name):
            return False
        return self.shelf.reserve(name, is_wanted=self._wishes.__contains__)

    def lose(self, name: ShardName) -> None:
        """A shard's file turned out to be gone or damaged; the others are told with the next event."""
        self.donor.lost.append(name)

    @property
    def received(self) -> Counter[PeerId]:
        """Bytes of checked chunks that each peer has given to this one."""
        return self._downloads.received

    # --- the machine -------------------------------------------------------------------------------------------------

    def start(self, now: float) -> None:
        """Tell the others what an earlier run left here."""
        self.credit.start(now)
        if self.shelf.held:
            self._news.changed(now)

    @property
    def deadline(self) -> float | None:
        """When the first of its parts has something to do."""
        return earliest(self._news.deadline, self.donor.deadline, self._downloads.deadline, self.credit.deadline)

    def handle(self, event: Received[Any] | Tick | Lost | ShardFact, now: float) -> Sequence[ShardOutput]:
        """Messages, time, lost peers and what its owner tells move it on."""
        outputs: list[ShardOutput] = []
        match event:
            case Received(message=message) if isinstance(message, SHARD_FILES.asks):
                outputs += self.donor.handle(event, now)
            case Received():
                outputs += self._downloads.answered(event, now)
            case ShardsWanted(source=source, numbers=numbers) if source in self._names:
                names = self._names[source]
                self._wishes.want(source, [names[number] for number in numbers if number < len(names)])
                self._news.follow(now)
                self._downloads.look_soon(now)
            case ShardKept(name=name):
                self.shelf.add(name)
                self._news.changed(now)
            case ShardsWeighed():
                if self.shelf.trim():
                    self._news.changed(now)
            case Tick() | Lost():
                outputs += [
                    *self._news.tick(now),
                    *self.credit.tick(now),
                    *self.donor.handle(event, now),
                    *self._downloads.passed(event, now),
                ]
        self._check_lost(now)
        outputs += self._downloads.look(now)
        if any(isinstance(output, ShardHere) for output in outputs):
            self._news.changed(now)
        return outputs

    def found(self, found: Found, now: float) -> Sequence[ShardOutput] | None:
        """What follows from holdings, or thanks, that were read; None: nobody asked for this key here."""
        if self.credit.found(found, now):
            return []
        if not self._news.found(found, trace=self.trace):
            return None
        self._downloads.look_soon(now)
        return self._downloads.look(now)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _check_lost(self, now: float) -> None:
        """Forget shards whose files turned out to be gone or damaged."""
        for name in self.donor.lost:
            self.trace.mark("shards.lost")
            self.shelf.lose(name)
            self._news.changed(now)
        self.donor.lost.clear()

    def _taken(self, source: int, number: int) -> None:
        name = self._names[source][number]
        self.shelf.pin(source, name)
        self._wishes.met(source, name)
