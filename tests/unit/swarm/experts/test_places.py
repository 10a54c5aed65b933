"""Hosts that share the places of a mixture: each place soon has one host, also after many of them have died."""

from collections import Counter
from heapq import heappop, heappush
from itertools import count
from random import Random

import pytest

from core.base.ids import PeerId
from core.base.machine import Send
from core.dht.events import Found
from core.dht.messages import Record
from core.experts.grid import ExpertGrid
from core.experts.hosting import ExpertHosted
from core.swarm.catching_up.donor import PastMembers
from core.swarm.experts.places import ExpertPlaces, PlaceLeft, PlaceTaken
from core.swarm.experts.records import ExpertRow, Mixture, bits_of, decode_row, encode_row, row_key

LOAD_S = 2.0


class Town:
    """Hosts and one DHT, in which what is stored is seen after up to two seconds, and reads take half of one."""

    def __init__(self, seed, *, sizes=(4, 4), live=16, layers=2, owner_most=8, lost=0.0):
        self.random = Random(seed)
        self.mixture = Mixture(bytes(32), layers, ExpertGrid(sizes, live), owner_most)
        self.hidden = False
        self.stored, self.hosts, self.now, self.lost = {}, {}, 0.0, lost
        self.met = {}
        """By host: who was in rounds with it."""
        self.live = {}
        """By host: the places that its worker has."""
        self.twice, self.longest_twice = {}, 0.0
        self.speak = set()
        """Who speaks when it is asked, besides hosts."""
        self._events, self._numbers = [], count()

    def later(self, after, act):
        heappush(self._events, (self.now + after, next(self._numbers), act))

    def host(self, number, wanted):
        peer = PeerId(bytes([number]) * 32)
        town = self

        class Directory:
            client = town.hidden

            def get(self, keys, now):
                for key in keys:
                    town.later(town.random.uniform(0.05, 0.5), lambda key=key: town.read(peer, key))
                return []

            def store_many(self, puts, now):
                for put in puts:
                    record = Record(peer, put.value, int(1000 * (now + put.lifetime_s)), bytes(64))
                    if town.random.random() >= town.lost:
                        late_s = town.random.uniform(0.05, 2.0)
                        town.later(late_s, lambda key=put.key, record=record: town.put(key, record))
                return []

        random = Random(self.random.random())
        self.met[peer] = PastMembers()
        self.hosts[peer] = ExpertPlaces(
            peer, self.mixture, directory=Directory(), members=self.met[peer], random=random
        )
        self.live[peer] = set()
        self.take(peer, self.hosts[peer].want(wanted, self.now))
        return peer

    def put(self, key, record):
        self.stored.setdefault(key, {})[record.subkey] = record

    def read(self, peer, key):
        records = [one for one in self.stored.get(key, {}).values() if one.expiration > self.now]
        if peer in self.hosts:
            self.take(peer, self.hosts[peer].found(Found(key, tuple(records)), self.now))

    def take(self, peer, outputs):
        for output in outputs:
            if isinstance(output, Send):
                if output.to in self.hosts or output.to in self.speak:
                    self.later(self.random.uniform(0.1, 1.0), lambda host=output.to: self.spoke(peer, host))
                continue
            named = (output.layer, output.place)
            if isinstance(output, PlaceTaken):
                self.later(self.random.uniform(0.1, LOAD_S), lambda named=named: self.load(peer, named))
            else:
                assert isinstance(output, PlaceLeft)
                self.live[peer].discard(named)

    def spoke(self, peer, host):
        if peer in self.hosts:
            self.hosts[peer].others.spoke(host)

    def load(self, peer, named):
        if peer in self.hosts:
            self.live[peer].add(named)
            self.hosts[peer].worker(ExpertHosted(*named), self.now)

    def kill(self, peer, *, told=False):
        """Whether others are told that their connections with it have ended."""
        del self.hosts[peer], self.live[peer]
        for host in self.hosts.values() if told else ():
            host.others.lost(peer, self.now)

    def places(self):
        return Counter(named for held in self.live.values() for named in held)

    def go_on(self, seconds):
        end = self.now + seconds
        while self.now < end:
            deadlines = [(one.deadline, peer) for peer, one in self.hosts.items() if one.deadline is not None]
            at, peer = min(deadlines, default=(end, b""))
            event = self._events[0][0] if self._events else end
            self.now = max(self.now, min(at, event, end))
            if self._events and event <= self.now:
                heappop(self._events)[2]()
            elif deadlines and at <= self.now:
                self.take(peer, self.hosts[peer].tick(self.now))
            self.look()

    def look(self):
        twice = {named for named, hosts in self.places().items() if hosts > 1}
        self.twice = {named: self.twice.get(named, self.now) for named in twice}
        self.longest_twice = max([self.longest_twice, *(self.now - since for since in self.twice.values())])

    def time_until_full(self, most):
        began = self.now
        while len(self.places()) < self.mixture.layers * self.mixture.grid.live:
            assert self.now < began + most, f"{len(self.places())} places after {most} s"
            self.go_on(1.0)
        return self.now - began


