"""The records of peers in the DHT: this peer's own is kept there, those of others are read."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from core.base.bounds import remember
from core.base.ids import Key, PeerId
from core.dht.events import Found, Output, RecordStored
from core.dht.node import DhtNode
from core.nat.events import PeerRecordFound
from core.nat.peer_record import PEER_RECORD_LIFETIME_S, PeerRecord, decode, encode, peer_record_key

ASKED_MAX: Final = 256
"""Number of peer records that are being read at a time; the oldest question is forgotten first."""
DOUBTED_MAX: Final = 256
"""Number of peers remembered that were not reached by what their record said."""


class PeerRecords:
    """Publishes this peer's record in the DHT, and reads those of peers that are to be called.

    Args:
        me: This peer.
        directory: The DHT.
    """

    def __init__(self, me: PeerId, directory: DhtNode) -> None:
        self._me = me
        self._directory = directory
        self._asked: OrderedDict[Key, PeerId] = OrderedDict()
        self._doubted: OrderedDict[PeerId, None] = OrderedDict()
        """Peers that were not reached by what their record said."""
        self._unplaced: PeerRecord | None = None
        """This peer's record, as long as nobody else holds it."""

    def publish(self, peer_record: PeerRecord, now: float) -> Sequence[Output]:
        """Stores a new record of this peer, and keeps it at hand until another peer holds it."""
        self._unplaced = peer_record
        return self.publish_again(now)

    def publish_again(self, now: float) -> Sequence[Output]:
        """Store this peer's record once more, if nobody else holds it."""
        if self._unplaced is None:
            return []
        key, value = peer_record_key(self._me), encode(self._unplaced)
        return self._directory.store(key, value, lifetime_s=PEER_RECORD_LIFETIME_S, now=now, subkey=self._me)

    def stored(self, event: RecordStored) -> None:
        """Take in where a record is, if it is this peer's own."""
        if event.key == peer_record_key(self._me) and event.replicas > (not self._directory.client):
            self._unplaced = None

    def read(self, peer: PeerId, now: float) -> Sequence[Output]:
        """Look up a peer's record.

        One holder's answer is enough, and quick; all are asked for a peer that was not where its record said.
        """
        key = peer_record_key(peer)
        remember(self._asked, key, peer, ASKED_MAX)
        return self._directory.get(key, now, quorum=None if peer in self._doubted else 1, owner=peer)

    def found(self, found: Found) -> PeerRecordFound | None:
        """What a read brought; None: nobody asked here."""
        peer = self._asked.pop(found.key, None)
        if peer is None:
            return None
        records = [record for record in found.records if record.owner == peer and record.subkey == peer]
        return PeerRecordFound(peer, decode(records[0].value) if records else None)

    def doubt(self, peer: PeerId, *, reached: bool) -> None:
        """A peer was reached, or not, by what its record says."""
        self._doubted.pop(peer, None)
        if not reached:
            self._doubted[peer] = None
            if len(self._doubted) > DOUBTED_MAX:
                self._doubted.popitem(last=False)
