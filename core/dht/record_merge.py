"""Merges the records of one key from several replicas, and fetches each record once.

Replicas with many records answer with an index of (tag, expiration).  For each tag the newest claim is fetched; where
the claimant does not deliver, the next newest.  Nothing unsigned counts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from core.base.ids import Key, PeerId
from core.base.machine import Trace
from core.dht.messages import MESSAGE_BYTES_MAX, Record
from core.dht.pages import ANSWER_HEADER_BYTES, Claim
from core.dht.records import Proofs, Tag, supersedes, tag_of
from core.dht.settings import DhtSettings

FETCHES_IN_FLIGHT = 24
TAGS_PER_FETCH = 16
_ROOM_BYTES = MESSAGE_BYTES_MAX - ANSWER_HEADER_BYTES

Batch = tuple[PeerId, tuple[Tag, ...]]
"""A peer, and the tags fetched from it with one request."""


class RecordMerge:
    """The records of one key, merged from the answers of several peers.

    Args:
        key: The key.
        known: Valid records that are known already.
        settings: Its limits on the lifetime of a record and on the records of a key hold here too.
        proofs: Verifies owners and form of records.
        trace: Counts what is dropped.
    """

    def __init__(
        self,
        key: Key,
        known: Mapping[Tag, Record],
        *,
        settings: DhtSettings,
        proofs: Proofs,
        trace: Trace,
    ) -> None:
        self._key = key
        self._records: dict[Tag, Record] = dict(known)
        self._lifetime_s = settings.accepted_lifetime_s(key)
        self._limit = settings.records_per_key
        self._per_owner = settings.records_per_owner_and_key
        self._owners = Counter(record.owner for record in known.values())
        self._proofs = proofs
        self._trace = trace
        self._claims: dict[Tag, dict[PeerId, Claim]] = {}
        self._fetching: set[Batch] = set()

    @property
    def records(self) -> Mapping[Tag, Record]:
        """Records merged so far, by tag."""
        return self._records

    @property
    def done(self) -> bool:
        """Whether nothing is left to fetch and no fetch is pending."""
        return not self._claims and not self._fetching

    def offered(self, records: Iterable[Record], now: float) -> int:
        """Merge records that a peer sent, if they are valid.

        Args:
            records: Unverified records.
            now: Unix seconds.

        Returns:
            Number of these records that are now held as the newest.
        """
        good = 0
        for record in records:
            tag = tag_of(record.subkey)
            known = self._records.get(tag)
            if record == known:
                good += 1
                continue
            if not 0 < record.expiration - now <= self._lifetime_s:
                self._trace.mark("dht.drop.record.time")
            elif known is None and self._is_full(record.owner):
                self._trace.mark("dht.drop.record.full")
            elif not self._proofs.allows(self._key, record):
                self._trace.mark("dht.drop.record.schema")
            elif not self._proofs.holds(self._key, record):
                self._trace.mark("dht.drop.record.signature")
            elif supersedes(record, known):
                self._owners[record.owner] += known is None
                self._records[tag] = record
                self._settle(tag)
                good += 1
        return good

    def claimed(self, peer: PeerId, claims: Iterable[Claim], now: float) -> None:
        """Note an index page.

        Args:
            peer: The claimant.
            claims: Entries of its page.
            now: Unix seconds.
        """
        for claim in claims:
            known = self._records.get(claim.tag)
            full = claim.tag not in self._claims and len(self._claims) >= self._limit
            if not full and claim.expires_ms > now * 1000 and (known is None or claim.expires_ms > known.expires_ms):
                self._claims.setdefault(claim.tag, {})[peer] = claim

    def has_of(self, owner: PeerId) -> bool:
        """Whether a record of this owner has been merged."""
        return any(record.owner == owner for record in self._records.values())

    def fetches(self) -> list[Batch]:
        """Choose what to fetch now; it counts as pending."""
        free = FETCHES_IN_FLIGHT - len(self._fetching)
        if not self._claims or free <= 0:
            return []
        load = Counter(peer for peer, _ in self._fetching)
        filling: dict[PeerId, list[Claim]] = {}
        full: list[Batch] = []
        for peers in self._wanted():
            peer = next((p for p in peers if p in filling and _fits(filling[p], peers[p])), None)
            peer = peer or min(peers, key=load.__getitem__)
            batch, claim = filling.get(peer, []), peers[peer]
            if not _fits(batch, claim):
                full.append(_batch(peer, filling.pop(peer)))
                batch = []
            if not batch and len(full) + len(filling) >= free:
                break
            filling.setdefault(peer, batch).append(claim)
            load[peer] += 1
        chosen = full + [_batch(peer, claims) for peer, claims in filling.items()]
        self._fetching.update(chosen)
        return chosen

    def delivered(self, batch: Batch, records: Sequence[Record], now: float) -> bool:
        """Merge the answer to a fetch.

        Tags left out before the last record in the answer count as missing at that peer.

        Args:
            batch: The fetch.
            records: Its answer.
            now: Unix seconds.

        Returns:
            Whether it brought any of the wanted records, truly signed.
        """
        peer, asked = batch
        self._fetching.discard(batch)
        sent = {tag_of(record.subkey): record for record in records}
        last = max((index for index, tag in enumerate(asked) if tag in sent), default=len(asked))
        for tag in asked[: last + 1]:
            self._unclaim(tag, peer)
        wanted = [record for tag, record in sent.items() if tag in asked]
        self.offered(wanted, now)
        return any(self._proofs.holds(self._key, record) for record in wanted)

    def failed(self, peer: PeerId) -> None:
        """Drop the claims of a peer that no longer answers."""
        self._fetching = {batch for batch in self._fetching if batch[0] != peer}
        for tag in list(self._claims):
            self._unclaim(tag, peer)

    def _is_full(self, owner: PeerId) -> bool:
        return len(self._records) >= self._limit or self._owners[owner] >= self._per_owner

    def _wanted(self) -> Iterator[dict[PeerId, Claim]]:
        """The newest claims to each tag that is not being fetched."""
        coming = {tag for _, tags in self._fetching for tag in tags}
        for tag, claims in self._claims.items():
            if tag not in coming:
                newest = max(claim.expires_ms for claim in claims.values())
                yield {peer: claim for peer, claim in claims.items() if claim.expires_ms == newest}

    def _unclaim(self, tag: Tag, peer: PeerId) -> None:
        claims = self._claims.get(tag)
        if claims is not None:
            claims.pop(peer, None)
            if not claims:
                del self._claims[tag]

    def _settle(self, tag: Tag) -> None:
        """Drop claims to records that are merged already, or to older ones."""
        for peer, claim in list(self._claims.get(tag, {}).items()):
            if claim.expires_ms <= self._records[tag].expires_ms:
                self._unclaim(tag, peer)


def _fits(batch: Sequence[Claim], claim: Claim) -> bool:
    used = sum(other.size_bytes for other in batch)
    return not batch or (len(batch) < TAGS_PER_FETCH and used + claim.size_bytes <= _ROOM_BYTES)


def _batch(peer: PeerId, claims: Sequence[Claim]) -> Batch:
    return peer, tuple(claim.tag for claim in claims)
