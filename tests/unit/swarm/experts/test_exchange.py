"""A trainer and a host, from the search for experts to their answers, and what follows when the host stops."""

from pathlib import Path
from random import Random

import numpy as np

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace
from core.codecs.registry import codec_of
from core.dht.events import Found
from core.dht.messages import Record
from core.dht.readwrite import Put
from core.experts.calls import CallAnswered, CallLapsed, ExpertAsk
from core.experts.grid import ExpertGrid
from core.experts.hosting import BatchComputed, ComputeBatch, ExpertHost, ExpertHosted, HostLimits
from core.experts.queue import CallKind
from core.kept.state_files import DiskStateFile, DiskStateSink
from core.swarm.catching_up.donor import PastMembers
from core.swarm.experts.copy_news import CopyHere
from core.swarm.experts.exchange import ExchangeParts, ExpertExchange, HostExperts, SearchExperts, SurveyExperts
from core.swarm.experts.keeping import RECOVER_S, CopyFetched
from core.swarm.experts.places import PlaceLeft, PlaceTaken
from core.swarm.experts.reading import ExpertsSought
from core.swarm.experts.records import ExpertCopy, Mixture, copies_key, encode_copies
from core.swarm.words.orders import Changed

TRAINER, HOST = (PeerId(bytes([n]) * 32) for n in (1, 2))
WIDTH = 8
MIXTURE = Mixture(bytes(32), 1, ExpertGrid((2, 2), 4), owner_most=4, patience_s=5.0)
RAW = codec_of("raw")


class Pair:
    """Two peers, one DHT, and workers that double what they get, all of which answer at once."""

    def __init__(self, folder, peers=(TRAINER, HOST), mixture=MIXTURE):
        self.mixture = mixture
        self.now, self.stored, self.told, self.left, self.folder = 0.0, {}, [], [], folder
        self.met = {}
        """By peer: who was in rounds with it."""
        self.silent = set()
        """Peers that nothing reaches, and whose connections do not break."""
        self.copies, self.began = {}, {}
        """By peer: the version of each file here, and that with which each expert began."""
        self.peers = {peer: self.new_peer(peer) for peer in peers}

    def new_peer(self, peer):
        limits = HostLimits(bytes_max=10**6, rows_max=64)
        host = ExpertHost(codec=RAW, numbers=WIDTH, limits=limits, trace=Trace())
        sink = DiskStateSink(self.folder / peer.hex()[:4])
        self.met[peer] = PastMembers()
        parts = ExchangeParts(host=host, directory=Directory(self, peer), sink=sink, members=self.met[peer])
        return ExpertExchange(peer, self.mixture, parts=parts, random=Random(peer[0]), trace=Trace())

    def deliver(self, peer, event):
        self.take(peer, self.peers[peer].handle(event, self.now))

    def take(self, peer, outputs):
        for output in outputs:
            match output:
                case Send(to=to, message=message):
                    if to in self.silent:
                        continue
                    if to in self.peers:
                        self.deliver(to, Received(peer, message))
                    else:
                        self.deliver(peer, Lost(to, "gone"))
                case CopyFetched(expert=expert, version=version, path=path):
                    self.keep(peer, expert, version, Path(path).rename(self.folder / f"{peer[0]}-{Path(path).name}"))
                case Found():
                    self.take(peer, self.peers[peer].found(output, self.now) or ())
                case PlaceTaken(layer=layer, place=place):
                    self.began[peer, (layer, place)] = self.copies.get((peer, (layer, place)), 0)
                    self.deliver(peer, ExpertHosted(layer, place))
                case PlaceLeft():
                    self.left.append(output)
                case ComputeBatch():
                    answers = (memoryview((2 * np.frombuffer(one, np.float32)).tobytes()) for one in output.payloads)
                    self.deliver(peer, BatchComputed(output.number, 7, tuple(answers)))
                case _:
                    self.told.append(output)

    def go_on(self, seconds):
        end = self.now + seconds
        while True:
            due = {peer: one.deadline for peer, one in self.peers.items() if one.deadline is not None}
            peer = min(due, key=due.get, default=None)
            if peer is None or due[peer] > end:
                self.now = end
                return
            self.now = max(self.now, due[peer])
            self.deliver(peer, Tick())

    def keep(self, peer, expert, version, path):
        self.copies[peer, expert] = version
        self.deliver(peer, CopyHere(expert, version, DiskStateFile(path, None)))

    def save(self, peer, version):
        for expert in sorted(self.peers[peer].host.hosted):
            path = self.folder / f"saved-{peer[0]}-{expert}-{version}"
            path.write_bytes(f"{expert} {version}".encode() * 50_000)
            self.keep(peer, expert, version, path)

    def ask(self, ticket, place):
        payload = memoryview(np.arange(WIDTH, dtype=np.float32).tobytes())
        ask = ExpertAsk(
            ticket=ticket,
            layer=0,
            place=place,
            kind=CallKind.FORWARD,
            rows=1,
            payload=lambda: payload,
            bytes=len(payload),
        )
        self.deliver(TRAINER, ask)


