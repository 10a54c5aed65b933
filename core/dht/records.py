"""Records: signed by their owner, kept until they expire, replaced by those that expire later."""

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from enum import StrEnum
from hashlib import sha256
from typing import NewType

from core.base.ids import PEER_ID_BYTES, Key, PeerId
from core.base.signing import Signer, Verifier
from core.dht.classes import KeyClasses
from core.dht.messages import SUBKEY_BYTES_MAX, TAG_BYTES, VALUE_BYTES_MAX, Record

Tag = NewType("Tag", bytes)
"""Names a subkey in an index: 8 bytes of its hash."""

_PURPOSE = b"potluck dht record 1"


def tag_of(subkey: bytes) -> Tag:
    """The subkey's short name."""
    return Tag(sha256(subkey).digest()[:TAG_BYTES])


def signed_bytes(key: Key, subkey: bytes, value: bytes, expires_ms: int) -> bytes:
    """What an owner signs: purpose, key (32), length of the subkey (1), subkey, expiration (8), value."""
    return b"".join((_PURPOSE, key, bytes((len(subkey),)), subkey, expires_ms.to_bytes(8, "big"), value))


def sign_record(signer: Signer, key: Key, value: bytes, *, subkey: bytes, expires_ms: int) -> Record:
    """A record of our own.

    Raises:
        ValueError: the value or the subkey is too long, or the subkey does not begin with our peer id.
    """
    if len(value) > VALUE_BYTES_MAX:
        raise ValueError(f"a value of {len(value)} bytes, the limit is {VALUE_BYTES_MAX}")
    if subkey[:PEER_ID_BYTES] != signer.peer_id or len(subkey) > SUBKEY_BYTES_MAX:
        raise ValueError(f"a subkey is the owner's peer id and at most {SUBKEY_BYTES_MAX - PEER_ID_BYTES} bytes")
    return Record(subkey, value, expires_ms, signer.sign(signed_bytes(key, subkey, value, expires_ms)))


def supersedes(record: Record, known: Record | None) -> bool:
    """Whether `record` replaces `known`: the later expiration wins; of two alike the greater value, so all agree."""
    return known is None or (record.expires_ms, record.value) > (known.expires_ms, known.value)


class Proofs:
    """Verifies records, the same one once.

    Args:
        verifier: Tells signatures.
        limit: Outcomes remembered.
        classes: Which records are well-formed.
    """

    def __init__(self, verifier: Verifier, *, limit: int = 512, classes: KeyClasses | None = None) -> None:
        self._verifier = verifier
        self._classes = classes or KeyClasses({})
        self._limit = limit
        self._outcomes: OrderedDict[tuple[Key, Record], bool] = OrderedDict()

    def holds(self, key: Key, record: Record) -> bool:
        """Whether the record was signed by its owner for this key."""
        outcome = self._outcomes.get((key, record))
        if outcome is None:
            data = signed_bytes(key, record.subkey, record.value, record.expires_ms)
            outcome = self._verifier.verify(record.owner, record.signature, data)
            self._remember(key, record, outcome=outcome)
        return outcome

    def allows(self, key: Key, record: Record) -> bool:
        """Whether the record is well-formed for a key of its class."""
        return self._classes.allows(key, record)

    def signed(self, key: Key, record: Record) -> None:
        """We have just signed this record ourselves."""
        self._remember(key, record, outcome=True)

    def _remember(self, key: Key, record: Record, *, outcome: bool) -> None:
        self._outcomes[key, record] = outcome
        if len(self._outcomes) > self._limit:
            self._outcomes.popitem(last=False)


class Verdict(StrEnum):
    """What became of a record that was to be kept."""

    KEPT = "kept"
    KNOWN = "known"
    """This one, or a later one, was there already."""
    EXPIRED = "expired"
    TOO_LONG = "too_long"
    """Wants to live longer than allowed."""
    FULL = "full"
    """The store, the key or the owner has reached its limit."""
    SIGNATURE = "signature"
    SCHEMA = "schema"
    """Not what may stand under a key of this class."""

    @property
    def held(self) -> bool:
        """Whether the store now holds that record or a later one."""
        return self in {Verdict.KEPT, Verdict.KNOWN}


