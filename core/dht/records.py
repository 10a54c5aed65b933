"""Records: signed by their owner, kept until they expire, superseded by later expirations."""

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from enum import StrEnum
from hashlib import sha256
from typing import NewType

from core.base.ids import PEER_ID_BYTES, Key, PeerId
from core.base.signing import Signer, Verifier
from core.dht.key_classes import CLASS_BYTES, KeyClasses, class_mark
from core.dht.messages import SUBKEY_BYTES_MAX, TAG_BYTES, VALUE_BYTES_MAX, Record
from core.dht.settings import DhtSettings, Quota

Tag = NewType("Tag", bytes)
"""Names a subkey in an index: 8 bytes of its hash."""

_PURPOSE = b"potluck dht record 1"


def tag_of(subkey: bytes) -> Tag:
    """Derive the short name of a subkey."""
    return Tag(sha256(subkey).digest()[:TAG_BYTES])


def signed_bytes(key: Key, subkey: bytes, value: bytes, expires_ms: int) -> bytes:
    """Bytes that an owner signs: purpose, key (32), length of the subkey (1), subkey, expiration (8), value.

    Args:
        key: The key.
        subkey: The subkey.
        value: The value.
        expires_ms: Expiration, Unix milliseconds.
    """
    return b"".join((_PURPOSE, key, bytes((len(subkey),)), subkey, expires_ms.to_bytes(8, "big"), value))


def sign_record(signer: Signer, key: Key, value: bytes, *, subkey: bytes, expires_ms: int) -> Record:
    """Make a record of this peer.

    Args:
        signer: The owner.
        key: The key.
        value: At most `VALUE_BYTES_MAX` bytes.
        subkey: The owner's id and up to 16 bytes more.
        expires_ms: Expiration, Unix milliseconds.

    Raises:
        ValueError: the value or the subkey is too long, or the subkey does not begin with the owner's id.
    """
    if len(value) > VALUE_BYTES_MAX:
        raise ValueError(f"a value of {len(value)} bytes, the limit is {VALUE_BYTES_MAX}")
    if subkey[:PEER_ID_BYTES] != signer.peer_id or len(subkey) > SUBKEY_BYTES_MAX:
        raise ValueError(f"a subkey is the owner's peer id and at most {SUBKEY_BYTES_MAX - PEER_ID_BYTES} bytes")
    return Record(subkey, value, expires_ms, signer.sign(signed_bytes(key, subkey, value, expires_ms)))


def supersedes(record: Record, known: Record | None) -> bool:
    """Whether `record` replaces `known`: the later expiration wins, of two equal ones the greater value.

    Args:
        record: The new record.
        known: The record held; None: none is held.
    """
    return known is None or (record.expires_ms, record.value) > (known.expires_ms, known.value)


class Proofs:
    """Verifies records, the same one once.

    Args:
        verifier: Verifies signatures.
        limit: Number of results remembered.
        classes: Checks the form of records.
    """

    def __init__(self, verifier: Verifier, *, limit: int = 512, classes: KeyClasses | None = None) -> None:
        self._verifier = verifier
        self._classes = classes or KeyClasses({})
        self._limit = limit
        self._outcomes: OrderedDict[tuple[Key, Record], bool] = OrderedDict()

    def holds(self, key: Key, record: Record) -> bool:
        """Whether the record was signed by its owner for this key.

        Args:
            key: The key.
            record: The record under it.
        """
        outcome = self._outcomes.get((key, record))
        if outcome is None:
            data = signed_bytes(key, record.subkey, record.value, record.expires_ms)
            outcome = self._verifier.verify(record.owner, record.signature, data)
            self._remember(key, record, outcome=outcome)
        return outcome

    def allows(self, key: Key, record: Record) -> bool:
        """Whether the record is well-formed for a key of its class.

        Args:
            key: The key.
            record: The record under it.
        """
        return self._classes.allows(key, record)

    def signed(self, key: Key, record: Record) -> None:
        """Remember that this peer has just signed the record.

        Args:
            key: The key.
            record: The record under it.
        """
        self._remember(key, record, outcome=True)

    def _remember(self, key: Key, record: Record, *, outcome: bool) -> None:
        self._outcomes[key, record] = outcome
        if len(self._outcomes) > self._limit:
            self._outcomes.popitem(last=False)


