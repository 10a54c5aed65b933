"""Records of authority travel from peer to peer until all hold the newest."""

from random import Random
from typing import Any

import msgspec
import pytest

from core.authority import holds
from core.authority.changes import new_holds
from core.authority.decisions import Decisions
from core.authority.documents import Document, DocumentKind, Signature
from core.authority.holds import HeldPerson
from core.authority.news import (
    GIVE_BURST,
    GIVE_S,
    GIVEN_BYTES_MAX,
    SIGNED_BYTES_MAX,
    SPREAD_PEERS,
    TELL_S,
    AuthorityDecided,
    AuthorityNews,
    RecordsAsk,
    RecordsGiven,
    RecordsNumber,
)
from core.authority.records import AuthorityRecords, read_bundle
from core.base.ids import Observed, PeerId
from core.base.machine import Received, Send, Tick, Trace
from core.base.signing import Ed25519Verifier
from tests.unit.authority.people import FOUNDER, SEAL, decided, founders, known, town
from tests.unit.net.people import NOW, RUN, id_of, keys

EVE = id_of("eve")


def news(name: str = "anna", *documents: Document) -> AuthorityNews:
    return AuthorityNews(known(*documents), random=Random(name), trace=Trace())


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
    town.carry(own, peer.learn(founders(7, EVE), NOW), NOW + 60)
    assert all(each.records.decisions.revoked == (EVE,) for each in town.peers.values())


def test_latecomer_learns_within_a_minute():
    town = Town(30, 5)
    (own, peer), *_ = town.peers.items()
    town.carry(own, peer.learn(founders(7, EVE), NOW), NOW)
    late = id_of("late")
    town.peers[late] = news("late")
    for own in list(town.peers)[:2]:
        town.peers[late].handle(Observed(own, "127.0.0.1", 9), NOW)
    town.pass_time(NOW, 60)
    assert town.peers[late].records.decisions.number == 7


@pytest.mark.parametrize("bad", [founders(9, EVE, by=keys("eve")), b"", b"\xc1", founders(9, EVE)[:-1]])
def test_document_without_its_signatures_is_dropped(bad):
    peer = news()
    assert peer.handle(Received(EVE, RecordsGiven(bad)), NOW) == ()
    assert peer.records.to_bytes() == b""


def test_document_of_a_message_comes_alone():
    """A message of 48 KiB had room for hundreds, each with signatures to check."""
    checked = 0

    class Counting(Ed25519Verifier):
        def verify(self, *words: Any) -> bool:
            nonlocal checked
            checked += 1
            return super().verify(*words)

    records = AuthorityRecords(FOUNDER, RUN, Counting())
    peer = AuthorityNews(records, random=Random(1), trace=Trace())
    forged = [
        Document(body, (Signature(FOUNDER, bytes(64)),), DocumentKind.HOLDS)
        for body in (holds.SCHEMA.encode(holds.Holds(number=int(NOW) + number)) for number in range(200))
    ]
    data = msgspec.msgpack.encode(forged)
    assert len(data) <= SIGNED_BYTES_MAX
    assert peer.handle(Received(EVE, RecordsGiven(data)), NOW) == ()
    assert checked == 0
    assert peer.handle(Received(EVE, RecordsGiven(msgspec.msgpack.encode(forged[0]))), NOW) == ()
    assert checked == 1


def test_earlier_lists_replace_none():
    peer = news()
    (decided,) = peer.learn(founders(7, EVE), NOW)
    assert decided == AuthorityDecided(Decisions(number=7, revoked=(EVE,)), frozenset({EVE}), founders(7, EVE))
    for number in (1, 6):
        assert peer.handle(Received(EVE, RecordsGiven(founders(number))), NOW) == ()
    assert peer.records.decisions.revoked == (EVE,)


def test_documents_are_given_to_one_peer_now_and_then():
    peer = news()
    peer.learn(founders(7), NOW)
    given = [len(peer.handle(Received(EVE, RecordsAsk()), NOW + second)) for second in range(int(10 * GIVE_S))]
    assert sum(given) == GIVE_BURST - 1 + 10
    assert peer.handle(Received(id_of("ben"), RecordsAsk()), NOW)


