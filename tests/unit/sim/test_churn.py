from core.base.ids import PeerId
from tests.sim.churn import Churn, ChurnSettings
from tests.sim.world.node import End
from tests.sim.world.world import World
from tests.unit.sim.toys import CODEC, Listener, peer


def churned(seed: int, settings: ChurnSettings, *, seconds: int = 300) -> tuple[World, Churn, list[int]]:
    world = World(seed, CODEC)

    def begin(who: PeerId) -> None:
        world.add(who, Listener())

    churn = Churn(
        world,
        [peer(number) for number in range(20)],
        settings=settings,
        random=world.chance("churn"),
        begin=begin,
        end=world.stop,
    )
    counts = []
    for _ in range(seconds):
        world.run(1)
        counts.append(len(world.living()))
    return world, churn, counts


def test_the_number_of_live_peers_stays_within_its_limits() -> None:
    settings = ChurnSettings(live=(5, 12), up_s=20, down_s=5, first_s=5)
    _, churn, counts = churned(1, settings)
    assert min(counts[6:]) >= 5
    assert max(counts) <= 12
    assert sum(churn.goings.values()) > 50
    assert all(churn.goings[how] for how in End)


def test_the_same_seed_brings_the_same_comings_and_goings() -> None:
    settings = ChurnSettings(live=(5, 12), up_s=20, down_s=5)
    assert churned(4, settings)[2] == churned(4, settings)[2]
    assert churned(4, settings)[2] != churned(5, settings)[2]


def test_at_rest_nobody_comes_or_goes() -> None:
    world, churn, _ = churned(1, ChurnSettings(live=(5, 12), up_s=20, down_s=5), seconds=50)
    churn.rest()
    living = world.living()
    world.run(500)
    assert world.living() == living
