"""Copies of experts that keepers and a backbone have."""

import shutil
from collections import Counter
from dataclasses import replace
from random import Random
from types import SimpleNamespace

import pytest

from core.base.ids import PeerId
from core.base.machine import Received, Trace
from core.dht.messages import Record
from core.experts.grid import ExpertGrid
from core.kept.state_files import DiskStateFile, DiskStateSink
from core.swarm.catching_up.donor import PastMembers
from core.swarm.experts.archive import ExpertArchive
from core.swarm.experts.copy_news import CopyHere
from core.swarm.experts.exchange import HostExperts
from core.swarm.experts.keeping import RECOVER_S, KeepingParts
from core.swarm.experts.other_hosts import OtherHosts
from core.swarm.experts.records import ExpertRow, bits_of, encode_row, row_key
from core.swarm.words.messages import EXPERT_FILES
from tests.unit.swarm.experts.test_exchange import MIXTURE, Directory, Pair


def archive_of(pair, peer, folder, room):
    parts = KeepingParts(
        hosts=OtherHosts(peer, MIXTURE, (), Random(1)),
        hosted=(),
        directory=Directory(pair, peer),
        sink=DiskStateSink(folder / peer.hex()[:4]),
        members=PastMembers(),
        room=room,
    )
    return ExpertArchive(peer, MIXTURE, parts, random=Random(1), trace=Trace())


@pytest.mark.parametrize("room", [100, 3])
def test_backbones_copies_outlive_all_hosts(tmp_path, room):
    first, backbone, newcomer = (PeerId(bytes([n]) * 32) for n in (3, 4, 5))
    pair = Pair(tmp_path, (first,))
    pair.peers[backbone] = archive_of(pair, backbone, tmp_path, room)
    pair.peers[backbone].start(0.0)
    pair.deliver(first, HostExperts(4))
    pair.go_on(20)
    lost = set(pair.peers[first].host.hosted)
    pair.save(first, 7)
    pair.go_on(60)
    pair.save(first, 9)
    pair.go_on(60)
    assert {pair.copies[backbone, expert] for expert in sorted(lost)[:room]} == {9}
    assert len([key for key in pair.copies if key[0] == backbone]) == min(room, 4)
    del pair.peers[first]
    pair.go_on(300)
    pair.peers[newcomer] = pair.new_peer(newcomer)
    pair.deliver(newcomer, HostExperts(4))
    pair.go_on(60)
    assert sorted(pair.began[newcomer, expert] for expert in lost) == [0] * (4 - min(room, 4)) + [9] * min(room, 4)


