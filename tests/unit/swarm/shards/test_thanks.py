"""Credit for sharing: what receivers say, within what can be true."""

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from core.averaging.plan import Rates
from core.dht.events import Found
from core.dht.messages import Record
from core.swarm.shards.thanks import UNKNOWN, ShardCredit
from core.swarm.thanks import AGAIN_S, DAY_S, OWNERS_MAX, is_thanks
from tests.unit.swarm.shards.parts import peer

RUN = bytes(32)
NOON = 20_000 * DAY_S + DAY_S / 2
FAST = Rates(10**9, 10**9)


class Table:
    def __init__(self):
        self.records, self.read = {}, []

    def of(self, me):
        table = self

        class Own:
            def get(self, key, now):
                table.read.append((me, key))
                return []

            def store(self, key, value, *, lifetime_s, now, subkey=None):
                table.records[me] = key, Record(subkey, value, int(1000 * (now + lifetime_s)), bytes(64))
                return []

        return Own()


class Member:
    def __init__(self, table, number, received=None, data_bytes=10**9):
        self.table, self.me, self.received = table, peer(number), Counter(received or {})
        self.credit = ShardCredit(
            self.me,
            run=RUN,
            data_bytes=data_bytes,
            directory=table.of(self.me),
            received=self.received,
            random=Random(0),
        )

    def beat(self, now):
        self.credit.start(now)
        self.credit.tick(now)

    def hear(self, now):
        for key, record in self.table.records.values():
            assert is_thanks(key, record)
            self.credit.found(Found(key, (record,)), now)


def given_by(member, now, rates=lambda _: FAST, peers=range(1, 9)):
    return member.credit.credits([peer(number) for number in peers], rates, now)


def test_giver_gets_what_its_receivers_say():
    table = Table()
    Member(table, 1, {peer(3): 5000, peer(4): 100_000}).beat(NOON)
    Member(table, 2, {peer(3): 7000}).beat(NOON)
    looker = Member(table, 9)
    looker.hear(NOON)
    assert given_by(looker, NOON) == {peer(3): (5000 // 1024 + 7000 // 1024) * 1024, peer(4): 100_000 // 1024 * 1024}


@given(
    st.dictionaries(st.integers(2, 8), st.integers(0, 10**12), max_size=7),
    st.integers(1, 10**11),
    st.integers(1, 10**7),
    st.integers(1, 10**7),
)
def test_words_count_within_data_lines_and_time(said, data_bytes, down, up):
    table = Table()
    Member(table, 1, {peer(number): count for number, count in said.items()}).beat(NOON)
    looker = Member(table, 9, data_bytes=data_bytes)
    looker.hear(NOON)
    found = given_by(looker, NOON, lambda _: Rates(up, down))
    most = min(data_bytes, down * DAY_S / 2)
    assert sum(found.values()) <= most
    assert all(count <= up * DAY_S / 2 for count in found.values())
    assert all(found.get(peer(number), 0) <= count for number, count in said.items())


def test_two_friends_cannot_invent_terabytes():
    table = Table()
    Member(table, 1, {peer(2): 10**13}).beat(NOON)
    Member(table, 2, {peer(1): 10**13}).beat(NOON)
    looker = Member(table, 9, data_bytes=10**10)
    looker.hear(NOON)
    assert all(count <= 10**10 for count in given_by(looker, NOON).values())
    assert all(count <= UNKNOWN.up * DAY_S / 2 for count in given_by(looker, NOON, lambda _: None).values())


def test_nobody_thanks_itself():
    table = Table()
    Member(table, 1, {peer(1): 10**6}).beat(NOON)
    looker = Member(table, 9)
    looker.hear(NOON)
    assert given_by(looker, NOON) == {}


def test_words_of_yesterday_count_no_longer():
    table = Table()
    member = Member(table, 1, {peer(3): 10_240})
    member.beat(NOON)
    looker = Member(table, 9)
    looker.hear(NOON)
    assert given_by(looker, NOON + DAY_S) == {}
    member.credit.tick(NOON + DAY_S)
    member.received[peer(3)] += 20_480
    member.credit.tick(NOON + DAY_S + 2 * AGAIN_S)
    looker.hear(NOON + DAY_S)
    assert given_by(looker, NOON + DAY_S) == {peer(3): 20_480}


def test_member_that_begins_anew_goes_on_where_it_was():
    table = Table()
    Member(table, 1, {peer(3): 10_240}).beat(NOON)
    again = Member(table, 1)
    again.beat(NOON + 60)
    again.hear(NOON + 60)
    again.received[peer(3)] += 2048
    again.credit.tick(NOON + 60 + 2 * AGAIN_S)
    looker = Member(table, 9)
    looker.hear(NOON + 60)
    assert given_by(looker, NOON + 60) == {peer(3): 12_288}


def test_own_word_that_comes_back_adds_nothing():
    table = Table()
    member = Member(table, 1, {peer(3): 10_240})
    for day in range(2):
        for beat in range(4):
            now = NOON + day * DAY_S + 2 * beat * AGAIN_S
            member.beat(now) if not day and not beat else member.credit.tick(now)
            member.hear(now)
            if beat == 1:
                member.received[peer(3)] += 2048
        looker = Member(table, 9)
        looker.hear(now)
        assert given_by(looker, now) == {peer(3): 2048 if day else 12_288}


def test_words_of_made_up_keys_count_for_nothing():
    table, looker = Table(), Member(Table(), 9)
    Member(table, 1, {peer(3): 10_240}).beat(NOON)
    [(key, record)] = table.records.values()
    looker.credit.found(Found(key, (record,)), NOON)
    for number in range(100, 100 + 2 * OWNERS_MAX):
        looker.credit.found(Found(key, (Record(peer(number), record.value, record.expires_ms, bytes(64)),)), NOON)
    assert given_by(looker, NOON) == {}, "it remembers so many, and no more"
    looker.credit.found(Found(key, (record,)), NOON)
    assert given_by(looker, NOON) == {peer(3): 10_240}
