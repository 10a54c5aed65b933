"""Parts of a node that reading, writing and upkeep share."""

from dataclasses import dataclass
from random import Random

from core.base.ids import PeerId
from core.base.machine import Trace
from core.base.signing import Signer
from core.dht.cache import RecordCache
from core.dht.memory import Memory
from core.dht.neighbours import Neighbours
from core.dht.query_runner import QueryRunner
from core.dht.records import Proofs, RecordStore
from core.dht.republish import Republish
from core.dht.settings import ClientMode, DhtSettings


@dataclass(frozen=True, slots=True)
class DhtContext:
    """Parts of one node, handed to those that read, write and maintain."""

    signer: Signer
    proofs: Proofs
    records: RecordStore
    cache: RecordCache
    memory: Memory
    neighbours: Neighbours
    query_runner: QueryRunner
    republish: Republish
    settings: DhtSettings
    client_mode: ClientMode
    random: Random
    trace: Trace

    @property
    def me(self) -> PeerId:
        """The id of this peer, which is its signer's."""
        return self.signer.peer_id
