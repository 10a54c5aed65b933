"""Records that are not what they should be, from hostile peers next to a key, or stored by one who owns no limit.

*Replay*: an earlier record of the owner, truly signed and not yet expired.  *Forgery*: a record in the owner's name,
newer than the owner's and as large as may be, with a made-up signature.  *Stuffing*: true records of one hostile
peer's own, under the keys of others, until the holders' room for these keys is used up.  *Promises*: an index without
end of records that nobody has.
"""

from dataclasses import replace

from core.base.ids import Key, PeerId
from core.base.signing import SIGNATURE_BYTES
from core.dht.messages import (
    TAG_BYTES,
    VALUE_BYTES_MAX,
    Answer,
    Cache,
    Fetch,
    Get,
    Record,
    Records,
    Request,
    Store,
    Stored,
    Values,
)
from core.dht.readwrite import Put
from core.dht.settings import DhtSettings
from tests.sim.attacks.hostile_dht import (
    LIFETIME_S,
    PATIENCE_S,
    AttackOutcome,
    HostileDht,
    Scale,
    share_false,
    share_true,
    slowest_s,
    some_keys,
)
from tests.sim.attacks.liars import Lie, contacts_of, ground_ids, many_networks

PER_KEY = 3
"""Hostile peers next to each key: fewer than a reader asks."""
KEYS_MAX = 20
STUFFED_KEYS = 4
ROOM = 100
"""Records that a holder keeps under one key, in the DHT with stuffed keys."""
NODES_NAMED = 4
CLAIMS = 30
"""Entries on a page of an index."""
CLAIMED_BYTES = 200


class Gullible:
    """A verifier that accepts any signature."""

    def verify(self, peer: PeerId, signature: bytes, data: bytes) -> bool:
        """Accept the signature without looking at it."""
        del peer, signature, data
        return True


def replay(scale: Scale, *, on: bool) -> AttackOutcome:
    """Holders give an owner's earlier record; against it, all of the nearest are asked and not only the first."""
    swarm, keys = _besieged(scale, gives(first=True))
    owners = {key: swarm.random.choice(list(swarm.up)) for key in keys}
    _store(swarm, owners, b"old")
    written = _store(swarm, owners, b"new")
    reads = swarm.read(keys, scale.lookups, quorum=None if on else 1)
    return AttackOutcome(
        attack="replayed records",
        defence="several holders are asked, the later expiration wins",
        on=on,
        scale=scale,
        lookups=len(reads),
        succeeded=share_true(reads, written),
        harm=share_false(reads, written),
        harm_is="share of lookups that gave an earlier value",
    )


def forgery(scale: Scale, *, on: bool) -> AttackOutcome:
    """Holders give records in the owner's name that it never made; against it, signatures are looked at."""
    swarm, keys = _besieged(scale, gives(first=False), gullible=not on)
    written = _store(swarm, {key: swarm.random.choice(list(swarm.up)) for key in keys}, b"true")
    reads = swarm.read(keys, scale.lookups)
    return AttackOutcome(
        attack="forged records",
        defence="records are signed by their owner",
        on=on,
        scale=scale,
        lookups=len(reads),
        succeeded=share_true(reads, written),
        harm=share_false(reads, written),
        harm_is="share of lookups that gave a forged value",
    )


def stuffing(scale: Scale, *, on: bool) -> AttackOutcome:
    """One peer fills the keys of others with the largest records there are; against it, limits for each owner."""
    limit = DhtSettings().records_per_owner_and_key
    settings = DhtSettings(
        records_per_key=ROOM,
        records_per_owner=STUFFED_KEYS * ROOM,
        records_per_owner_and_key=limit if on else ROOM,
        fair_givers=on,
    )
    swarm = HostileDht(scale, settings)
    (stuffer,) = contacts_of([PeerId(swarm.world.chance("stuffer").randbytes(32))], many_networks)
    swarm.join_and_invade([stuffer])
    keys = some_keys(STUFFED_KEYS)
    node = swarm.world.nodes[stuffer.peer_id]
    for key in keys:
        puts = [
            Put(key, bytes(VALUE_BYTES_MAX), LIFETIME_S, stuffer.peer + number.to_bytes(2, "big"))
            for number in range(ROOM + 1)
        ]
        swarm.world.driver.perform(node, swarm.machine(stuffer.peer_id).store_many(puts, node.local(swarm.world.now)))
        swarm.world.run(PATIENCE_S)
    owners = {key: swarm.random.choice(list(swarm.up)) for key in keys}
    written = _store(swarm, owners, b"true")
    reads = swarm.read(keys, scale.lookups)
    found = [any(record.value == written[one.key] for record in one.records) for one in reads]
    lengths = [sum(len(record.value) for record in one.records) for one in reads]
    return AttackOutcome(
        attack="stuffed keys",
        defence=f"{limit} records of an owner under a key, fair shares of a full one",
        on=on,
        scale=replace(scale, hostile=1 / scale.peers),
        lookups=len(reads),
        succeeded=sum(found) / len(reads),
        harm=sum(lengths) / len(reads),
        harm_is="bytes of values that a lookup brought home",
    )