class Directory:
    client = False

    def __init__(self, pair, me):
        self.pair, self.me = pair, me

    def get(self, keys, now, *, quorum=None):
        there = {key: self.pair.stored.get(key, {}).values() for key in ([keys] if isinstance(keys, bytes) else keys)}
        return [Found(key, tuple(one for one in found if one.expiration > now)) for key, found in there.items()]

    def store(self, key, value, *, lifetime_s, now, subkey=None):
        return self.store_many([Put(key, value, lifetime_s, subkey)], now)

    def store_many(self, puts, now):
        for put in puts:
            record = Record(put.subkey or self.me, put.value, int(1000 * (now + put.lifetime_s)), bytes(64))
            self.pair.stored.setdefault(put.key, {})[record.subkey] = record
        return []


def test_host_that_is_asked_for_a_word_speaks(tmp_path):
    pair, ghost = Pair(tmp_path), PeerId(bytes([9]) * 32)
    others = pair.peers[TRAINER].places.others
    pair.take(TRAINER, others.asked([HOST, ghost]))
    assert others.is_real(HOST)
    assert not others.is_real(ghost)
    assert pair.told == []


def test_trainer_finds_a_host_which_answers_until_it_stops(tmp_path):
    pair = Pair(tmp_path)
    pair.deliver(HOST, HostExperts(3))
    pair.go_on(20)
    assert len(pair.peers[HOST].host.hosted) == 3
    pair.deliver(TRAINER, SearchExperts(1, 0, np.zeros((1, 4), np.float32), 4))
    pair.go_on(1)
    (sought,) = pair.told
    assert isinstance(sought, ExpertsSought)
    places = [MIXTURE.grid.place(number) for number in sought.places[0] if number >= 0]
    assert {(0, place) for place in places} == pair.peers[HOST].host.hosted
    pair.ask(2, places[0])
    answered = pair.told[-1]
    assert isinstance(answered, CallAnswered)
    assert (answered.ticket, answered.version) == (2, 7)
    assert np.frombuffer(answered.payload, np.float32).tolist() == [2.0 * number for number in range(WIDTH)]
    pair.deliver(HOST, HostExperts(0))
    assert len(pair.left) == 3
    pair.ask(3, places[0])
    assert pair.told[-1] == CallLapsed(3)
    pair.go_on(20)
    told = len(pair.told)
    pair.deliver(TRAINER, SearchExperts(4, 0, np.zeros((1, 4), np.float32), 4))
    pair.go_on(5)
    assert pair.told[told:] == [Changed()], "it waits until somebody hosts one, and people are told"
    assert (pair.peers[TRAINER].lacks(pair.now), pair.peers[TRAINER].live(pair.now)) == (0, 0)


