"""Reads and writes: how their operations begin, and what follows when one is over."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.base.ids import Contact, Key, PeerId
from core.dht.context import DhtContext
from core.dht.disjoint_lookup import DisjointLookup
from core.dht.events import Found, Output, RecordStored
from core.dht.lookup import Lookup
from core.dht.messages import Cache, Record, Store
from core.dht.operations import FindNode, Operation
from core.dht.read_operation import ReadOperation
from core.dht.record_merge import RecordMerge
from core.dht.records import sign_record
from core.dht.responder import due_to_newcomer
from core.dht.space import point
from core.dht.store_operation import HandOver, StoreOperation

HAND_OVERS_MAX = 8
SILENT_PEERS_LEAST = 3
"""Number of silent peers, with no answering one, from which it is this peer that cannot hear."""
CACHED_RECORDS_MAX = 3
"""Keys with more records than this are not cached on the way."""


@dataclass(frozen=True, slots=True)
class Put:
    """A value of this peer that is to be stored."""

    key: Key
    value: bytes
    lifetime_s: float
    subkey: bytes | None = None
    """This peer's id and up to 16 bytes more; None: just the id."""


class _StoreAgain(StoreOperation):
    """Stores records of other owners that this peer holds (republishing)."""


class ReadWrite:
    """Begins reads and writes, and reports their results."""

    def __init__(self, parts: DhtContext) -> None:
        self._signer = parts.signer
        self._me = parts.me
        self._proofs = parts.proofs
        self._records = parts.records
        self._memory = parts.memory
        self._neighbours = parts.neighbours
        self._query_runner = parts.query_runner
        self._republish = parts.republish
        self._settings = parts.settings
        self._client_mode = parts.client_mode
        self._trace = parts.trace
        self._gets: dict[Key, ReadOperation] = {}

    def get(
        self, key: Key, now: float, *, quorum: int | None, max_age_s: float, owner: PeerId | None = None
    ) -> list[Output]:
        """Begin to read a key, or join the read in progress.

        Args:
            key: The key.
            now: Unix seconds.
            quorum: Number of peers with records that are enough; None: all of the nearest are asked.
            max_age_s: Age up to which an earlier read is good enough, seconds.
            owner: Owner of the wanted record; None: any owner.
        """
        reading = self._gets.get(key)
        if reading is not None:
            if quorum is None or (reading.quorum is not None and quorum > reading.quorum):
                reading.quorum = quorum
            if reading.owner != owner:
                reading.quorum = None
            return []
        settings = self._settings
        known = self._memory.known(key, self._records.get(key, now), now)
        if known and self._memory.age_s(key, now) < max_age_s:
            return [Found(key, tuple(known.values()))]
        if not known and self._memory.is_absent(key, now):
            return [Found(key, ())]
        merge = RecordMerge(key, known, settings=settings, proofs=self._proofs, trace=self._trace)
        lookup = self._neighbours.lookup(key, now, width=settings.read_width, quick=quorum is not None)
        reading = ReadOperation(lookup, merge, quorum=quorum, owner=owner)
        self._gets[key] = reading
        return self._query_runner.begin(reading, now)

    def store(self, puts: Sequence[Put], now: float) -> list[Output]:
        """Sign and store values; those of one key go together.

        Args:
            puts: The values.
            now: Unix seconds.

        Raises:
            ValueError: one of them is outside its limits; nothing is stored then.
        """
        settings = self._settings
        groups: dict[tuple[Key, int], list[Record]] = {}
        for put, record in [(put, self._signed(put, now)) for put in puts]:
            self._proofs.signed(put.key, record)
            self._memory.wrote(put.key, record)
            replicas = settings.replicas_brief if put.lifetime_s < settings.brief_s else settings.replicas
            groups.setdefault((put.key, replicas), []).append(record)
        outputs: list[Output] = []
        for (key, replicas), records in groups.items():
            latest = {record.subkey: record for record in records}
            outputs += self._begin_store(StoreOperation, key, list(latest.values()), replicas=replicas, now=now)
        return outputs

    def republish(self, now: float) -> list[Output]:
        """Store records that this peer holds again, as far as that is due."""
        outputs: list[Output] = []
        while (due := self._republish.due(now, self._settings.forwards_max)) is not None:
            key, tags = due
            held = self._records.get(key, now)
            records = [held[tag] for tag in tags if tag in held]
            for record in records:
                self._republish.stored(key, record, now)
            if records:
                outputs += self._begin_store(_StoreAgain, key, records, replicas=self._settings.replicas, now=now)
        return outputs

    def welcome(self, newcomer: Contact, now: float) -> list[Output]:
        """Hand a new contact of the routing table the records that it should hold.

        Args:
            newcomer: The new contact.
            now: Unix seconds.
        """
        if self._client_mode.client or not len(self._records) or self._query_runner.count(HandOver) >= HAND_OVERS_MAX:
            return []
        due = due_to_newcomer(
            newcomer.peer_id,
            me=self._me,
            table=self._neighbours.table,
            store=self._records,
            settings=self._settings,
            now=now,
        )
        stores = [Store(0, False, key, record) for key, record in due]
        return self._query_runner.begin(HandOver(newcomer, stores), now) if stores else []

    def concluded(self, operation: Operation, now: float) -> list[Output]:
        """Report what follows from an operation that is over.

        Args:
            operation: The operation.
            now: Unix seconds.
        """
        match operation:
            case FindNode(lookup=lookup):
                self._remember_route(lookup, now)
            case ReadOperation():
                return self._read(operation, now)
            case StoreOperation(key=key, records=records):
                if operation.broken_route:
                    self._memory.forget_route(key)
                if not isinstance(operation, _StoreAgain):
                    return [RecordStored(key, operation.accepted[record.subkey]) for record in records]
        return []

    def _read(self, reading: ReadOperation, now: float) -> list[Output]:
        lookup, records = reading.lookup, reading.merge.records
        del self._gets[lookup.key]
        if not records and lookup.done and not reading.again and self._has_other_ways(lookup):
            return self._again(reading, now)
        early = not lookup.done
        if not early:
            self._remember_route(lookup, now)
        self._memory.read(lookup.key, records, now)
        if not records and lookup.found(1):
            self._memory.found_nothing(lookup.key, now)
        known = tuple(self._memory.known(lookup.key, {}, now).values())
        return [Found(lookup.key, known), *self._leave_copies(reading, known, now)]

    def _has_other_ways(self, lookup: Lookup | DisjointLookup) -> bool:
        """Whether some peers kept silent, or more answered than were asked for values (few peers are all asked)."""
        if self._settings.paths_again <= 1:
            return False
        width = self._settings.read_width
        local = self._neighbours.table.networks.are_few
        return lookup.silent > 0 or (not local and len(lookup.found(width + 1)) > width)

    def _again(self, reading: ReadOperation, now: float) -> list[Output]:
        """Read once more, on several disjoint paths, since peers near the key may have misled the first lookup.

        If no peer at all has answered, this peer was probably out of reach or overloaded: all are asked again.
        """
        settings, key = self._settings, reading.lookup.key
        cannot_hear = reading.lookup.silent >= SILENT_PEERS_LEAST and not reading.lookup.found(1)
        lookup = self._neighbours.lookup(
            key, now, width=settings.read_width, paths=settings.paths_again, include_silent=cannot_hear
        )
        again = ReadOperation(lookup, reading.merge, quorum=reading.quorum, owner=reading.owner)
        again.again = True
        self._gets[key] = again
        return self._query_runner.begin(again, now)

    def _leave_copies(self, reading: ReadOperation, records: Sequence[Record], now: float) -> list[Output]:
        """Leave a copy with the nearest peer on the way that has none, for later readers."""
        settings = self._settings
        if (
            not settings.cache_s
            or not 0 < len(records) <= CACHED_RECORDS_MAX
            or self._query_runner.count(HandOver) >= HAND_OVERS_MAX
        ):
            return []
        lasting = [record for record in records if record.expiration - now > settings.brief_s]
        nearest_without_record = reading.nearest_without_record()
        if not lasting or nearest_without_record is None:
            return []
        copies = [Cache(0, False, reading.lookup.key, record) for record in lasting]
        return self._query_runner.begin(HandOver(nearest_without_record, copies), now)

    def _begin_store(
        self, kind: type[StoreOperation], key: Key, records: Sequence[Record], *, replicas: int, now: float
    ) -> list[Output]:
        paths = max(self._settings.paths, self._settings.paths_store)
        storing = kind(
            FindNode(self._neighbours.lookup(key, now, width=replicas, paths=paths)),
            records,
            me=self._me,
            route=self._memory.route(key, now),
            keep=None if self._client_mode.client else lambda record: self._keep(key, record, now),
            replicas=replicas,
        )
        return self._query_runner.begin(storing, now)

    def _keep(self, key: Key, record: Record, now: float) -> bool:
        held = self._records.put(key, record, now).held
        if held:
            self._republish.stored(key, record, now)
        return held

    def _signed(self, put: Put, now: float) -> Record:
        if not 0 < put.lifetime_s <= self._settings.max_lifetime_s:
            raise ValueError(f"a lifetime of {put.lifetime_s} s, the limit is {self._settings.max_lifetime_s} s")
        subkey = bytes(self._me) if put.subkey is None else put.subkey
        expires_ms = self._memory.expiration(put.key, subkey, int((now + put.lifetime_s) * 1000))
        record = sign_record(self._signer, put.key, put.value, subkey=subkey, expires_ms=expires_ms)
        if not self._proofs.allows(put.key, record):
            raise ValueError("a value that its key's class does not allow")
        return record

    def _remember_route(self, lookup: Lookup | DisjointLookup, now: float) -> None:
        self._neighbours.table.bucket(point(lookup.key)).refreshed = now
        self._memory.found_route(lookup.key, lookup.found(2 * self._settings.replicas), now)
