"""What is believed of others' reports, whatever the clocks say."""

import itertools
from random import Random

import pytest
from msgspec.structs import replace

from core.base.ids import PeerId
from core.base.machine import Trace
from core.base.signing import Ed25519Verifier, KeyPair
from core.dht.events import Found
from core.dht.node import DhtNode
from core.dht.records import sign_record
from core.dht.settings import DhtSettings
from core.swarm.presence.beacon import (
    BELIEVED_S,
    QUIET_S,
    READ_INTERVAL_MAX_S,
    READ_INTERVAL_MIN_S,
    REPORT_LIFETIME_S,
    REST_S,
    TIME_AHEAD_MAX_S,
    Beacon,
)
from core.swarm.presence.membership import SILENT_S, Membership
from core.swarm.words.progress import SCHEMAS, ProgressReport, encode_report, is_report, progress_key

NOW = 1_700_000_000.0
RUN = b"r" * 32
KEY = progress_key(RUN)
BEA = KeyPair(b"b" * 32)
ME = KeyPair(b"m" * 32)


def report(time):
    return ProgressReport(
        role="volunteer", activity="training", host="127.0.0.1", port=1, epoch=0, lineage=b"l" * 32,
        digest=b"", in_step=True, samples=3, samples_per_s=1.0, time=time,
    )  # fmt: skip


def record(time, *, subkey=None, value=None):
    """Bea's report of `time` by her own clock."""
    data = encode_report(report(time)) if value is None else value
    subkey = bytes(BEA.peer_id) if subkey is None else subkey
    return sign_record(BEA, KEY, data, subkey=subkey, expires_ms=int((time + REPORT_LIFETIME_S) * 1000))


def beacon():
    membership = Membership()
    dht = DhtNode(signer=ME, verifier=Ed25519Verifier(), random=Random(1), settings=DhtSettings(), trace=Trace())
    return Beacon(me=ME.peer_id, run=RUN, dht=dht, membership=membership, random=Random(1)), membership


def hear(one, hers, now):
    return one.found(Found(KEY, (record(hers),)), trace=Trace(), now=now)


@pytest.mark.parametrize("ahead_s", [-59.0, -30.0, 0.0, 30.0, 59.0])
def test_a_minute_between_two_clocks_does_no_harm(ahead_s):
    one, membership = beacon()
    heard = [bool(hear(one, NOW + second + ahead_s, NOW + second)) for second in range(4)]
    assert heard[1:] == [True, True, True]
    assert list(membership.live()) == [BEA.peer_id]


def test_the_last_words_of_somebody_gone_are_not_believed():
    one, membership = beacon()
    for second in range(10):
        assert not hear(one, NOW - BELIEVED_S - 1, NOW + second)
    assert not membership.live()


def test_report_from_the_future_is_dropped():
    """A clock that far ahead would keep its peer's later reports from ever being news."""
    one, membership = beacon()
    trace = Trace()
    future = Found(KEY, (record(NOW + TIME_AHEAD_MAX_S + 1),))
    assert one.found(future, trace=trace, now=NOW) == {}
    assert trace["progress.drop.future"] == 1
    assert not membership.live()
    assert hear(one, NOW + TIME_AHEAD_MAX_S, NOW)


def test_silence_is_believed_for_a_while_only():
    one, membership = beacon()
    hear(one, NOW, NOW)
    hear(one, NOW, NOW + BELIEVED_S - 0.1)
    assert membership.live()
    hear(one, NOW, NOW + BELIEVED_S)
    assert not membership.live()


def test_only_reports_stand_under_a_progress_key():
    verifier, settings = Ed25519Verifier(), DhtSettings()
    node = DhtNode(signer=ME, verifier=verifier, random=Random(1), settings=settings, trace=Trace(), validators=SCHEMAS)
    assert is_report(KEY, record(NOW))
    assert not is_report(KEY, record(NOW, subkey=bytes(BEA.peer_id) + b"2"))
    with pytest.raises(ValueError, match="class"):
        node.store(KEY, b"no report", lifetime_s=60, now=NOW)
    assert PeerId(record(NOW).subkey) == BEA.peer_id


