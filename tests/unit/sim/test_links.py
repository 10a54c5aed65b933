from tests.sim.world.links import LinkSettings, SimulatedLinks, chance
from tests.unit.sim.toys import peer


def links(**numbers: float) -> SimulatedLinks:
    return SimulatedLinks(LinkSettings(**numbers), seed=5, random=chance(5, "test"))  # type: ignore[arg-type]


def test_delays_are_those_of_the_paper_and_symmetric() -> None:
    net = links(jitter_s=0.0)
    places = [net.place(peer(number)) for number in range(60)]
    delays = [net.delay_s(a, b) for a in places for b in places if a is not b]
    assert 0.016 <= min(delays) < 0.060
    assert 0.180 < max(delays) <= 0.250
    assert net.delay_s(places[0], places[1]) == net.delay_s(places[1], places[0])


def test_a_detour_is_never_shorter() -> None:
    net = links()
    places = [net.place(peer(number)) for number in range(12)]
    for a in places:
        for b in places:
            for c in places:
                assert net.distance_s(a, c) <= net.distance_s(a, b) + net.distance_s(b, c) + 1e-12


def test_places_depend_on_the_seed_and_the_peer_alone() -> None:
    one, other = links(), links()
    other.place(peer(9))
    assert one.place(peer(3)) == other.place(peer(3))
    assert one.place(peer(3)) is one.place(peer(3))
    assert SimulatedLinks(LinkSettings(), seed=6, random=chance(6, "test")).place(peer(3)) != one.place(peer(3))


def test_loss_comes_as_often_as_asked_for() -> None:
    net = links(loss=0.25)
    assert 2200 < sum(net.lost() for _ in range(10_000)) < 2800


def test_a_partition_cuts_across_and_heals() -> None:
    net = links()
    assert not net.divided
    net.divide(frozenset({peer(1), peer(2)}))
    assert net.cut(peer(1), peer(3))
    assert not net.cut(peer(1), peer(2))
    assert not net.cut(peer(3), peer(4))
    net.heal()
    assert not net.cut(peer(1), peer(3))
