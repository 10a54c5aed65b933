"""What must hold in a small DHT world: every value read is one that was written, and what is held is found."""

from collections import Counter
from random import Random
from typing import Final

from core.base.ids import Key, PeerId, distance, hashed_key, node_key
from core.dht.messages import Record
from core.dht.settings import DhtSettings
from tests.sim.checkers import CheckFailed
from tests.sim.dht.liars import LyingDht
from tests.sim.dht.swarm import TimedOperation
from tests.sim.probes import reachable_bytes

KEYS: Final = 6
LONG_S: Final = 600.0
ENDED_S: Final = 12.0
HELD_BY_LEAST: Final = 3
"""Number of nearest peers with a record from which every peer must find it once the world is calm."""
NEAREST_MISSED_MAX: Final = 1
"""Number of nearest peers that may lack a record just stored: two datagrams in a row may get lost."""
LOSSY: Final = 0.02
NEAREST_MISSED_MAX_LOSSY: Final = 3
"""Where more datagrams than `LOSSY` get lost: with 5 %, each of the nearest is missed by one store of a hundred."""
NODE_BYTES_MAX: Final = 1024 * 1024
LATE_S: Final = 0.001


class DhtJudge:
    """Writes and reads in a DHT, and knows what must come of it.

    Args:
        swarm: The DHT.
        settings: Of its nodes.
        random: Draws who reads.
        loss: Share of datagrams that get lost.
        skew_s: How far clocks are off at most.
    """

    def __init__(self, swarm: LyingDht, settings: DhtSettings, *, random: Random, loss: float, skew_s: float) -> None:
        self._swarm = swarm
        self._settings = settings
        self._random = random
        self._nearest_missed_max = NEAREST_MISSED_MAX if loss <= LOSSY else NEAREST_MISSED_MAX_LOSSY
        self._skew_s = skew_s
        self._written: dict[tuple[Key, PeerId], list[tuple[float, bytes]]] = {}
        """Each owner's values under each key, in the order of writing, with the true time of their end."""
        self._reading: list[tuple[TimedOperation, float]] = []
        self.stored = self.read = self.found = self.lost = 0

    def store(self, peer: PeerId, key: Key, lifetime_s: float) -> TimedOperation:
        """A peer writes, or overwrites, its value under a key."""
        earlier = self._written.setdefault((key, peer), [])
        value = b"%d of %s" % (len(earlier), peer.hex()[:8].encode())
        ends = max([self._swarm.world.now + lifetime_s, *(end for end, _ in earlier)])
        earlier.append((ends, value))
        self.stored += 1
        return self._swarm.store(peer, key, value, lifetime_s=lifetime_s)

    def get(self, peer: PeerId, key: Key, *, quorum: int | None) -> None:
        """A peer reads what lies under a key, which is checked once it has its answer."""
        operation = self._swarm.get(peer, key, quorum=quorum)
        self._reading.append((operation, self._swarm.world.nodes[peer].skew_s))

    def check_reads(self) -> None:
        """Check that each record read was written by its owner, is the only one of its subkey, and has not expired."""
        for operation, skew_s in self._reading:
            if operation.ended is None:
                continue
            self.read += 1
            subkeys = [record.subkey for record in operation.records]
            if len(subkeys) != len(set(subkeys)):
                self._fail(f"two records of one subkey under {operation.key.hex()[:8]}")
            for record in operation.records:
                self._check_record(operation.key, record)
                if record.expires_ms / 1000 < operation.ended + skew_s - LATE_S:
                    late_s = operation.ended + skew_s - record.expires_ms / 1000
                    self._fail(f"a value was given {late_s:.3f} s after it had expired by the reader's clock")
        self._reading = [(operation, skew_s) for operation, skew_s in self._reading if operation.ended is None]

    def _check_record(self, key: Key, record: Record) -> None:
        owner = PeerId(record.subkey)
        if record.value not in {value for _, value in self._written.get((key, owner), ())}:
            self._fail(f"{record.value!r} was read under {key.hex()[:8]}, its owner never wrote it")

    def judge(self) -> None:
        """All is calm: what several living peers hold is found, in its newest form, by everybody."""
        swarm, random = self._swarm, self._random
        for number in range(KEYS):
            key = key_of(number)
            holders = self._holders(key)
            operation = swarm.get(random.choice(swarm.honest()), key)
            swarm.world.run(ENDED_S)
            if operation.ended is None:
                self._fail("a get in a calm world did not end")
            given = {PeerId(record.subkey): record.value for record in operation.records}
            for (where, owner), versions in self._written.items():
                if where != key or versions[-1][0] < swarm.world.now + 2 * self._skew_s:
                    continue
                self._judge_one(owner, versions[-1][1], given.get(owner), holders)
        self._judge_nearest()
        size = max(reachable_bytes(swarm.machine(peer)) for peer in swarm.honest()[:2])
        if size > NODE_BYTES_MAX:
            self._fail(f"a node holds {size} bytes")

    def _judge_one(
        self, owner: PeerId, newest: bytes, given: bytes | None, holders: dict[tuple[PeerId, bytes], int]
    ) -> None:
        held_by = holders.get((owner, newest), 0)
        if given == newest:
            self.found += 1
        elif held_by >= HELD_BY_LEAST:
            self._fail(f"{newest!r} is held by {held_by} of the nearest peers, a reader was given {given!r}")
        else:
            self.lost += 1

    def _judge_nearest(self) -> None:
        """A value that is stored over another now lies with the peers that are truly nearest, found by brute force."""
        swarm, key = self._swarm, hashed_key(b"calm", self._swarm.world.seed.to_bytes(8, "big"))
        writer = self._random.choice(swarm.honest())
        for _ in range(2):
            operation = self.store(writer, key, LONG_S)
            swarm.world.run(ENDED_S)
            if operation.ended is None or not operation.replicas:
                self._fail("a store in a calm world did not end, or nobody holds it")
        newest = self._written[key, writer][-1][1]
        servers = sorted(swarm.servers(), key=lambda peer: distance(node_key(peer), key))
        nearest = servers[: self._settings.replicas]
        asked = [peer for peer in nearest if peer not in swarm.liars]
        lacking = [
            peer
            for peer in asked
            if newest not in {record.value for record in swarm.machine(peer).records.get(key, swarm.world.now).values()}
        ]
        if len(lacking) > self._nearest_missed_max:
            self._fail(f"{len(lacking)} of the {len(asked)} peers nearest to a key lack the record just stored there")

    def _holders(self, key: Key) -> dict[tuple[PeerId, bytes], int]:
        """How many of the peers that a reader asks, the truly nearest ones, hold each value under the key.

        Liars hold nothing.
        """
        held: Counter[tuple[PeerId, bytes]] = Counter()
        servers = sorted(self._swarm.servers(), key=lambda peer: distance(node_key(peer), key))
        for peer in servers[: self._settings.read_width]:
            if peer in self._swarm.liars:
                continue
            node = self._swarm.world.nodes[peer]
            for record in self._swarm.machine(peer).records.get(key, node.local(self._swarm.world.now)).values():
                held[PeerId(record.subkey), record.value] += 1
        return dict(held)

    def _fail(self, text: str) -> None:
        raise CheckFailed(self._swarm.world.seed, self._swarm.world.elapsed_s, text)


def key_of(number: int) -> Key:
    """Return the point of one of the keys that peers share."""
    return hashed_key(b"small", bytes([number]))