@pytest.mark.parametrize("seed", range(10))
def test_places_are_taken_again_after_half_of_the_hosts_died(seed):
    town = Town(seed, lost=0.1)
    hosts = [town.host(number, 12) for number in range(8)]
    town.time_until_full(60)
    for peer in hosts[:4]:
        town.kill(peer)
    town.time_until_full(60)
    town.go_on(120)
    assert town.longest_twice <= 30
    assert max(town.places().values()) == 1
    assert max(len(held) for held in town.live.values()) <= 12


@pytest.mark.parametrize("seed", [106, 135, 254])
def test_hosts_with_no_room_to_spare_share_all_places(seed):
    """A place that two take leaves another one vacant."""
    town = Town(seed, layers=4, owner_most=4)
    hosts = [town.host(number + 1, 16) for number in range(8)]
    town.go_on(120)
    for peer in hosts[:4]:
        town.kill(peer, told=True)
    town.time_until_full(60)
    town.go_on(60)
    assert town.longest_twice <= 30
    assert max(town.places().values()) == 1


def test_places_of_lost_hosts_are_taken_sooner():
    def time_until_full(*, told):
        town = Town(0)
        hosts = [town.host(number, 16) for number in range(4)]
        town.time_until_full(60)
        for peer in hosts[:2]:
            town.kill(peer, told=told)
        return town.time_until_full(60)

    assert time_until_full(told=True) < time_until_full(told=False) - 5


@pytest.mark.parametrize("seed", range(5))
def test_hosts_whose_connections_broke_keep_their_places(seed):
    town = Town(seed)
    hosts = [town.host(number, 16) for number in range(4)]
    town.time_until_full(60)
    town.go_on(60)
    town.longest_twice = 0.0
    for _ in range(10):
        for peer in hosts:
            for host in town.hosts.values():
                host.others.lost(peer, town.now)
        town.go_on(17)
        assert sum(town.places().values()) == 32
    assert town.longest_twice == 0


@pytest.mark.parametrize("seed", range(5))
def test_one_host_takes_no_more_than_its_share(seed):
    town = Town(seed, owner_most=4)
    town.host(1, 100)
    town.go_on(120)
    assert Counter(layer for layer, _ in town.places()) == {0: 4, 1: 4}


def test_rows_fill_up_from_the_first():
    """Who has lost a claim takes a place of the rows that it has read last: now and then that is a later one."""
    furthest = []
    for seed in range(5):
        town = Town(seed, sizes=(16, 16), live=256, layers=1, owner_most=64)
        for number in range(4):
            town.host(number, 8)
        town.go_on(120)
        assert sum(town.places().values()) == 32
        furthest.append(max(place[0] for _, place in town.places()))
    assert sorted(furthest)[3] <= 2, "of sixteen rows"


def test_host_that_stops_tells_so_at_once():
    town = Town(0, layers=1, live=4, sizes=(4,))
    peer = town.host(1, 4)
    town.go_on(30)
    assert len(town.places()) == 4
    town.take(peer, town.hosts[peer].want(0, town.now))
    assert not town.places()
    town.go_on(3)
    (row,) = [one for records in town.stored.values() for one in records.values()]
    assert row.value == encode_row(ExpertRow(hosted=b""))
    assert town.hosts[peer].deadline is None


