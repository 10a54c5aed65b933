"""The reader's questions about shards, answered with what peers share (`core.swarm.shards`)."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from core.averaging.plan import Rates
from core.base.data_desk import KeptAsk, NextAnswer, NextAsk
from core.base.ids import PeerId, short
from core.engine.installation import Installation
from core.engine.text.data_desk import OriginOnly, ShardSource, ShardTally
from core.joining.join import JoinedCollaboration
from core.kept.shard_files import DiskShardStore, is_shard
from core.session.shards import catalogue_of, exchange_of, indexes_of
from core.swarm.participant import Participant
from core.swarm.shards.exchange import ShardExchange
from core.swarm.shards.names import ShardHere, ShardKept, ShardLied, ShardsWanted, ShardsWeighed

SHARDS: Final = "shards"
"""Folder of the home, whose files are named by their digests."""
SHARED: Final = 0.5
"""Part of the disk for data that goes to shards which others may have, where there are such shards."""
GIGABYTE: Final = 10**9

_LOG = logging.getLogger(__name__)


class SharedShards:
    """Answers the reader's questions about shards with what peers share.

    Args:
        exchange: Knows what is held here, and has other shards brought.
        store: Has the files.
        deliver: Gives the exchange an event, and performs what follows.
        rates: What is known of a peer's line; None: nothing.
    """

    def __init__(
        self,
        exchange: ShardExchange,
        store: DiskShardStore,
        *,
        deliver: Callable[[Any], None],
        rates: Callable[[PeerId], Rates | None] = lambda _: None,
    ) -> None:
        self._rates = rates
        self.exchange = exchange
        self.companions = (exchange,)
        self._store = store
        self._deliver = deliver
        self._came = asyncio.Event()
        """Set when a shard has come; then another one takes its place."""

    async def next(self, ask: NextAsk) -> NextAnswer:
        """A shard that lies here; one that comes within the time that the reader has; else one of the origin."""
        source, numbers = ask.source, ask.wanted
        entries = self._store.catalogue.sources.get(source)
        if entries is None or max(numbers) >= len(entries):
            return NextAnswer(numbers[0])
        self._deliver(ShardsWeighed())  # the person may have given less of the disk to data
        self._deliver(ShardsWanted(source, numbers))
        seed = self.exchange.to_seed(source, numbers) if ask.wait_s else None
        if seed is not None:
            return NextAnswer(seed)
        number = self.exchange.lying(source, numbers)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ask.wait_s):
                while number is None and self.exchange.comes(source):
                    await self._came.wait()
                    number = self.exchange.lying(source, numbers)
        if number is None:
            return NextAnswer(self.exchange.from_origin(source, numbers))
        name = self._store.catalogue.first(source, number)
        digest = entries[number].digest
        path = self._store.path(digest)
        if not await asyncio.to_thread(is_shard, path, digest):  # what a power cut left, or a disk that forgets
            self.exchange.lose(name)
            return await self.next(ask)
        return NextAnswer(number, str(path))

    async def keep(self, ask: KeptAsk) -> bool:
        """Keep a copy of a shard from the origin, if it is that shard and worth its room."""
        entries = self._store.catalogue.sources.get(ask.source)
        if entries is None or ask.shard >= len(entries):
            return False
        name = self._store.catalogue.first(ask.source, ask.shard)
        if not self.exchange.keeps(name):
            return False
        if not await asyncio.to_thread(self._store.copy_in, entries[ask.shard], Path(ask.path)):
            self.exchange.shelf.release(name)
            return False
        self._deliver(ShardKept(name))
        return True

    def credits(self, peers: Iterable[PeerId], now: float) -> Mapping[PeerId, int]:
        """Bytes of shards that these have given to others today, as these say and as can be true."""
        return self.exchange.credit.credits(peers, self._rates, now)

    def take(self, event: object) -> bool:
        """Take in what the exchange reports; False: it is not about shards."""
        match event:
            case ShardHere():
                self._came.set()
                self._came = asyncio.Event()
            case ShardLied(name=name, peer=peer):
                _LOG.warning("%s sent wrong bytes of shard %d", short(PeerId(peer)), name.number)
            case _:
                return False
        return True

    @property
    def tally(self) -> ShardTally:
        """What is shared at this moment."""
        shelf = self.exchange.shelf
        whole = sum(shelf.catalogue.entry(name).size_bytes for name in shelf.held)
        return ShardTally(whole, self.exchange.donor.given_bytes)


def shared_shards(
    joined: JoinedCollaboration,
    participant: Participant,
    installation: Installation,
    *,
    deliver: Callable[[Any], None],
) -> ShardSource:
    """What shares shards in a session; only the origin, where the collaboration lists none that could be checked.

    Args:
        joined: The collaboration.
        participant: This peer.
        installation: Says where shards are kept, and how much of the disk they may take.
        deliver: Gives the session an event.

    Raises:
        Damaged: a list of shards is not what the manifest names.
        BadInput: a list of shards is of another version.
    """
    indexes = indexes_of(joined.manifest, joined.blobs)
    if not indexes:
        return OriginOnly()
    preferences = installation.preferences
    exchange, store = exchange_of(
        participant,
        catalogue_of(joined.manifest.id, indexes),
        installation.options.home.directory / SHARDS,
        budget=lambda: int(SHARED * GIGABYTE * preferences.settings.disk_gigabytes),
    )
    lines = participant.rounds.lines
    return SharedShards(exchange, store, deliver=deliver, rates=lambda peer: lines.known([peer]).lines.get(peer))