def test_search_leaves_out_a_host_that_was_killed(tmp_path):
    other = PeerId(bytes([3]) * 32)
    pair = Pair(tmp_path, (TRAINER, HOST, other))
    pair.deliver(HOST, HostExperts(2))
    pair.go_on(20)
    pair.deliver(other, HostExperts(2))
    pair.go_on(20)
    pair.deliver(TRAINER, SearchExperts(1, 0, np.zeros((1, 4), np.float32), 4))
    pair.go_on(1)
    assert sorted(pair.told.pop().places[0]) == [0, 1, 2, 3]
    (_, gone), _ = sorted(pair.peers[HOST].host.hosted)
    del pair.peers[HOST]
    pair.ask(2, gone)
    assert pair.told.pop() == CallLapsed(2)
    pair.deliver(TRAINER, SearchExperts(3, 0, np.zeros((1, 4), np.float32), 4))
    named = {MIXTURE.grid.place(number) for number in pair.told.pop().places[0] if number >= 0}
    assert {(0, place) for place in named} == pair.peers[other].host.hosted


def test_taker_of_a_place_has_the_last_copy(tmp_path):
    first, second, third = (PeerId(bytes([n]) * 32) for n in (3, 4, 5))
    pair = Pair(tmp_path, (first, second, third))
    pair.deliver(first, HostExperts(4))
    pair.go_on(25)
    lost = set(pair.peers[first].host.hosted)
    assert len(lost) == 4
    pair.save(first, 7)
    for peer in (second, third):
        pair.deliver(peer, HostExperts(4))
    pair.go_on(30)
    pair.save(first, 9)
    pair.go_on(60)
    kept = {(peer, expert): pair.copies.get((peer, expert)) for peer in (second, third) for expert in lost}
    assert set(kept.values()) == {9}, "both others keep each of them"
    del pair.peers[first]
    pair.go_on(60)
    hosted = [pair.peers[peer].host.hosted for peer in (second, third)]
    assert hosted[0] | hosted[1] == lost
    assert {pair.began[peer, expert] for peer in (second, third) for expert in pair.peers[peer].host.hosted} == {9}


def test_expert_without_any_copy_begins_anew(tmp_path):
    pair = Pair(tmp_path)
    pair.deliver(HOST, HostExperts(2))
    pair.go_on(30)
    assert len(pair.peers[HOST].host.hosted) == 2
    assert set(pair.began.values()) == {0}


def test_taker_waits_no_longer_for_a_copy_than_it_may(tmp_path):
    """Somebody who never answers says to have all copies."""
    liar = PeerId(bytes([99]) * 32)
    pair = Pair(tmp_path)
    pair.deliver = lambda peer, event, deliver=pair.deliver: None if peer == liar else deliver(peer, event)
    pair.peers[liar] = pair.peers[TRAINER]
    for row in ((0,), (1,)):
        copies = [ExpertCopy(last, 2**40, bytes(32), 1000) for last in range(2)]
        record = Record(liar + b"0", encode_copies(copies), 10**9, bytes(64))
        pair.stored[copies_key(MIXTURE.run, 0, row)] = {record.subkey: record}
    del pair.peers[liar]
    pair.peers[TRAINER].handle(Tick(), 0.0)
    pair.deliver(HOST, HostExperts(2))
    pair.go_on(20 + RECOVER_S)
    assert len(pair.peers[HOST].host.hosted) == 2
    assert set(pair.began.values()) == {0}


def test_liars_copy_wins_neither_at_keepers_nor_at_a_taker(tmp_path):
    """It says to have a later version of all experts, and gives a file to everybody who asks."""
    first, second, third, liar = (PeerId(bytes([n]) * 32) for n in (3, 4, 5, 99))
    pair = Pair(tmp_path, (first, second, third, liar))
    pair.deliver(first, HostExperts(4))
    pair.go_on(25)
    lost = set(pair.peers[first].host.hosted)
    for expert in lost:
        path = tmp_path / f"lie-{expert}"
        path.write_bytes(b"a lie" * 100_000)
        pair.keep(liar, expert, 2**40, path)
    pair.save(first, 7)
    for peer in (second, third):
        pair.deliver(peer, HostExperts(4))
    pair.go_on(60)
    pair.save(first, 9)
    pair.go_on(60)
    kept = {pair.copies.get((peer, expert)) for peer in (second, third) for expert in lost}
    assert kept == {9}, "keepers ask the host itself"
    del pair.peers[first]
    newcomer = PeerId(bytes([6]) * 32)
    for peer in (second, third):
        pair.deliver(peer, HostExperts(0))
    pair.peers[newcomer] = pair.new_peer(newcomer)
    pair.deliver(newcomer, HostExperts(4))
    pair.go_on(60)
    assert {pair.began[newcomer, expert] for expert in lost} == {9}, "two owners of a copy go before one"