@pytest.mark.parametrize("free", [1000, 10**9])
def test_backbone_without_room_on_its_disk_asks_for_no_chunk(tmp_path, monkeypatch, free):
    """It looks every few seconds, and each chunk takes a home line's upload."""
    first, backbone = (PeerId(bytes([n]) * 32) for n in (3, 5))
    pair, asked = Pair(tmp_path, (first,)), []
    pair.peers[backbone] = archive_of(pair, backbone, tmp_path, 100)
    pair.peers[backbone].start(0.0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    give = pair.deliver

    def deliver(peer, event):
        asked.extend([event] if _is_asked_for_a_chunk(peer, event, (first,)) else [])
        give(peer, event)

    pair.deliver = deliver
    pair.deliver(first, HostExperts(4))
    pair.go_on(20)
    pair.save(first, 7)
    pair.go_on(60)
    assert bool(asked) == (free > 1000)
    assert len([key for key in pair.copies if key[0] == backbone]) == (4 if asked else 0)


def test_no_copy_grows_old_where_hosts_save_often(tmp_path):
    """Each time that a copy has come, its host has saved all of its experts anew."""
    first, second = (PeerId(bytes([n]) * 32) for n in (3, 4))
    fetched = Counter()

    class Busy(Pair):
        def keep(self, peer, expert, version, path):
            saved = int(self.now)
            self.copies[peer, expert] = version
            self.deliver(peer, CopyHere(expert, version, DiskStateFile(path, None), saved))
            if peer == second:
                fetched[expert] += 1
                self.save(first, version + 1)

    pair = Busy(tmp_path, (first, second))
    pair.deliver(first, HostExperts(4))
    pair.go_on(20)
    pair.save(first, 1)
    pair.deliver(second, HostExperts(4))
    pair.go_on(300)
    assert len(fetched) == 4
    assert min(fetched.values()) >= max(fetched.values()) / 2


def saved_at(pair, peers, version):
    """All experts of the first peer are saved, and the others have these files too."""
    pair.save(peers[0], version)
    for expert in sorted(pair.peers[peers[0]].host.hosted):
        for peer in peers[1:]:
            pair.keep(peer, expert, version, pair.folder / f"saved-{peers[0][0]}-{expert}-{version}")
    pair.go_on(5)


def test_copy_is_found_behind_keepers_that_are_gone(tmp_path):
    """The last of its five owners lives; two others have an older one."""
    *keepers, stale, other, newcomer = (PeerId(bytes([n]) * 32) for n in range(3, 11))
    pair = Pair(tmp_path, (*keepers, stale, other))
    pair.deliver(keepers[0], HostExperts(4))
    pair.go_on(20)
    saved_at(pair, [keepers[0], stale, other], 7)
    saved_at(pair, keepers, 9)
    lost = set(pair.peers[keepers[0]].host.hosted)
    for peer in keepers[:-1]:
        del pair.peers[peer]
    pair.go_on(200)
    pair.peers[newcomer] = pair.new_peer(newcomer)
    came = Counter()
    pair.keep = lambda peer, expert, *rest, keep=pair.keep: (came.update([(peer, expert)]), keep(peer, expert, *rest))
    pair.deliver(newcomer, HostExperts(4))
    pair.go_on(60)
    assert {pair.began[newcomer, expert] for expert in lost} == {9}
    assert {came[newcomer, expert] for expert in lost} == {1}, "none is fetched twice"


@pytest.mark.parametrize(("count", "met", "version"), [(3, False, 9), (6, True, 9), (6, False, 0)])
def test_owners_that_offer_and_give_nothing(tmp_path, count, met, version):
    """Strangers say truly that they have it; the one that gives it, perhaps a member, comes last in the DHT."""
    first, *stalling, giver, newcomer = (PeerId(bytes([n]) * 32) for n in range(3, 6 + count))
    pair = Pair(tmp_path, (first, *stalling, giver))
    pair.deliver(first, HostExperts(4))
    pair.go_on(20)
    saved_at(pair, [first, *stalling, giver], 9)
    give = pair.deliver
    pair.deliver = lambda peer, event: None if _is_asked_for_a_chunk(peer, event, stalling) else give(peer, event)
    del pair.peers[first]
    pair.go_on(200)
    pair.peers[newcomer] = pair.new_peer(newcomer)
    if met:
        pair.met[newcomer].met([giver])
    pair.deliver(newcomer, HostExperts(1))
    pair.go_on(60)
    assert [began for (peer, expert), began in pair.began.items() if peer == newcomer] == [version]


def _is_asked_for_a_chunk(peer, event, stalling):
    asks = isinstance(event, Received) and isinstance(event.message, EXPERT_FILES.chunk_ask)
    return asks and peer in stalling


def test_expert_waits_for_its_copy_behind_others_that_come_slowly(tmp_path):
    first, keeper, newcomer = (PeerId(bytes([n]) * 32) for n in (3, 4, 5))

    class Slow(Pair):
        """A chunk takes nearly as long as a taker waits, and all take longer than a worker does."""

        on_its_way = ()

        def deliver(self, peer, event):
            if peer == newcomer and isinstance(event, Received) and isinstance(event.message, EXPERT_FILES.chunk_give):
                self.on_its_way = (*self.on_its_way, (self.now + 0.9 * RECOVER_S, event))
            else:
                super().deliver(peer, event)

        def go_on(self, seconds):
            for _ in range(seconds):
                super().go_on(1)
                due = [event for at, event in self.on_its_way if at <= self.now]
                self.on_its_way = [one for one in self.on_its_way if one[0] > self.now]
                for event in due:
                    super().deliver(newcomer, event)

    pair = Slow(tmp_path, (first, keeper))
    pair.deliver(first, HostExperts(4))
    pair.go_on(20)
    saved_at(pair, [first, keeper], 9)
    lost = set(pair.peers[first].host.hosted)
    del pair.peers[first]
    pair.go_on(200)
    pair.peers[newcomer] = pair.new_peer(newcomer)
    pair.deliver(newcomer, HostExperts(4))
    pair.go_on(300)
    assert {pair.began.get((newcomer, expert)) for expert in lost} == {9}
    assert pair.left == []


def test_old_file_begins_no_expert_whose_copy_comes(tmp_path):
    """After a start the files that lie here are read one after the other, and told when the place is taken already."""
    first, keeper, newcomer = (PeerId(bytes([n]) * 32) for n in (3, 4, 5))
    pair, coming = Pair(tmp_path, (first, keeper)), []
    pair.deliver(first, HostExperts(1))
    pair.go_on(20)
    saved_at(pair, [first, keeper], 9)
    (lost,) = pair.peers[first].host.hosted
    del pair.peers[first]
    pair.go_on(200)
    pair.peers[newcomer] = pair.new_peer(newcomer)
    give = pair.deliver

    def deliver(peer, event):
        late = peer == newcomer and isinstance(event, Received) and isinstance(event.message, EXPERT_FILES.chunk_give)
        coming.append(event) if late else give(peer, event)

    pair.deliver = deliver
    pair.deliver(newcomer, HostExperts(1, (lost,)))
    while not coming:
        pair.go_on(0.2)
    path = tmp_path / "old"
    path.write_bytes(b"old" * 1000)
    pair.keep(newcomer, lost, 3, path)
    for event in coming:
        give(newcomer, event)
    pair.go_on(30)
    assert pair.began[newcomer, lost] == 9


def test_made_up_keys_take_no_copy_from_its_keepers(tmp_path):
    """Four hundred of them say to claim a place of each row, and come first for nearly all experts."""
    hosts = [PeerId(bytes([n]) * 32) for n in range(3, 9)]
    pair = Pair(tmp_path, hosts, replace(MIXTURE, grid=ExpertGrid((4, 4), 16)))
    for peer in hosts:
        pair.met[peer].met(hosts)
        pair.deliver(peer, HostExperts(3))
        pair.go_on(5)
    pair.go_on(60)
    word = encode_row(ExpertRow(hosted=b"", claimed=bits_of([0])))
    for number in range(400):
        key = PeerId(bytes([7, 7, number // 256, number % 256]) * 8)
        for row in range(4):
            pair.stored[row_key(MIXTURE.run, 0, (row,))][key] = Record(key, word, 10**9, bytes(64))
    came = Counter()
    pair.keep = lambda peer, expert, *rest, keep=pair.keep: (came.update([(peer, expert)]), keep(peer, expert, *rest))
    for peer in hosts:
        pair.save(peer, 7)
    pair.go_on(200)
    experts = [expert for peer in hosts for expert in pair.peers[peer].host.hosted]
    assert len(set(experts)) == 16
    assert min(sum(owner in hosts for owner, expert in pair.copies if expert == one) for one in experts) > 1
    assert max(came.values()) == 1, "none is dropped and fetched again"
