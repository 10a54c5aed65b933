"""False copies of experts, from a host that claims everything and from many passes, take no true one's place."""

from dataclasses import replace

from core.base.ids import PeerId
from core.dht.messages import Record
from core.swarm.experts.exchange import HostExperts
from core.swarm.experts.records import ExpertRow, bits_of, encode_row, row_key
from tests.unit.swarm.experts.test_exchange import MIXTURE, Pair


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
