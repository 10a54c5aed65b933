"""Copies of experts that keepers and a backbone have."""

from collections import Counter
from random import Random

import pytest

from core.base.ids import PeerId
from core.base.trace import Trace
from core.kept.state_files import DiskStateFile, DiskStateSink
from core.swarm.catching_up.donor import PastMembers
from core.swarm.experts.archive import ExpertArchive
from core.swarm.experts.copy_news import CopyHere
from core.swarm.experts.exchange import HostExperts
from core.swarm.experts.keeping import KeepingParts
from core.swarm.experts.other_hosts import OtherHosts
from tests.unit.swarm.experts.test_exchange import MIXTURE, Directory, Pair


def archive_of(pair, peer, folder, room):
    parts = KeepingParts(
        hosts=OtherHosts(peer, MIXTURE.owner_most, ()),
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
