"""Brings wanted shards from other members: the rarest first, each from several holders, checked chunk by chunk."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from random import Random
from typing import Any, Final

from core.base.back_off import BackOff
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Tick, Trace, earliest
from core.swarm.catching_up.donor import PastMembers
from core.swarm.catching_up.fetch import FileFetch, Why
from core.swarm.shards.holder_book import HolderBook
from core.swarm.shards.names import ShardHere, ShardLied, ShardName, ShardOutput, ShardStore
from core.swarm.shards.shelf import ShardShelf
from core.swarm.words.messages import SHARD_FILES, StateDenied
from core.swarm.words.outputs import Fetched, FetchFailed, Fetching

AHEAD: Final = 4
"""Number of wanted shards that lie here, or come, before the reader asks for them, at most."""
AHEAD_ROOM: Final = 5
"""Unless the reader waits they take at most the room divided by this: the rest is what is kept for others."""
FETCHES_MAX: Final = 4
"""Number of shards that come at a time."""
LOOK_S: Final = 2.0
"""Seconds between two looks for holders, while something is wanted that nobody sends."""
REST_S: Final = (4.0, 300.0)
"""First and longest rest of a peer that was silent, and of a shard that nobody gave."""
FULL_S: Final = (2.0, 16.0)
"""The same of a peer that has no place for one more, or whose line was lost: that is not an offence."""
LIED: Final = 6
"""Number of failures that a wrong chunk counts for: its digest proves it, so the first rest is 128 s."""
DECAY_S: Final = 1800.0


class WantedShards:
    """The reader's wishes, by source; the newest ones of a source take the place of those before."""

    def __init__(self) -> None:
        self._wanted: dict[int, dict[ShardName, None]] = {}

    def __contains__(self, name: ShardName) -> bool:
        return any(name in wanted for wanted in self._wanted.values())

    def __iter__(self) -> Iterator[ShardName]:
        return (name for wanted in self._wanted.values() for name in wanted)

    def want(self, source: int, names: Iterable[ShardName]) -> None:
        """The reader wants these shards for a source, and no others."""
        self._wanted[source] = dict.fromkeys(names)

    def of(self, source: int) -> Collection[ShardName]:
        """The shards that are wanted for a source."""
        return self._wanted.get(source, {})

    def met(self, source: int, name: ShardName) -> None:
        """The reader has the shard for a source, or gets it from the origin."""
        self._wanted.get(source, {}).pop(name, None)


