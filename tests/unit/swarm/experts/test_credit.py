"""Credit for hosting: what trainers sign, within what their samples take."""

from collections import Counter
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.averaging.plan import Rates
from core.base.ids import PeerId
from core.base.mixture import ExpertNumbers
from core.dht.events import Found
from core.swarm.experts.credit import ExpertCredit, KnownOfPeers
from core.swarm.experts.exchange import HostExperts, SearchExperts, UselessAnswer
from core.swarm.experts.records import Mixture
from core.swarm.thanks import AGAIN_S, DAY_S, is_thanks
from tests.unit.swarm.experts.test_exchange import HOST, TRAINER, Pair
from tests.unit.swarm.shards.test_thanks import NOON, Table

NUMBERS = ExpertNumbers(layers=3, live=16, top=2, spare=1, width=64)
MIXTURE = Mixture.of(bytes(32), NUMBERS)
PEERS = [PeerId(bytes([number]) * 32) for number in range(1, 5)]
FAST = Rates(10**9, 10**9)


def known(samples, rates=FAST):
    return KnownOfPeers(rates=lambda _: rates, samples=lambda peer: samples.get(peer, 0))


def credited(said, samples, *, rates=FAST):
    """What is counted of what trainers say.

    Args:
        said: By trainer, rows by host.
        samples: What rounds have counted, by trainer.
        rates: Of all lines.
    """
    table = Table()
    for trainer, rows in said.items():
        credit = ExpertCredit(
            trainer, mixture=MIXTURE, directory=table.of(trainer), received=Counter(rows), random=Random(0)
        )
        credit.start(NOON)
        credit.tick(NOON)
    looker = ExpertCredit(PEERS[3], mixture=MIXTURE, directory=table.of(PEERS[3]), received=Counter(), random=Random(0))
    for key, record in table.records.values():
        assert is_thanks(key, record)
        looker.found(Found(key, (record,)), NOON)
    return looker.credits(PEERS, known(samples, rates), NOON)


def test_host_is_credited_with_rows_that_its_trainer_signs(tmp_path):
    pair = Pair(tmp_path)
    for peer in pair.peers.values():
        peer.start(pair.now)
    pair.deliver(HOST, HostExperts(3))
    pair.go_on(20)
    pair.deliver(TRAINER, SearchExperts(1, 0, np.zeros((1, 4), np.float32), 3))
    pair.go_on(1)
    (_, place), *_ = sorted(pair.peers[HOST].host.hosted)
    for ticket in range(2, 7):
        pair.ask(ticket, place)
    pair.deliver(TRAINER, UselessAnswer(6))
    pair.go_on(3 * AGAIN_S)
    for peer in pair.peers.values():
        assert peer.credit.credits([TRAINER, HOST], known({TRAINER: 100}), pair.now) == {HOST: 4}


def test_pair_that_trades_in_words_gets_what_its_samples_take():
    trainer, host, other, _ = PEERS
    assert credited({trainer: {host: 10**11}}, {trainer: 1000}) == {host: 1000 * 3 * 2 * 3}
    assert credited({trainer: {host: 10**11, other: 10**11}}, {trainer: 1000}) == {host: 9000, other: 9000}


def test_trainer_without_samples_credits_nobody():
    trainer, host, *_ = PEERS
    assert credited({trainer: {host: 10**11}}, {host: 1000}) == {}


def test_nobody_is_credited_by_itself():
    trainer, *_ = PEERS
    assert credited({trainer: {trainer: 1000}}, {trainer: 1000}) == {}


@given(
    st.dictionaries(st.sampled_from(PEERS), st.integers(1, 10**11)),
    st.integers(0, 10**6),
    st.integers(1, 10**6),
)
def test_words_count_within_samples_and_lines(rows, samples, up):
    trainer = PEERS[0]
    found = credited({trainer: rows}, {trainer: samples}, rates=Rates(up, 10**9))
    most = up * (DAY_S / 2) / MIXTURE.row_bytes
    assert sum(found.values()) <= min(most, samples * MIXTURE.sample_rows)
    assert all(found[host] <= rows[host] for host in found)
