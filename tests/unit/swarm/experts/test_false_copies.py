"""False copies of experts, from a host that claims everything and from many passes, take no true one's place."""

from dataclasses import replace

from core.base.ids import PeerId
from core.dht.messages import Record
from core.experts.hosting import ExpertLost
from core.swarm.experts.exchange import HostExperts, SurveyExperts
from core.swarm.experts.places import PlaceTaken
from core.swarm.experts.records import ExpertRow, bits_of, encode_row, row_key
from tests.unit.swarm.experts.test_exchange import MIXTURE, Pair
from tests.unit.swarm.experts.test_keeping import saved_at


def test_host_that_claims_all_places_has_few_copies_kept(tmp_path):
    """It says to have come first to all places, and gives files for them."""
    *hosts, liar = (PeerId(bytes([n]) * 32) for n in (3, 4, 5, 6, 99))
    pair = Pair(tmp_path, (*hosts, liar), replace(MIXTURE, owner_most=1))
    pair.go_on(100)
    for peer in hosts:
        pair.deliver(peer, HostExperts(4))
        pair.go_on(20)
        pair.save(peer, 7)
    pair.go_on(60)
    experts = {expert for peer in hosts for expert in pair.peers[peer].host.hosted}
    assert len(experts) == 4
    for expert in experts:
        path = tmp_path / f"lie-{expert}"
        path.write_bytes(b"a lie" * 100_000)
        pair.keep(liar, expert, 2**40, path)
    for row in ((0,), (1,)):
        record = Record(liar, encode_row(ExpertRow(hosted=bits_of((0, 1)))), 10**9, bytes(64))
        pair.stored[row_key(MIXTURE.run, 0, row)][liar] = record
    pair.go_on(120)
    lies = {expert for (peer, expert), version in pair.copies.items() if peer != liar and version == 2**40}
    assert len(lies) <= 1, "an owner counts for one place here"


def test_false_copy_of_many_strangers_begins_no_expert(tmp_path):
    """Three passes have it, and two keepers the true one."""
    first, second, third, *liars = (PeerId(bytes([n]) * 32) for n in (3, 4, 5, 97, 98, 99))
    pair = Pair(tmp_path, (first, second, third, *liars))
    pair.deliver(first, HostExperts(4))
    pair.go_on(25)
    pair.save(first, 9)
    for peer in (second, third):
        pair.deliver(peer, HostExperts(4))
    pair.go_on(90)
    lost = set(pair.peers[first].host.hosted)
    assert {pair.copies.get((peer, expert)) for peer in (second, third) for expert in lost} == {9}
    for expert in lost:
        for liar in liars:
            path = tmp_path / f"lie-{liar[0]}-{expert}"
            path.write_bytes(b"a lie" * 100_000)
            pair.keep(liar, expert, 2**40, path)
    del pair.peers[first]
    for peer in (second, third):
        pair.deliver(peer, HostExperts(0))
    newcomer = PeerId(bytes([6]) * 32)
    pair.peers[newcomer] = pair.new_peer(newcomer)
    pair.met[newcomer].met([second])
    pair.deliver(newcomer, HostExperts(4))
    pair.go_on(60)
    assert {pair.began[newcomer, expert] for expert in lost} == {9}


class Strict(Pair):
    """Workers refuse the liar's files, and set them aside."""

    def take(self, peer, outputs):
        for output in outputs:
            named = (output.layer, output.place) if isinstance(output, PlaceTaken) else None
            if named is not None and self.copies.get((peer, named)) == 2**40:
                del self.copies[peer, named]
                self.deliver(peer, ExpertLost(*named, "It is damaged.", damaged=True))
            else:
                super().take(peer, [output])


def test_copy_that_a_worker_refuses_gives_way_to_another(tmp_path):
    """As many have it as the true one, and it says a later version."""
    first, keeper, liar, newcomer, last = (PeerId(bytes([n]) * 32) for n in (3, 4, 99, 6, 7))
    pair = Strict(tmp_path, (first, keeper, liar))
    pair.deliver(first, HostExperts(4))
    pair.go_on(20)
    saved_at(pair, [first, keeper], 9)
    lost = set(pair.peers[first].host.hosted)
    for expert in lost:
        path = tmp_path / f"lie-{expert}"
        path.write_bytes(b"a lie" * 100_000)
        pair.keep(liar, expert, 2**40, path)
    del pair.peers[first]
    pair.go_on(700)
    pair.peers[newcomer] = pair.new_peer(newcomer)
    pair.deliver(newcomer, HostExperts(4))
    pair.go_on(120)
    assert {pair.began.get((newcomer, expert)) for expert in lost} == {9}
    pair.go_on(300)
    pair.peers[last] = pair.new_peer(last)
    pair.deliver(last, SurveyExperts())
    owners = {
        owner for one in pair.peers[last].known(pair.now) for owner, copy in one.copies.items() if copy.version > 9
    }
    assert owners == {liar}, "nobody else offers what it could not use"