def test_who_is_shut_out_is_told_first():
    peer = news()
    for number in range(200):
        peer.handle(Observed(id_of(f"p{number}"), "127.0.0.1", 9), NOW)
    peer.handle(Observed(EVE, "127.0.0.1", 9), NOW)
    _, first, *others = peer.learn(founders(7, id_of("stranger"), EVE), NOW)
    assert (first.to, first.message.number) == (EVE, 7)
    sent = [first.to, *(output.to for output in others)]
    assert SPREAD_PEERS <= len(sent) == len(set(sent)) <= SPREAD_PEERS + 1


def test_shut_out_are_told_in_one_order():
    """A set has another order in each process, and a simulated town has to come out the same again."""
    peer, many = news(), [id_of(f"p{number}") for number in range(SPREAD_PEERS)]
    for each in many:
        peer.handle(Observed(each, "127.0.0.1", 9), NOW)
    _, *told = peer.learn(founders(7, *many), NOW)
    assert [output.to for output in told] == sorted(many)


def test_invented_summary_costs_its_teller_some_questions():
    peer = news()
    said = RecordsNumber(2**53 - 1, b"invented")
    asked = [peer.handle(Received(EVE, said), NOW + second) for second in range(int(10 * GIVE_S))]
    assert sum(map(len, asked)) == GIVE_BURST - 1 + 10


def test_earlier_version_is_told_and_tells():
    peer = news("anna", read_bundle(founders(7, EVE))[0])
    (told,) = peer.handle(Received(EVE, RecordsNumber(3)), NOW)
    assert told.message.number == 7
    assert peer.handle(Received(EVE, RecordsNumber(9)), NOW) == [Send(EVE, RecordsAsk(tuple(peer.records.marked())))]
    assert peer.handle(Received(id_of("old"), RecordsAsk()), NOW) == [
        Send(id_of("old"), RecordsGiven(founders(7, EVE)))
    ]


def test_signatures_meet_without_a_backbone():
    crowd = Town(24, 6)
    moderators = town("anna", "ben", "cleo")
    for peer in crowd.peers.values():
        peer.learn(moderators.to_bytes(), NOW)
    proposal = decided(moderators, "anna", revoked=(EVE,))
    (first, peer), (second, other), *_ = crowd.peers.items()
    crowd.carry(first, peer.learn(SEAL.written(proposal), NOW), NOW)
    crowd.pass_time(NOW, 60)
    (waiting,) = other.records.proposals
    crowd.carry(second, other.learn(SEAL.written(SEAL.countersign(waiting.document, keys("ben"))), NOW + 60), NOW + 60)
    crowd.pass_time(NOW + 60, 30)
    assert all(each.records.shut_out(NOW) == {EVE} for each in crowd.peers.values())


def test_end_of_a_hold_is_told():
    peer = news()
    peer.handle(Observed(EVE, "127.0.0.1", 9), NOW)
    hold = HeldPerson(EVE, int(NOW) + 60, "")
    decided, *_ = peer.learn(
        SEAL.written(new_holds(peer.records, keys("authority"), NOW, hold=[hold], release=[EVE])), NOW
    )
    assert decided.shut_out == {EVE}
    told = [
        out for second in range(120) for out in peer.handle(Tick(), NOW + second) if isinstance(out, AuthorityDecided)
    ]
    assert [one.shut_out for one in told] == [frozenset()]


def test_giving_of_much_is_cut_and_goes_on():
    crowd, moderators = Town(2, 2), town(*(f"m{number}" for number in range(15)))
    peer, other = crowd.peers.values()
    peer.learn(moderators.to_bytes(), NOW)
    for author in range(10):
        many = tuple(id_of(f"{author} {number}") for number in range(1000))
        peer.learn(SEAL.written(decided(moderators, f"m{author}", revoked=many)), NOW)
    (summary,) = peer.handle(Received(EVE, RecordsNumber(0)), NOW)
    given = peer.handle(Received(EVE, RecordsAsk()), NOW)
    assert sum(len(one.message.signed) for one in given) <= GIVEN_BYTES_MAX
    assert summary.message.known
    crowd.pass_time(NOW, 120)
    assert len(list(other.records.proposals)) == 10