class KeepResult(StrEnum):
    """Result of an attempt to keep a record."""

    KEPT = "kept"
    KNOWN = "known"
    """This record, or a later one, was there already."""
    EXPIRED = "expired"
    TOO_LONG = "too_long"
    """Its lifetime is longer than allowed."""
    FULL = "full"
    """The store, the key or the owner has reached its limit."""
    SIGNATURE = "signature"
    SCHEMA = "schema"
    """Not well-formed for a key of this class."""

    @property
    def held(self) -> bool:
        """Whether the store now holds that record or a later one."""
        return self in {KeepResult.KEPT, KeepResult.KNOWN}


class _Room:
    """What some of the records take of their room.

    Args:
        quota: How much they may take.
    """

    def __init__(self, quota: Quota) -> None:
        self.quota = quota
        self.count = 0
        self.bytes = 0
        self.owners: Counter[PeerId] = Counter()
        self.given: dict[PeerId, dict[tuple[Key, Tag], None]] = {}
        """Records that each peer gave, in their order: keys cost nothing and passes do, so givers are counted."""

    def fits(self, *, more_bytes: int, is_new: bool) -> bool:
        """Whether there is room for one more, or for another one in a place that is taken."""
        return not (is_new and self.count >= self.quota.records_max) and self.bytes + more_bytes <= self.quota.bytes_max