class ShardDownloads:
    """The downloads of one peer, and what it holds against those that gave nothing, or something else.

    Args:
        store: Where shards are put together.
        shelf: Has room for them, or makes it.
        book: Who holds which shard.
        wishes: What the reader wants.
        random: Draws among shards and peers.
        trace: Counts what others do wrong.
    """

    def __init__(
        self,
        store: ShardStore,
        *,
        shelf: ShardShelf,
        book: HolderBook,
        wishes: WantedShards,
        random: Random,
        trace: Trace,
    ) -> None:
        self._store = store
        self._shelf = shelf
        self._book = book
        self._wishes = wishes
        self.members = PastMembers()
        """Who was in rounds with this peer: they are asked first, for anybody can make up keys."""
        self._random = random
        self._trace = trace
        self.coming: dict[ShardName, FileFetch[ShardName]] = {}
        """The downloads that go on."""
        self._judged: set[tuple[ShardName, PeerId]] = set()
        """Donors of these that were held to what they did."""
        self._peers = BackOff[PeerId](first=REST_S[0], longest=REST_S[1], decay=DECAY_S, random=random)
        self._full = BackOff[PeerId](first=FULL_S[0], longest=FULL_S[1], decay=FULL_S[1], random=random)
        self._shards = BackOff[ShardName](first=REST_S[0], longest=REST_S[1], decay=DECAY_S, random=random)
        self.hungry = False
        """Whether the reader has nothing to read."""
        self._look_at: float | None = None
        self.received: Counter[PeerId] = Counter()
        """Bytes of checked chunks that each peer has given to this one."""

    @property
    def deadline(self) -> float | None:
        """When patience with a donor ends, or when to look for holders again."""
        return earliest(self._look_at, *(fetch.deadline for fetch in self.coming.values()))

    def answered(self, event: Received[Any], now: float) -> list[ShardOutput]:
        """A donor has said or given something."""
        sender, message = event.sender, event.message
        name = self._shelf.catalogue.names.get(message.digest)
        fetch = None if name is None else self.coming.get(name)
        if name is None or fetch is None:
            self._trace.mark("shards.drop.unasked")
            return []
        if isinstance(message, StateDenied) and sender in fetch.donors:
            if message.retry_after_s:
                self._full.fail(sender, now)
            else:
                self._book.lacks(sender, name)
        return self._follow(name, fetch.handle(event, now), now)

    def passed(self, event: Tick | Lost, now: float) -> list[ShardOutput]:
        """Time has gone on, or a peer is lost."""
        fetches = list(self.coming.items())
        return [output for name, fetch in fetches for output in self._follow(name, fetch.handle(event, now), now)]

    def look_soon(self, now: float) -> None:
        """Something has changed: others are wanted, or held."""
        self._look_at = now

    def look(self, now: float) -> list[ShardOutput]:
        """Ask further holders, and have more shards brought, when something has changed or every `LOOK_S`."""
        if self._look_at is None or now < self._look_at:
            return []
        outputs: list[ShardOutput] = []
        for name, fetch in self.coming.items():
            outputs += fetch.ask_also(self._draw(name, now), now)
        while len(self.coming) < FETCHES_MAX and (begun := self._begin(now)):
            outputs += begun
        missing = any(name not in self._shelf.held for name in self._wishes)
        self._look_at = now + LOOK_S * self._random.uniform(0.8, 1.2) if missing or self.coming else None
        return outputs

    # --- inside ------------------------------------------------------------------------------------------------------

    def _follow(self, name: ShardName, outputs: Sequence[ShardOutput], now: float) -> list[ShardOutput]:
        """Take what a download reports, and hold against its donors what they did."""
        said: list[ShardOutput] = list(self._judge(name, now))
        for output in outputs:
            match output:
                case Fetching():
                    pass
                case Fetched() | FetchFailed():
                    said += self._ended(name, now, whole=isinstance(output, Fetched))
                case _:
                    said.append(output)
        return said

    def _judge(self, name: ShardName, now: float) -> list[ShardLied]:
        lied: list[ShardLied] = []
        for peer, why in self.coming[name].gone.items():
            if (name, peer) in self._judged:
                continue
            self._judged.add((name, peer))
            match why:
                case Why.WRONG | Why.OTHER:
                    self._trace.mark("shards.lied")
                    self._peers.fail(peer, now, times=LIED)
                    self._book.forget(peer)
                    lied.append(ShardLied(name, peer))
                case Why.SILENT:
                    self._peers.fail(peer, now)
                case Why.LOST:
                    self._full.fail(peer, now)
        return lied

    def _ended(self, name: ShardName, now: float, *, whole: bool) -> list[ShardOutput]:
        fetch = self.coming.pop(name)
        self._judged = {(other, peer) for other, peer in self._judged if other != name}
        self._look_at = now
        self.received.update(fetch.given)
        for peer in fetch.given:
            if peer not in fetch.gone:
                self._peers.succeed(peer, now)
        if not whole:
            self._trace.mark("shards.fetch.failed")
            self._shelf.release(name)
            self._shards.fail(name, now)
            return []
        self._shards.clear(name)
        self._shelf.add(name)
        return [ShardHere(name)]

    def _begin(self, now: float) -> list[ShardOutput]:
        """Begin to fetch the rarest wanted shard that somebody gives; empty: there is none, or enough lies here."""
        if self._is_ahead():
            return []
        open_to = [
            name
            for name in self._wishes
            if name not in self._shelf and self._book.count(name) and not self._shards.is_excluded(name, now)
        ]
        while (name := self._book.rarest(open_to, self._random)) is not None:
            donors = self._draw(name, now)
            if donors:
                break
            open_to.remove(name)
        if name is None or not self._shelf.reserve(name, is_wanted=self._wishes.__contains__):
            return []
        entry = self._store.catalogue.entry(name)
        fetch = FileFetch[ShardName](
            sink=self._store.sink(entry.digest),
            trace=self._trace,
            words=SHARD_FILES,
            chunk_bytes=self._store.catalogue.chunk_bytes,
        )
        self.coming[name] = fetch
        return list(fetch.fetch(name, entry.digest, donors, now, size=entry.size_bytes))

    def _is_ahead(self) -> bool:
        """Whether enough lies here, or comes, that the reader has still to read."""
        names = [name for name in (*self._shelf.held, *self.coming) if name in self._wishes]
        if self.hungry or not names:
            return len(names) >= AHEAD
        sizes = [self._store.room_bytes(self._shelf.catalogue.entry(name).digest) for name in names]
        return len(names) >= AHEAD or AHEAD_ROOM * (sum(sizes) + max(sizes)) > self._store.budget_bytes

    def _draw(self, name: ShardName, now: float) -> list[PeerId]:
        """Some holders of a shard, which give nothing else to this peer just now."""
        asked = {peer for other, fetch in self.coming.items() if other != name for peer in fetch.donors}
        holders = [
            peer
            for peer in self._book.holders(name)
            if peer not in asked and not self._peers.is_excluded(peer, now) and not self._full.is_excluded(peer, now)
        ]
        drawn: list[PeerId] = []
        for is_member in (True, False):
            some = [peer for peer in holders if (peer in self.members) is is_member]
            drawn += self._random.sample(some, min(len(some), SHARD_FILES.donors - len(drawn)))
        return drawn
