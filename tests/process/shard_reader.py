"""A member in a process of its own that reads shards through its desk: those of peers first, then of the origin.

Usage: python -m tests.process.shard_reader LINK HOME ORIGIN [lies]

It says on stdout what it has read, as lines of JSON, and ends when stdin closes.  One that lies sends wrong bytes.
"""

import asyncio
import json
import sys
import time
import urllib.request
from pathlib import Path
from random import Random

from core.backbone.link import parse_link
from core.base.ids import short
from core.base.signing import KeyPair
from core.engine.network.clock_watch import contacts_of
from core.engine.text.data_desk import DataDesk
from core.engine.text.shard_sharing import SharedShards
from core.joining.join import Joining
from core.kept import shard_files
from core.nat.relay import RelaySettings
from core.net.clock import Clock
from core.net.limits.pace import Pace
from core.reading.desk import Desk
from core.session.participant import Role, participant_of
from core.session.session import Session
from core.session.shards import catalogue_of, exchange_of, indexes_of
from core.swarm.shards import news
from core.swarm.shards.names import ShardLied
from core.swarm.words.facts import Help
from core.system.parent_watch import watch_parent
from core.text.order.shard_index import ShardHash

READ_S = 0.5
"""How long one shard is read: a hundredth of what it takes, so news must travel faster too."""
news.PUBLISH_REST_S, news.READ_S = 0.3, 1.0
LOOPBACK = "127.0.0.1"


def say(**said):
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


class LyingFile(shard_files.DiskShardFile):
    """Says what it should, and gives something else."""

    def read(self, index):
        return bytes(len(super().read(index)))


def read_all(desk, index, origin, folder, random):
    """The test's reader: one shard after the other, each checked, those of the origin handed in."""
    left = list(range(len(index)))
    random.shuffle(left)
    counts = {"peers": 0, "origin": 0}
    while left:
        number, path = desk.next(0, left, wait_s=1.0)
        shard = index.shard(number)
        if path:
            data = Path(path).read_bytes()
        else:
            try:
                with urllib.request.urlopen(f"{origin}/{shard.name}") as answer:
                    data = answer.read()
            except OSError:  # as the real reader: it is asked again later
                time.sleep(READ_S)
                continue
        hashed = ShardHash()
        hashed.update(data)
        assert hashed.is_of(shard), "a shard is wrong"
        counts["peers" if path else "origin"] += 1
        if not path:
            fetched = folder / shard.name
            fetched.write_bytes(data)
            desk.kept(0, number, str(fetched))
            fetched.unlink()
        left.remove(number)
        time.sleep(READ_S * random.uniform(0.5, 1.5))
    say(event="done", **counts)


async def main(link_text, home, origin, lies):
    link, clock, key = parse_link(link_text), Clock(), KeyPair.generate()
    joining = Joining(link=link, key=key, folder=home, blobs=home / "blobs")
    joined = await joining.join(
        username=home.name, device="", now=clock.now, random=Random(home.name), waiting=lambda _: None
    )
    clock.correct(joined.clock_ahead_s)
    participant = participant_of(
        joined.manifest, Role(name="helper", bind=LOOPBACK, relay=RelaySettings()), keys=key, folder=home
    )
    indexes = indexes_of(joined.manifest, joined.blobs)
    if lies:
        shard_files.DiskShardFile = LyingFile
    size = indexes[0].size
    exchange, store = exchange_of(
        participant, catalogue_of(joined.manifest.id, indexes), home / "shards", budget=lambda: size // 3
    )

    def event(told, now):
        if isinstance(told, ShardLied):
            say(event="lied", peer=short(told.peer))
        shared.take(told)

    session = Session(participant, admission=joined.admission(key), clock=clock, owner=event, companions=(exchange,))
    shared = SharedShards(exchange, store, deliver=session.deliver)
    desk = DataDesk(Pace(now=clock.now), shared)
    await desk.open()
    await session.listen(bind=LOOPBACK)
    await session.join(contacts_of(joined.grant.contacts))
    session.deliver(Help(2**20))
    say(event="joined", peer=short(key.peer_id))
    stop = asyncio.Event()
    watch_parent(stop.set)
    reader = asyncio.create_task(
        asyncio.to_thread(read_all, Desk(desk.url, desk.token), indexes[0], origin, home, Random(home.name))
    )
    life = asyncio.create_task(session.run())
    await stop.wait()
    say(event="end", given=exchange.donor.given_bytes, received={short(p): n for p, n in exchange.received.items()})
    reader.cancel()
    life.cancel()
    await asyncio.gather(reader, life, return_exceptions=True)
    await desk.close()
    await session.close()


if __name__ == "__main__":
    Path(sys.argv[2]).mkdir(parents=True)
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4:] == ["lies"]))