class RecordStore:
    """Records held for the swarm, within limits.

    Args:
        proofs: Tells whether a record is its owner's.
        max_lifetime_s: Records that expire later than this from now are refused.
        total: Records at most.
        per_key: Records under one key at most.
        per_owner: Records of one owner at most.
        per_owner_and_key: Of these under one key, so that nobody can fill a key that others share.
        bytes_max: Bytes of all values together.
    """

    def __init__(
        self,
        proofs: Proofs,
        *,
        max_lifetime_s: float,
        total: int = 10_000,
        per_key: int = 2_000,
        per_owner: int = 200,
        per_owner_and_key: int = 16,
        bytes_max: int = 4 * 1024 * 1024,
    ) -> None:
        self._proofs = proofs
        self._bytes_max = bytes_max
        self._bytes = 0
        self._max_lifetime_ms = int(max_lifetime_s * 1000)
        self._total = total
        self._per_key = per_key
        self._per_owner = per_owner
        self._per_owner_and_key = per_owner_and_key
        self._records: dict[Key, dict[Tag, Record]] = {}
        self._owners: Counter[PeerId] = Counter()
        self._owners_of: dict[Key, Counter[PeerId]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Key]:
        """Keys with at least one record, some of which may have expired."""
        return iter(self._records)

    def put(self, key: Key, record: Record, now: float) -> Verdict:
        """Keep the record if it is allowed and newer than what is known; the signature is looked at last."""
        now_ms = int(now * 1000)
        if record.expires_ms <= now_ms:
            return Verdict.EXPIRED
        if record.expires_ms > now_ms + self._max_lifetime_ms:
            return Verdict.TOO_LONG
        under_key = self._records.get(key, {})
        tag = tag_of(record.subkey)
        known = under_key.get(tag)
        if not supersedes(record, known):
            return Verdict.KNOWN
        if known is None and self._is_full(key, len(under_key), record.owner):
            return Verdict.FULL
        more_bytes = len(record.value) - (len(known.value) if known is not None else 0)
        if more_bytes > 0 and self._bytes + more_bytes > self._bytes_max:
            return Verdict.FULL
        if not self._proofs.allows(key, record):
            return Verdict.SCHEMA
        if not self._proofs.holds(key, record):
            return Verdict.SIGNATURE
        if known is not None:
            self._tally(key, known.owner, -1)
        self._tally(key, record.owner, 1)
        self._bytes += more_bytes
        self._records.setdefault(key, under_key)[tag] = record
        return Verdict.KEPT

    def get(self, key: Key, now: float) -> Mapping[Tag, Record]:
        """The live records of a key."""
        under_key = self._records.get(key)
        if not under_key:
            return {}
        now_ms = int(now * 1000)
        return {tag: record for tag, record in under_key.items() if record.expires_ms > now_ms}

    def expire(self, now: float) -> float | None:
        """Forget what has expired; returns when the next record will have."""
        now_ms = int(now * 1000)
        next_ms: int | None = None
        for key, under_key in list(self._records.items()):
            for tag, record in list(under_key.items()):
                if record.expires_ms <= now_ms:
                    del under_key[tag]
                    self._bytes -= len(record.value)
                    self._tally(key, record.owner, -1)
                elif next_ms is None or record.expires_ms < next_ms:
                    next_ms = record.expires_ms
            if not under_key:
                del self._records[key]
                del self._owners_of[key]
        return None if next_ms is None else next_ms / 1000

    def _is_full(self, key: Key, under_key: int, owner: PeerId) -> bool:
        mine = self._owners_of[key][owner] if key in self._owners_of else 0
        crowded = self._count >= self._total or under_key >= self._per_key
        return crowded or self._owners[owner] >= self._per_owner or mine >= self._per_owner_and_key

    def _tally(self, key: Key, owner: PeerId, change: int) -> None:
        self._count += change
        self._owners_of.setdefault(key, Counter())[owner] += change
        self._owners[owner] += change
        if not self._owners[owner]:
            del self._owners[owner]
