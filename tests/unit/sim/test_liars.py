from random import Random

import pytest

from core.base.ids import Contact, PeerId, hashed_key
from core.dht.messages import Find, Get, Nodes, Record, Store, Stored, Values
from tests.sim.dht.liars import LyingDht, dropped_answers, stale_records, wrong_contacts
from tests.sim.dht.swarm import Population
from tests.sim.dht.worlds import SmallSettings, SmallWorld

ASKER = PeerId(bytes(32))
KEY = hashed_key(b"key")


def record(value: bytes, expires_ms: int) -> Record:
    return Record(bytes(32), value, expires_ms, bytes(64))


def test_a_liar_names_peers_that_do_not_exist() -> None:
    contacts = tuple(Contact(bytes([n]) * 32, "192.0.2.1", 1) for n in range(5))
    find = Find(1, client=False, key=KEY, pad=b"")
    lied = wrong_contacts(Random(1))(ASKER, find, Nodes(1, contacts), 0.0)
    assert isinstance(lied, Nodes)
    assert len(lied.nodes) == 5
    assert not set(lied.nodes) & set(contacts)


def test_a_liar_gives_the_first_version_of_each_record() -> None:
    lie = stale_records(Random(1))
    for number, value in enumerate((b"old", b"new")):
        lie(ASKER, Store(number, client=False, key=KEY, record=record(value, number)), Stored(number, accepted=True), 0)
    get = Get(3, client=False, key=KEY, after=b"", pad=b"")
    lied = lie(ASKER, get, Values(3, (), (record(b"new", 1),), b"", more=False), 0.0)
    assert isinstance(lied, Values)
    assert [one.value for one in lied.records] == [b"old"]
    elsewhere = Get(4, client=False, key=hashed_key(b"other"), after=b"", pad=b"")
    truth = Values(4, (), (record(b"new", 1),), b"", more=False)
    assert lie(ASKER, elsewhere, truth, 0.0) == truth


def test_a_liar_drops_about_half_of_its_answers() -> None:
    lie = dropped_answers(Random(1))
    find = Find(1, client=False, key=KEY, pad=b"")
    answered = sum(lie(ASKER, find, Nodes(1, ()), 0.0) is not None for _ in range(1000))
    assert 400 < answered < 600


def test_the_first_peers_and_one_of_the_seeds_are_honest() -> None:
    swarm = LyingDht(1, Population(peers=60), liars=0.6)
    assert 20 < len(swarm.liars) < 50
    for _ in swarm.join_all():
        assert not swarm.liars.issuperset(swarm.some_seeds())
    assert {type(swarm.machine(peer)).__name__ for peer in swarm.liars} == {"Liar"}
    assert {type(swarm.machine(peer)).__name__ for peer in swarm.honest()} == {"DhtNode"}


@pytest.mark.long
def test_every_fault_is_drawn_and_lying_worlds_are_reproducible() -> None:
    drawn = {seed: SmallSettings.drawn(seed) for seed in range(40)}
    seed = next(seed for seed, one in drawn.items() if one.liars and one.links.slow)
    assert any(not one.liars and not one.links.slow for one in drawn.values())
    one, other = (SmallWorld(seed).run() for _ in range(2))
    assert one == other
    assert one.ok, one.problem