def test_survey_tells_hosts_and_copies_of_all_places(tmp_path):
    first, second, looks = (PeerId(bytes([n]) * 32) for n in (3, 4, 5))
    pair = Pair(tmp_path, (first, second, looks))
    pair.deliver(first, HostExperts(3))
    pair.go_on(20)
    pair.save(first, 7)
    pair.deliver(second, HostExperts(4))
    pair.go_on(60)
    assert list(pair.peers[looks].known(pair.now)) == []
    pair.deliver(looks, SurveyExperts())
    pair.go_on(1)
    known = {one.expert: one for one in pair.peers[looks].known(pair.now)}
    assert set(known) == {(0, MIXTURE.grid.place(number)) for number in range(4)}
    hosted = pair.peers[first].host.hosted
    assert all(one.hosts == {first if expert in hosted else second} for expert, one in known.items())
    assert all(first in known[expert].copies for expert in hosted)
    assert not any(peer == looks for peer, _ in pair.copies), "who looks keeps nothing"


def test_gathering_peer_has_copies_of_all_experts_for_a_while(tmp_path):
    first, second, looks = (PeerId(bytes([n]) * 32) for n in (3, 4, 5))
    pair = Pair(tmp_path, (first, second, looks))
    pair.deliver(first, HostExperts(4))
    pair.go_on(20)
    pair.save(first, 7)
    pair.deliver(looks, SurveyExperts(gather_s=30.0))
    pair.go_on(15)
    assert {expert for peer, expert in pair.copies if peer == looks} == pair.peers[first].host.hosted
    pair.save(first, 9)
    pair.go_on(60)
    later = pair.copies.copy()
    pair.save(first, 11)
    pair.go_on(120)
    assert {key: pair.copies[key] for key in later if key[0] == looks} == {
        k: v for k, v in later.items() if k[0] == looks
    }


def test_silent_host_keeps_nobody_from_other_copies(tmp_path):
    """Each copy that it was asked for was waited for 12 s, and then for the same ones again."""
    host, keeper, looks = (PeerId(bytes([n]) * 32) for n in (3, 4, 5))
    pair = Pair(tmp_path, (host, keeper, looks))
    pair.deliver(host, HostExperts(4))
    pair.go_on(20)
    pair.save(host, 7)
    pair.deliver(keeper, SurveyExperts(gather_s=300.0))
    pair.go_on(20)
    del pair.peers[host]
    pair.silent.add(host)
    for _ in range(10):
        pair.deliver(looks, SurveyExperts(gather_s=30.0))
        pair.go_on(2)
    assert len([peer for peer, _ in pair.copies if peer == looks]) == 4


def test_host_that_was_silent_for_a_moment_gives_its_copies(tmp_path):
    """An export gives up 45 s after the last copy: a wireless line that fails for 14 s is heard again before."""
    host, looks = (PeerId(bytes([n]) * 32) for n in (3, 5))
    pair = Pair(tmp_path, (host, looks))
    pair.deliver(host, HostExperts(4))
    pair.go_on(20)
    pair.save(host, 7)
    pair.go_on(5)
    pair.silent.add(host)
    for second in range(0, 44, 2):
        if second == 14:
            pair.silent.discard(host)
        pair.deliver(looks, SurveyExperts(gather_s=30.0))
        pair.go_on(2)
    assert len([peer for peer, _ in pair.copies if peer == looks]) == 4