@pytest.mark.parametrize("defended", [True, False])
def test_liar_holds_its_share_of_places_vacant(defended):
    """It says to host everything since ever."""
    town = Town(0, layers=1, owner_most=4 if defended else 16)
    liar = PeerId(bytes([99]) * 32)
    town.speak.add(liar)
    for row in town.mixture.grid.prefixes(1):
        record = Record(liar, encode_row(ExpertRow(bits_of(range(4)))), 10**9, bytes(64))
        town.put(row_key(town.mixture.run, 0, row), record)
    for number in range(4):
        town.host(number, 4)
    town.go_on(120)
    assert len(town.places()) == (12 if defended else 0)


def invent(town, number=0):
    """Forty keys, each of which says to host everything since ever."""
    for ghost in (PeerId(bytes([7, number, one, 0]) * 8) for one in range(40)):
        for row in town.mixture.grid.prefixes(1):
            record = Record(ghost, encode_row(ExpertRow(bits_of(range(4)))), 10**9, bytes(64))
            town.put(row_key(town.mixture.run, 0, row), record)


@pytest.mark.parametrize("others", [False, True])
def test_invented_keys_drive_nobody_away(others):
    """Others come every ten seconds."""
    town = Town(0, layers=1, owner_most=4)
    town.go_on(100)
    for number in range(4):
        town.host(number, 4)
    town.time_until_full(60)
    for number in range(12):
        invent(town, number if others else 0)
        town.go_on(10)
    assert len(town.places()) == 16


def test_invented_keys_keep_no_place_vacant():
    town = Town(0, layers=1, owner_most=4)
    town.go_on(100)
    invent(town)
    for number in range(4):
        town.host(number, 4)
    town.time_until_full(360)
    town.go_on(60)
    assert len(town.places()) == 16
    assert max(town.places().values()) == 1


@pytest.mark.parametrize("seed", range(5))
def test_hosts_that_were_in_no_round_share_places_with_members(seed):
    """Two have been in rounds with each other; two others, such as helpers, with nobody."""
    town = Town(seed)
    hosts = [town.host(number, 8) for number in range(4)]
    for peer in hosts[:2]:
        town.met[peer].met(hosts[:2])
    town.time_until_full(60)
    for peer in hosts[1:3]:
        town.kill(peer)
    for peer in hosts[::3]:
        town.take(peer, town.hosts[peer].want(16, town.now))
    town.time_until_full(60)
    town.go_on(120)
    assert town.longest_twice <= 30
    assert max(town.places().values()) == 1


def test_late_word_of_having_been_first_drives_nobody_away():
    """Passes that were in no round, which have spoken, say so."""
    town = Town(0, layers=1, owner_most=4)
    town.go_on(100)
    hosts = [town.host(number, 4) for number in range(4)]
    town.time_until_full(60)
    town.go_on(90)
    invent(town)
    for peer in hosts:
        for one in range(40):
            town.spoke(peer, PeerId(bytes([7, 0, one, 0]) * 8))
    town.go_on(120)
    assert len(town.places()) == 16


@pytest.mark.parametrize("seed", range(4))
def test_host_that_slept_takes_no_place_back(seed):
    """Meanwhile others have them, and what they have learned; once all say that it was long ago, a hash decides."""
    town = Town(seed, layers=1)
    hosts = [town.host(number, 8) for number in range(3)]
    for peer in hosts:
        town.met[peer].met(hosts)
    town.time_until_full(60)
    town.go_on(300)
    sleeper, live = town.hosts.pop(hosts[0]), town.live.pop(hosts[0])
    town.go_on(3600)
    taken = town.places().keys() & live
    assert taken
    town.hosts[hosts[0]], town.live[hosts[0]], town.longest_twice = sleeper, live, 0.0
    town.go_on(120)
    assert town.longest_twice <= 30
    assert not taken & town.live[hosts[0]]
    assert len(town.places()) == 16


@pytest.mark.parametrize("hidden", [True, False])
def test_host_that_nobody_reaches_directly_says_so(hidden):
    """Its DHT has found that it lies behind a router."""
    town = Town(0, layers=1)
    town.hidden = hidden
    town.host(1, 4)
    town.go_on(30)
    words = [decode_row(record.value) for found in town.stored.values() for record in found.values()]
    assert [word.relayed for word in words if word.hosted] == [hidden] * len(words)
