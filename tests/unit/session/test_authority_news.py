"""Records of authority travel from peer to peer until all hold the newest."""

from random import Random
from typing import Any

import msgspec
import pytest

from core.base.authority_records import PURPOSE, REVOKED_MAX, AuthorityRecords, read_records, sign_records
from core.base.contact import Observed
from core.base.ids import PeerId
from core.base.machine import Received, Send, Tick
from core.base.problems import RemoteProblem
from core.base.signing import Ed25519Verifier
from core.base.trace import Trace
from core.session.authority_news import (
    GIVE_S,
    SPREAD_PEERS,
    TELL_S,
    AuthorityDecided,
    AuthorityNews,
    RecordsAsk,
    RecordsGiven,
    RecordsNumber,
)
from tests.unit.net.people import NOW, OTHER_RUN, RUN, id_of, keys

EVE = id_of("eve")


def news(name: str = "anna") -> AuthorityNews:
    return AuthorityNews(authority_id=id_of("authority"), manifest_id=RUN, random=Random(name), trace=Trace())


def signed(number: int, *revoked: PeerId, by: str = "authority", run: bytes = RUN) -> bytes:
    return sign_records(AuthorityRecords(number=number, revoked=revoked), keys(by), run)


class Town:
    """Peers that have met a few others; messages arrive at once."""

    def __init__(self, size: int, met: int) -> None:
        random = Random(1)
        self.peers = {id_of(f"p{number}"): news(f"p{number}") for number in range(size)}
        for own, peer in self.peers.items():
            for other in random.sample(list(self.peers), met):
                if other != own:
                    peer.handle(Observed(other, "127.0.0.1", 9), NOW)
        self.sent = 0

    def carry(self, sender: PeerId, outputs: Any, now: float) -> None:
        queue = [(sender, output) for output in outputs]
        while queue:
            sender, output = queue.pop()
            if isinstance(output, Send):
                self.sent += 1
                queue += [(output.to, o) for o in self.peers[output.to].handle(Received(sender, output.message), now)]

    def pass_time(self, begin: float, seconds: int) -> None:
        for second in range(seconds):
            now = begin + second
            for own, peer in self.peers.items():
                if peer.deadline is not None and peer.deadline <= now:
                    self.carry(own, peer.handle(Tick(), now), now)


def test_all_learn_of_a_decision_at_once():
    town = Town(200, 8)
    town.pass_time(NOW, 60)
    assert town.sent <= 200 * 60 / (0.8 * TELL_S) + 200
    (own, peer), *_ = town.peers.items()
    town.carry(own, peer.learn(signed(7, EVE)), NOW + 60)
    assert all(each.records.revoked == (EVE,) for each in town.peers.values())


def test_latecomer_learns_within_a_minute():
    town = Town(30, 5)
    (own, peer), *_ = town.peers.items()
    town.carry(own, peer.learn(signed(7, EVE)), NOW)
    late = id_of("late")
    town.peers[late] = news("late")
    for own in list(town.peers)[:2]:
        town.peers[late].handle(Observed(own, "127.0.0.1", 9), NOW)
    town.pass_time(NOW, 60)
    assert town.peers[late].records.number == 7


@pytest.mark.parametrize(
    "bad", [signed(9, EVE, by="eve"), signed(9, EVE, run=OTHER_RUN), b"", b"\xc1", signed(9, EVE)[:-1]]
)
def test_list_that_the_authority_did_not_sign_is_dropped(bad):
    peer = news()
    assert peer.handle(Received(EVE, RecordsGiven(bad)), NOW) == ()
    assert peer.records == AuthorityRecords()
    with pytest.raises(RemoteProblem):
        peer.learn(bad)


def test_earlier_lists_replace_none():
    peer = news()
    assert peer.learn(signed(7, EVE)) == [AuthorityDecided(AuthorityRecords(number=7, revoked=(EVE,)), signed(7, EVE))]
    for number in (0, 6, 7):
        assert peer.handle(Received(EVE, RecordsGiven(signed(number))), NOW) == ()
    assert peer.records.revoked == (EVE,)


def test_list_is_given_to_one_peer_now_and_then():
    peer = news()
    assert peer.handle(Received(EVE, RecordsAsk()), NOW) == ()
    peer.learn(signed(7))
    given = [len(peer.handle(Received(EVE, RecordsAsk()), NOW + second)) for second in range(int(2 * GIVE_S))]
    assert sum(given) == 2
    assert peer.handle(Received(id_of("ben"), RecordsAsk()), NOW)


def test_who_is_shut_out_is_told_first():
    peer = news()
    for number in range(200):
        peer.handle(Observed(id_of(f"p{number}"), "127.0.0.1", 9), NOW)
    peer.handle(Observed(EVE, "127.0.0.1", 9), NOW)
    _, first, *others = peer.learn(signed(7, id_of("stranger"), EVE))
    assert first == Send(EVE, RecordsNumber(7))
    sent = [first.to, *(output.to for output in others)]
    assert SPREAD_PEERS <= len(sent) == len(set(sent)) <= SPREAD_PEERS + 1


def test_invented_number_costs_its_teller_a_question():
    assert news().handle(Received(EVE, RecordsNumber(2**53 - 1)), NOW) == [Send(EVE, RecordsAsk())]


def read(data: bytes) -> AuthorityRecords:
    return read_records(data, authority_id=id_of("authority"), manifest_id=RUN, verifier=Ed25519Verifier())


def test_longest_list_can_be_read():
    longest = [PeerId(number.to_bytes(32, "big")) for number in range(REVOKED_MAX)]
    assert read(signed(2**53 - 1, *longest)).revoked == tuple(longest)


def test_list_of_a_later_version_is_passed_on_whole():
    later = msgspec.msgpack.encode({"number": 9, "revoked": [EVE], "ended": {"at": 1.0, "why": "done"}})
    data = msgspec.msgpack.encode([later, keys("authority").sign(PURPOSE + RUN + later)])
    assert read(data) == AuthorityRecords(number=9, revoked=(EVE,))
    peer = news()
    peer.learn(data)
    assert peer.handle(Received(EVE, RecordsAsk()), NOW) == [Send(EVE, RecordsGiven(data))]
