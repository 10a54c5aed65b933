"""What strangers say of places that no model has, and of the same places under many keys."""

from random import Random

import numpy as np
import pytest

from core.base.ids import PeerId
from core.base.machine import Lost, Trace
from core.dht.cache import RecordCache
from core.dht.events import Found
from core.dht.messages import Record
from core.dht.record_merge import RecordMerge
from core.dht.records import KeepResult, Proofs, RecordStore, sign_record
from core.dht.settings import DhtSettings
from core.swarm.experts.exchange import HostExperts, SearchExperts, SurveyExperts
from core.swarm.experts.other_hosts import UNHEARD_MAX, OtherHosts
from core.swarm.experts.records import (
    COPIES_LIFETIME_S,
    LIFETIME_S,
    QUOTAS,
    ExpertRow,
    bits_of,
    copies_key,
    encode_row,
    row_key,
)
from tests.unit.dht.network import ToySigner, ToyVerifier, peer_id
from tests.unit.swarm.experts.test_exchange import HOST, MIXTURE, TRAINER, Pair
from tests.unit.swarm.experts.test_keeping import archive_of

ROWS = [(0,), (1,)]


def says(peer, row, coordinates):
    """A host's word, which lasts as long as a holder keeps any."""
    return Record(peer, encode_row(ExpertRow(hosted=bits_of(coordinates))), 10**9, bytes(64))


@pytest.mark.parametrize("claims", [True, False])
def test_places_of_no_grid_are_neither_kept_nor_shown(tmp_path, claims):
    """Somebody has files for them, and may say to host them, too."""
    liar, backbone = (PeerId(bytes([n]) * 32) for n in (99, 5))
    pair = Pair(tmp_path, (TRAINER, liar))
    pair.peers[backbone] = archive_of(pair, backbone, tmp_path, 100)
    pair.peers[backbone].start(0.0)
    for last in range(2, 20):
        path = tmp_path / f"lie-{last}"
        path.write_bytes(b"a lie" * 1000)
        pair.keep(liar, (0, (0, last)), 9, path)
    for row in ROWS if claims else ():
        pair.stored[row_key(MIXTURE.run, 0, row)] = {liar: says(liar, row, range(256))}
    pair.go_on(5)
    pair.deliver(TRAINER, SurveyExperts(gather_s=100))
    pair.deliver(TRAINER, HostExperts(1))
    pair.go_on(120)
    assert {peer for peer, _ in pair.copies} == {liar}
    shown = [one.expert for one in pair.peers[TRAINER].known(pair.now)]
    assert shown
    assert all(MIXTURE.grid.has(place) for _, place in shown)


def test_few_made_up_keys_count_beside_a_host_that_speaks():
    """Holders keep 2,000 records of a row, each of which may name all of its places."""
    others = OtherHosts(TRAINER, MIXTURE, (), Random(0))
    others.spoke(HOST)
    for row in ROWS:
        keys = [PeerId(bytes([7, one // 256, one % 256, 0]) * 8) for one in range(2000)]
        found = [says(key, row, range(2)) for key in keys] + [says(HOST, row, [1])]
        others.heard((0, row), Found(row_key(MIXTURE.run, 0, row), tuple(found)), 0.0)
    claims = others.of_layer(0, 0.0)
    assert [len(claims[0, last]) for last in range(2)] == [UNHEARD_MAX, UNHEARD_MAX + 1]
    assert all(HOST in others.living(0.0)[0, (row, 1)] for row in range(2))
    assert len(others.peers(0.0)) <= 4 * UNHEARD_MAX + 1


def test_trainer_hears_few_made_up_keys_and_all_that_spoke(tmp_path):
    """A trainer looks through all hosts of each place whenever a row has changed."""
    pair, asked = Pair(tmp_path, (TRAINER, HOST)), []
    pair.deliver(HOST, HostExperts(4))
    pair.go_on(20)
    for row in ROWS:
        for one in range(500):
            key = PeerId(bytes([7, one // 256, one % 256, 0]) * 8)
            pair.stored[row_key(MIXTURE.run, 0, row)][key] = says(key, row, range(2))
    pair.peers[TRAINER].places.others.spoke(HOST)
    deliver = pair.deliver
    pair.deliver = lambda peer, event: (
        asked.append(event.peer) if isinstance(event, Lost) else 0,
        deliver(peer, event),
    )
    pair.deliver(TRAINER, SearchExperts(1, 0, np.zeros((1, 4), np.float32), 4))
    pair.go_on(1)
    pair.ask(2, (0, 0))
    assert pair.told[-1].ticket == 2
    assert len(asked) <= UNHEARD_MAX


@pytest.mark.parametrize(
    ("key", "lifetime_s"),
    [(row_key(MIXTURE.run, 0, (0,)), LIFETIME_S), (copies_key(MIXTURE.run, 0, (0,)), COPIES_LIFETIME_S)],
    ids=["row", "copies"],
)
def test_word_of_a_host_ends_soon_after_it(key, lifetime_s):
    """Who tells it for two days need not be there; neither holders nor readers take that."""
    limits, signer = DhtSettings(quotas=QUOTAS), ToySigner(peer_id(1))
    proofs = Proofs(ToyVerifier())
    for life_s, good in ((lifetime_s + limits.clock_slack_s, True), (lifetime_s + limits.clock_slack_s + 1, False)):
        record = sign_record(signer, key, b"", subkey=bytes(signer.peer_id), expires_ms=int(1000 * life_s))
        kept = RecordStore(proofs, limits).put(key, record, 0.0)
        assert kept is (KeepResult.KEPT if good else KeepResult.TOO_LONG)
        assert RecordCache(proofs, limits).put(key, record, 0.0) == good
        merge = RecordMerge(key, {}, settings=limits, proofs=proofs, trace=Trace())
        assert merge.offered([record], 0.0) == good
