"""The network around this computer: what is found is passed on, and what fails is no matter."""

import asyncio
from random import Random

from core.base.ids import PeerId, hashed_key
from core.base.trace import Trace
from core.engine import network_monitor as module
from core.engine.network_monitor import NetworkMonitor
from core.nat.messages import Address
from core.net.portmap import Mapped
from core.schedule.senses.changes import Sight
from core.schedule.senses.sense import NetworkSense

ME, ANNA, BEN = (PeerId(hashed_key(name)) for name in (b"me", b"anna", b"ben"))


class Links:
    def __init__(self):
        self.ways = {}

    def best(self, peer):
        return self.ways.get(peer)


class PretendedHost:
    def __init__(self):
        self.links, self.known, self.improved = Links(), [], []

    def learn(self, peer, host, port):
        self.known.append((peer, host, port))

    def improve(self, peer):
        self.improved.append(peer)


class Reacher:
    def __init__(self):
        self.moves, self.beside, self.addresses = 0, 0, []

    def moved(self):
        self.moves += 1

    def readdressed(self):
        self.beside += 1

    def mapped(self, address):
        self.addresses.append(address)


class Part:
    """In the place of mDNS and of the router."""

    def __init__(self, error=None):
        self.error, self.changes, self.near, self.running = error, 0, {}, False

    def addresses(self, peer):
        return self.near.get(peer, ())

    def network_changed(self):
        self.changes += 1

    async def run(self):
        self.running = True
        if self.error is not None:
            raise self.error
        await asyncio.Event().wait()


class Stage:
    def __init__(self, monkeypatch, *, lan=None, ports=None):
        self.reacher, self.host, self.trace = Reacher(), PretendedHost(), Trace()
        self.seen = [NetworkSense(metered=True, gateway="10.0.0.1")]
        self.sensed, self.looks = [], 0
        monkeypatch.setattr(module, "LOOK_S", 0.0)
        monkeypatch.setattr(module, "sense_network", self._sense)
        self.around = NetworkMonitor(
            reacher=self.reacher, host=self.host, me=ME, manifest_id=bytes(32), bind="0.0.0.0", port=4000,
            peers=lambda: [ANNA, BEN], sensed=self.sensed.append, now=lambda: 1000.0, random=Random(1),
            trace=self.trace,
        )  # fmt: skip
        self.lan, self.ports = lan or Part(), ports or Part()
        self.around._lan, self.around._ports = self.lan, self.ports

    async def _sense(self):
        return self.seen[-1]

    async def run(self, until):
        task = asyncio.ensure_future(self.around.run())
        async with asyncio.timeout(10):
            while not until():  # noqa: ASYNC110 - a look in each turn of the loop; there is no event
                await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()


def seen_from(outward4, *beside):
    return Sight(addresses=frozenset({outward4, *beside}), outward4=outward4)


def test_what_fails_does_not_end_the_rest(monkeypatch):
    places = iter([seen_from("10.0.0.2"), seen_from("10.9.0.2")])
    monkeypatch.setattr(module, "sight", lambda: next(places, seen_from("10.9.0.2")))
    stage = Stage(monkeypatch, lan=Part(ValueError("a bug")), ports=Part(ExceptionGroup("of others", [OSError()])))
    asyncio.run(stage.run(lambda: stage.reacher.moves))
    assert stage.trace["surroundings.lan.failed"] == stage.trace["surroundings.ports.failed"] == 1
    assert (stage.lan.changes, stage.ports.changes, stage.reacher.moves) == (1, 1, 1)
    assert stage.sensed == [stage.seen[0]] * 2
    assert stage.reacher.beside == 0


def test_another_address_beside_is_told_and_throws_nothing_away(monkeypatch):
    looks = iter([seen_from("10.0.0.2"), seen_from("10.0.0.2", "172.17.0.1")])
    monkeypatch.setattr(module, "sight", lambda: next(looks, seen_from("10.0.0.2", "172.17.0.1")))
    stage = Stage(monkeypatch)
    asyncio.run(stage.run(lambda: stage.reacher.beside))
    assert (stage.reacher.moves, stage.lan.changes, stage.ports.changes) == (0, 0, 0)
    assert stage.sensed == [stage.seen[0]]


def test_what_fails_is_begun_again(monkeypatch):
    looks = iter([seen_from("10.0.0.2"), OSError("no network for a moment")])

    def sight():
        seen = next(looks, seen_from("10.9.0.2"))
        if isinstance(seen, OSError):
            raise seen
        return seen

    monkeypatch.setattr(module, "AGAIN_S", 0.0)
    monkeypatch.setattr(module, "sight", sight)
    stage = Stage(monkeypatch, ports=Part(ValueError("an odd router")))
    asyncio.run(stage.run(lambda: stage.reacher.moves and stage.trace["surroundings.ports.failed"] > 1))
    assert stage.trace["surroundings.watch.failed"] == 1


def test_neighbours_are_called_where_they_are_near(monkeypatch):
    stage = Stage(monkeypatch)
    stage.lan.near = {ANNA: (("10.0.0.5", 7),), BEN: (("10.0.0.6", 7),)}
    stage.host.links.ways = {BEN: "relay"}
    stage.around.meet_neighbours()
    stage.around.meet_neighbours()
    assert stage.host.known == [(ANNA, "10.0.0.5", 7), (BEN, "10.0.0.6", 7)]
    assert stage.host.improved == [BEN]
    stage.lan.near = {}
    stage.around.meet_neighbours()
    stage.lan.near = {ANNA: (("10.0.0.5", 7),)}
    stage.around.meet_neighbours()
    assert len(stage.host.known) == 3


def test_only_a_mapped_port_that_the_internet_can_call_is_told(monkeypatch):
    stage = Stage(monkeypatch)
    for host in ("11.1.1.1", "10.3.3.3"):
        stage.around._mapped(Mapped(method="upnp", host=host, port=4001, lifetime_s=60.0))
    stage.around._mapped(None)
    assert stage.reacher.addresses == [Address("11.1.1.1", 4001), None, None]


def test_our_side_of_the_router_is_known_only_if_there_is_one(monkeypatch):
    stage = Stage(monkeypatch)
    assert stage.around._inside() is None
    stage.around._network = NetworkSense(gateway="127.0.0.1")
    assert stage.around._inside() is None