class RecordStore:
    """Records held for the swarm, within limits.

    Args:
        proofs: Verifies owners and form of records.
        settings: The collaboration's numbers.
    """

    def __init__(self, proofs: Proofs, settings: DhtSettings) -> None:
        self._proofs = proofs
        self._settings = settings
        self._records: dict[Key, dict[Tag, Record]] = {}
        self._owners_of: dict[Key, Counter[PeerId]] = {}
        self._givers: dict[tuple[Key, Tag], PeerId] = {}
        common = Quota(settings.records_max, settings.record_bytes_max, settings.records_per_owner)
        self._common = _Room(common)
        self._rooms = {class_mark(name): _Room(quota) for name, quota in settings.quotas.items()}

    def __len__(self) -> int:
        return self._common.count + sum(room.count for room in self._rooms.values())

    def __iter__(self) -> Iterator[Key]:
        """Keys with at least one record, some of which may have expired."""
        return iter(self._records)

    def put(self, key: Key, record: Record, now: float, *, giver: PeerId | None = None) -> KeepResult:
        """Keep the record if it is allowed and supersedes the known one; the signature is verified last.

        Where there is no more room, the biggest giver loses its last record, if it gave more than `giver`.

        Args:
            key: The key.
            record: The record, of any owner.
            now: Unix seconds.
            giver: The peer that sent it; None: this peer keeps it by itself.
        """
        now_ms = int(now * 1000)
        if not now_ms < record.expires_ms <= now_ms + int(self._settings.accepted_lifetime_s(key) * 1000):
            return KeepResult.EXPIRED if record.expires_ms <= now_ms else KeepResult.TOO_LONG
        under_key = self._records.get(key, {})
        tag = tag_of(record.subkey)
        known = under_key.get(tag)
        if not supersedes(record, known):
            return KeepResult.KNOWN
        more_bytes = len(record.value) - (len(known.value) if known is not None else 0)
        if known is None and self._has_its_share(key, record.owner):
            return KeepResult.FULL
        fits, victim = self._room(key, giver, more_bytes=more_bytes, is_new=known is None)
        if not fits and victim is None:
            return KeepResult.FULL
        if not self._proofs.allows(key, record):
            return KeepResult.SCHEMA
        if not self._proofs.holds(key, record):
            return KeepResult.SIGNATURE
        if not self._make_room(key, tag, giver, more_bytes=more_bytes, is_new=known is None):
            return KeepResult.FULL
        if known is not None:
            self._remove(key, tag)
        self._records.setdefault(key, {})[tag] = record
        self._tally(key, record, 1)
        if giver is not None:
            self._givers[key, tag] = giver
            self._room_of(key).given.setdefault(giver, {})[key, tag] = None
        return KeepResult.KEPT

    def get(self, key: Key, now: float) -> Mapping[Tag, Record]:
        """The live records of a key, by tag.

        Args:
            key: The key.
            now: Unix seconds.
        """
        under_key = self._records.get(key)
        if not under_key:
            return {}
        now_ms = int(now * 1000)
        return {tag: record for tag, record in under_key.items() if record.expires_ms > now_ms}

    def has(self, key: Key, record: Record) -> bool:
        """Whether exactly this record is held.

        Args:
            key: The key.
            record: The record.
        """
        return self._records.get(key, {}).get(tag_of(record.subkey)) == record

    def expire(self, now: float) -> float | None:
        """Forget expired records; returns the next expiration, Unix seconds."""
        now_ms = int(now * 1000)
        next_ms: int | None = None
        for key, under_key in list(self._records.items()):
            for tag, record in list(under_key.items()):
                if record.expires_ms <= now_ms:
                    self._remove(key, tag)
                elif next_ms is None or record.expires_ms < next_ms:
                    next_ms = record.expires_ms
        return None if next_ms is None else next_ms / 1000

    def _has_its_share(self, key: Key, owner: PeerId) -> bool:
        """Whether the owner has as many records here, or under the key, as one may have."""
        room = self._room_of(key)
        mine = self._owners_of[key][owner] if key in self._owners_of else 0
        most = self._settings.records_per_owner_and_key
        return room.owners[owner] >= room.quota.records_per_owner or mine >= most

    def _room_of(self, key: Key) -> _Room:
        return self._rooms.get(key[-CLASS_BYTES:], self._common)

    def _make_room(self, key: Key, tag: Tag, giver: PeerId | None, *, more_bytes: int, is_new: bool) -> bool:
        fits, victim = self._room(key, giver, more_bytes=more_bytes, is_new=is_new)
        while not fits:
            if victim is None or victim == (key, tag):
                return False
            self._remove(*victim)
            fits, victim = self._room(key, giver, more_bytes=more_bytes, is_new=is_new)
        return True

    def _room(
        self, key: Key, giver: PeerId | None, *, more_bytes: int, is_new: bool
    ) -> tuple[bool, tuple[Key, Tag] | None]:
        """Whether there is room for one more, and otherwise which record may go: the last one of the biggest giver."""
        limits, room = self._settings, self._room_of(key)
        given: Mapping[PeerId, dict[tuple[Key, Tag], None]] = room.given
        if is_new and len(self._records.get(key, ())) >= limits.records_per_key:
            under_key: dict[PeerId, dict[tuple[Key, Tag], None]] = {}
            for tag in self._records[key]:
                by = self._givers.get((key, tag))
                if by is not None:
                    under_key.setdefault(by, {})[key, tag] = None
            given = under_key
        elif room.fits(more_bytes=more_bytes, is_new=is_new):
            return True, None
        most = max(given, key=lambda peer: len(given[peer]), default=None)
        mine = len(given.get(giver, ())) if giver is not None else 0
        if not limits.fair_givers or most is None or most == giver or len(given[most]) <= mine + 1:
            return False, None
        return False, next(reversed(given[most]))

    def _remove(self, key: Key, tag: Tag) -> None:
        under_key = self._records[key]
        record = under_key.pop(tag)
        self._tally(key, record, -1)
        giver = self._givers.pop((key, tag), None)
        if giver is not None:
            given = self._room_of(key).given
            del given[giver][key, tag]
            if not given[giver]:
                del given[giver]
        if not under_key:
            del self._records[key]
            del self._owners_of[key]

    def _tally(self, key: Key, record: Record, change: int) -> None:
        room, owner = self._room_of(key), record.owner
        room.count += change
        room.bytes += change * len(record.value)
        for owners in (self._owners_of.setdefault(key, Counter()), room.owners):
            owners[owner] += change
            if not owners[owner]:
                del owners[owner]