def promises(scale: Scale, *, on: bool) -> AttackOutcome:
    """Holders claim records without end and deliver none; against it, a claim counts once its record is here.

    Raises:
        ValueError: `on` is false: this cannot be switched off.
    """
    if not on:
        raise ValueError("a claim without its record never counts")
    swarm, keys = _besieged(scale, _claims)
    written = _store(swarm, {key: swarm.random.choice(list(swarm.up)) for key in keys}, b"true")
    reads = swarm.read(keys, scale.lookups, quorum=1)
    return AttackOutcome(
        attack="promised records",
        defence="a claim counts once its record is here",
        on=on,
        scale=scale,
        lookups=len(reads),
        succeeded=share_true(reads, written),
        harm=slowest_s(reads),
        harm_is="p95 of a read, seconds",
    )


def _claims(asker: PeerId, request: Request, honest: Answer, now: float) -> Answer:
    del asker
    match request:
        case Get(after=after):
            first = int.from_bytes(after, "big") + 1
            entry = int((now + LIFETIME_S) * 1000).to_bytes(6, "big") + CLAIMED_BYTES.to_bytes(2, "big")
            index = b"".join((first + number).to_bytes(TAG_BYTES, "big") + entry for number in range(CLAIMS))
            nodes = honest.nodes[:NODES_NAMED] if isinstance(honest, Values) else ()
            return Values(request.query, nodes, (), index, more=True)
        case Fetch():
            return Records(request.query, ())
        case Store() | Cache():
            return Stored(request.query, accepted=True)
        case _:
            return honest


def gives(*, first: bool) -> Lie:
    """Answers with the first record that was ever stored under a key, or with a forged one instead of it."""
    kept: dict[bytes, Record] = {}

    def lie(asker: PeerId, request: Request, honest: Answer, now: float) -> Answer:
        del asker, now
        match request:
            case Store(key=key, record=record) | Cache(key=key, record=record):
                kept.setdefault(key, record if first else forged(record))
                return Stored(request.query, accepted=True)
            case Get(key=key) if key in kept:
                nodes = honest.nodes[:NODES_NAMED] if isinstance(honest, Values) else ()
                return Values(request.query, nodes, (kept[key],), b"", more=False)
            case Fetch(key=key) if key in kept:
                return Records(request.query, (kept[key],))
            case _:
                return honest

    return lie


def forged(record: Record) -> Record:
    """Another value in the name of its owner, newer and as large as may be."""
    return Record(record.subkey, b"f" * VALUE_BYTES_MAX, record.expires_ms + 1000, bytes(SIGNATURE_BYTES))


def _besieged(scale: Scale, lie: Lie, *, gullible: bool = False) -> tuple[HostileDht, list[Key]]:
    """A DHT with a few hostile peers next to each of some keys."""
    swarm = HostileDht(scale, DhtSettings(), verifier=Gullible() if gullible else None)
    keys = some_keys(max(1, min(KEYS_MAX, scale.hostile_peers // PER_KEY)))
    random = swarm.world.chance("grinding")
    shares = [scale.hostile_peers // len(keys) + (n < scale.hostile_peers % len(keys)) for n in range(len(keys))]
    ids: list[PeerId] = []
    for key, share in zip(keys, shares, strict=True):
        near = ground_ids(random, key, count=min(share, PER_KEY), among=scale.honest_peers)
        ids += [*near, *(PeerId(random.randbytes(32)) for _ in range(share - len(near)))]
    swarm.join_and_invade(contacts_of(ids, many_networks), lie)
    return swarm, keys


def _store(swarm: HostileDht, owners: dict[Key, PeerId], word: bytes) -> dict[Key, bytes]:
    written = {key: word + b" " + key for key in owners}
    for key, owner in owners.items():
        swarm.store(owner, key, written[key], lifetime_s=LIFETIME_S)
    swarm.world.run(PATIENCE_S)
    return written
