"""Facts of lines through the DHT."""

from random import Random

import pytest

from core.averaging.bandwidth.book import LineBook
from core.averaging.bandwidth.records import LineFacts, encode_facts
from core.averaging.plan import Rates
from core.base.machine import Trace
from core.dht.events import Found
from core.dht.node import DhtNode
from core.dht.records import sign_record
from core.dht.settings import DhtSettings
from core.swarm.presence.line_news import AGAIN_S, READ_S, REST_S, SCHEMAS, LineNews, is_facts, lines_key
from core.swarm.presence.membership import Membership
from tests.sim.world.signing import SimSigner, SimVerifier
from tests.unit.swarm.stage import report_of

RUN = b"r" * 32
KEY = lines_key(RUN)
NOW = 1_700_000_000.0
ME, BEA = SimSigner.numbered(0, 0), SimSigner.numbered(0, 1)


class FakeDht:
    """Notes what is stored and read."""

    def __init__(self) -> None:
        self.done: list[tuple[str, float]] = []

    def store(
        self, key: bytes, value: bytes, *, lifetime_s: float, now: float, subkey: bytes | None = None
    ) -> list[object]:
        assert (key, subkey) == (KEY, ME.peer_id)
        self.done.append(("store", now))
        return []

    def get(self, key: bytes, now: float) -> list[object]:
        assert key == KEY
        self.done.append(("get", now))
        return []

    def times(self, what: str) -> list[float]:
        return [at for done, at in self.done if done == what]


def news() -> tuple[LineNews, FakeDht, LineBook]:
    dht, book, membership = FakeDht(), LineBook(ME.peer_id), Membership()
    membership.heard(BEA.peer_id, report_of(time=NOW), expires=NOW + 1e6, now=NOW)
    one = LineNews(
        me=ME.peer_id,
        run=RUN,
        dht=dht,  # type: ignore[arg-type]
        book=book,
        membership=membership,
        random=Random(1),
    )
    return one, dht, book


def run(one: LineNews, until: float) -> None:
    while (at := one.deadline) is not None and at <= until:
        one.tick(at)


def record(signer: SimSigner, value: bytes, *, subkey: bytes | None = None):
    return sign_record(signer, KEY, value, subkey=subkey or bytes(signer.peer_id), expires_ms=int((NOW + 100) * 1000))


def test_member_reads_facts_at_start_but_publishes_only_after_rounds() -> None:
    one, dht, _ = news()
    assert one.deadline is None
    one.start(NOW)
    run(one, NOW + 5 * READ_S)
    assert not dht.times("store")
    assert 4 <= len(dht.times("get")) <= 8
    later = NOW + 5 * READ_S
    one.changed(later)
    run(one, later + AGAIN_S * 1.5)
    stored = dht.times("store")
    assert stored[0] == later
    assert len(stored) == 2, "and again now and then"
    assert any(later < at < later + 2 for at in dht.times("get")), "the others have told theirs by then"


def test_rounds_in_quick_succession_are_not_published_one_by_one() -> None:
    one, dht, _ = news()
    one.start(NOW)
    for tenth in range(200):
        one.changed(NOW + tenth / 10)
        run(one, NOW + tenth / 10)
    assert len(dht.times("store")) <= 20 / REST_S + 1
    assert len(dht.times("get")) <= 20 / REST_S + 2


def test_facts_of_others_are_noted_and_foreign_records_are_not() -> None:
    one, _, book = news()
    good = encode_facts(LineFacts(Rates(5, 6)))
    trace = Trace()
    found = Found(KEY, (record(BEA, good), record(ME, good), record(SimSigner.numbered(0, 2), b"garbage")))
    assert one.found(found, trace=trace)
    assert list(book._facts) == [BEA.peer_id]
    assert trace["lines.drop.schema"] == 1
    assert not one.found(Found(lines_key(b"x" * 32), ()), trace=trace)


def test_only_facts_stand_under_the_key() -> None:
    node = DhtNode(
        signer=ME, verifier=SimVerifier(), random=Random(1), settings=DhtSettings(), trace=Trace(), validators=SCHEMAS
    )
    good = encode_facts(LineFacts(Rates(5, 6)))
    assert is_facts(KEY, record(BEA, good))
    assert not is_facts(KEY, record(BEA, good, subkey=bytes(BEA.peer_id) + b"2"))
    with pytest.raises(ValueError, match="class"):
        node.store(KEY, b"no facts", lifetime_s=60, now=NOW)