def test_words_of_others_make_us_read_soon_but_not_publish():
    """Anybody can say a thousand times a second that it stands elsewhere."""
    one, _ = beacon()
    one.start(NOW)
    one.tick(report(NOW), NOW)
    published, read_at = one._publish_at, one._read_at
    for number in range(1000):
        one.look(NOW + number / 1e6)
    assert one._publish_at == published
    assert NOW + READ_INTERVAL_MIN_S == one._read_at < read_at
    one.hurry(NOW + 0.1)
    assert one._publish_at == NOW + 0.1


class Noted:
    """In a DhtNode's place: when it was asked, in seconds from NOW on."""

    def __init__(self):
        self.stored, self.read, self.woken = [], [], 0

    def store(self, key, value, *, lifetime_s, now, subkey):
        self.stored.append(now - NOW)
        return []

    def get(self, key, now):
        self.read.append(now - NOW)
        return []


def noted(said=report, *, until_s, follows=False, hers=None, eta_s=None):
    """What a beacon asks of the DHT at its deadlines; another peer's report is `hers` all the time.

    Args:
        said: This peer's report at a time.
        until_s: How long.
        follows: As a backbone does.
        hers: The other peer's report; None: there is no other peer.
        eta_s: How near the optimiser step was at the beginning.
    """
    dht, membership = Noted(), Membership()
    if hers is not None:
        membership.heard(BEA.peer_id, hers, expires=NOW + 1000, now=NOW)
    one = Beacon(me=ME.peer_id, run=RUN, dht=dht, membership=membership, random=Random(1))
    one.start(NOW, follows=follows)
    one.pace(eta_s, NOW)
    while one.deadline < NOW + until_s:
        one.tick(said(one.deadline), one.deadline)
        dht.woken += 1
    return dht


def longest(moments):
    return max(later - earlier for earlier, later in itertools.pairwise(moments))


def test_unchanged_report_is_published_less_often_and_is_never_silent():
    published = noted(until_s=300).stored
    assert len(published) < 300 / 2
    assert longest(published) <= QUIET_S + 0.2
    assert longest(published) + 1.2 * READ_INTERVAL_MAX_S < SILENT_S


def test_volunteer_that_rests_is_woken_rarely():
    """Once for both things that it does: a look at whether its report is news costs as much as the report.

    However near the optimiser step was when its trainer left.
    """
    resting = replace(report(NOW), activity="idle", in_step=False)
    dht = noted(lambda now: replace(resting, time=now), until_s=300, eta_s=0.1)
    assert longest(dht.stored) <= REST_S
    assert 2 * longest(dht.stored) + 1.2 * READ_INTERVAL_MAX_S < BELIEVED_S
    assert longest(dht.read) < SILENT_S
    assert dht.woken == len(dht.stored) == len(dht.read) <= 300 / (0.6 * REST_S)


def test_news_is_published_within_a_second():
    published = noted(lambda now: replace(report(now), samples=int(1000 * (now - NOW))), until_s=60).stored
    assert longest(published) <= 1.2


@pytest.mark.parametrize(("in_step", "every_s"), [(True, 1.2), (False, 1.2 * READ_INTERVAL_MAX_S)])
def test_backbone_reads_each_second_while_anybody_trains(in_step, every_s):
    read = noted(until_s=60, follows=True, hers=replace(report(NOW), in_step=in_step)).read
    assert every_s / 1.5 < longest(read) <= every_s


def test_another_process_with_the_same_key_is_noticed():
    def mine(time):
        data = encode_report(report(time))
        expires_ms = int((time + REPORT_LIFETIME_S) * 1000)
        return Found(KEY, (sign_record(ME, KEY, data, subkey=bytes(ME.peer_id), expires_ms=expires_ms),))

    one, membership = beacon()
    one.start(NOW)
    for second in range(5):
        one.tick(report(NOW + second), NOW + second)
    for time in (
        NOW - 3,
        NOW,
        NOW + 3,
        NOW + 2.5,
    ):  # from before its start, its own, one of a former process
        one.found(mine(time), trace=Trace(), now=NOW + 5)
        assert one.twin is None
    one.found(mine(NOW + 3.5), trace=Trace(), now=NOW + 5)
    assert one.twin == report(NOW + 3.5)
    assert not membership.live(), "nobody else is here for that"
