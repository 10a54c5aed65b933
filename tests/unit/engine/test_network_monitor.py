"""The network around this computer: what is found is passed on, and what fails is no matter."""

import asyncio
from types import SimpleNamespace

import pytest

from core.base.ids import PeerId, hashed_key
from core.base.machine import Trace
from core.engine.network import network_monitor as module
from core.engine.network.network_monitor import LanNeighbours, NetworkMonitor, SensedNetwork, outer_address
from core.nat.messages import Address
from core.net.router.portmap import Mapped
from core.schedule.senses.changes import Sight
from core.schedule.senses.findings import NetworkSense

ANNA, BEN = (PeerId(hashed_key(name)) for name in (b"anna", b"ben"))


class PretendedHost:
    def __init__(self):
        self.known, self.improved = [], []
        self.links = self

    def learn(self, peer, host, port):
        self.known.append((peer, host, port))

    def to(self, peer):
        return SimpleNamespace(improve=lambda: self.improved.append(peer))


class Place:
    def __init__(self):
        self.moves, self.beside = 0, 0

    def moved(self):
        self.moves += 1

    def readdressed(self):
        self.beside += 1


class Part:
    """In the place of mDNS and of the router."""

    def __init__(self, error=None):
        self.error, self.changes, self.near, self.met = error, 0, {}, 0

    def addresses(self, peer):
        return self.near.get(peer, ())

    def network_changed(self):
        self.changes += 1

    def meet(self):
        self.met += 1

    async def run(self):
        if self.error is not None:
            raise self.error
        await asyncio.Event().wait()


class Stage:
    def __init__(self, monkeypatch, *, lan=None, ports=None):
        self.place, self.trace = Place(), Trace()
        self.seen = [NetworkSense(metered=True, gateway="10.0.0.1")]
        self.metered = []
        monkeypatch.setattr(module, "LOOK_S", 0.0)
        monkeypatch.setattr(module, "sense_network", self._sense)
        self.lan, self.ports = lan or Part(), ports or Part()
        self.monitor = NetworkMonitor(
            self.place, network=SensedNetwork(self.metered.append), neighbours=self.lan, ports=self.ports,
            now=lambda: 1000.0, trace=self.trace,
        )  # fmt: skip

    async def _sense(self):
        return self.seen[-1]

    async def run(self, until):
        task = asyncio.ensure_future(self.monitor.run())
        async with asyncio.timeout(60):
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
    asyncio.run(stage.run(lambda: stage.place.moves))
    assert stage.trace["surroundings.lan.failed"] == stage.trace["surroundings.ports.failed"] == 1
    assert (stage.lan.changes, stage.ports.changes, stage.place.moves) == (1, 1, 1)
    assert stage.metered == [True, True]
    assert stage.place.beside == 0


def test_another_address_beside_is_told_and_throws_nothing_away(monkeypatch):
    looks = iter([seen_from("10.0.0.2"), seen_from("10.0.0.2", "172.17.0.1")])
    monkeypatch.setattr(module, "sight", lambda: next(looks, seen_from("10.0.0.2", "172.17.0.1")))
    stage = Stage(monkeypatch)
    asyncio.run(stage.run(lambda: stage.place.beside))
    assert (stage.place.moves, stage.lan.changes, stage.ports.changes) == (0, 0, 0)
    assert stage.metered == [True]
    assert stage.lan.met


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
    asyncio.run(stage.run(lambda: stage.place.moves and stage.trace["surroundings.ports.failed"] > 1))
    assert stage.trace["surroundings.watch.failed"] == 1


def test_neighbours_are_called_where_they_are_near():
    host, lan = PretendedHost(), Part()
    neighbours = LanNeighbours(host, peers=lambda: [ANNA, BEN], lan=lambda _: lan)
    lan.near = {ANNA: (("10.0.0.5", 7),), BEN: (("10.0.0.6", 7),)}
    neighbours.meet()
    neighbours.meet()
    assert host.known == [(ANNA, "10.0.0.5", 7), (BEN, "10.0.0.6", 7)]
    assert host.improved == [ANNA, BEN]
    lan.near = {}
    neighbours.meet()
    lan.near = {ANNA: (("10.0.0.5", 7),)}
    neighbours.meet()
    assert len(host.known) == 3


@pytest.mark.parametrize(("host", "told"), [("11.1.1.1", Address("11.1.1.1", 4001)), ("10.3.3.3", None)])
def test_mapped_port_is_told_only_if_the_internet_reaches_it(host, told):
    assert outer_address(Mapped(method="upnp", host=host, port=4001, lifetime_s=60.0)) == told
    assert outer_address(None) is None


@pytest.mark.parametrize("gateway", [None, "127.0.0.1"])
def test_address_towards_the_router_is_known_only_with_a_router(monkeypatch, gateway):
    stage = Stage(monkeypatch)
    stage.seen = [NetworkSense(gateway=gateway)]
    network = SensedNetwork(stage.metered.append)
    assert network.inside() is None
    asyncio.run(network.look())
    assert network.gateway == gateway
    assert network.inside() is None
