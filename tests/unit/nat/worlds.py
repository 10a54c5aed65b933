"""Simulated worlds of peers behind routers, settled."""

from core.nat.relay import RelaySettings
from tests.sim.nat.boxes import Nature
from tests.sim.nat.homes import SimulatedHome
from tests.sim.nat.world import NatWorld


def world_of(
    *natures: Nature, public: int = 4, relay: RelaySettings | None = None, field_success: float = 1.0
) -> tuple[NatWorld, list[SimulatedHome], list[SimulatedHome]]:
    """Some public peers, and the peers in question; all know the public ones and have found out about themselves."""
    world = NatWorld(1, relay=relay, field_success=field_success)
    helpers = [world.add("public") for _ in range(public)]
    homes = [world.add(nature) for nature in natures]
    for home in (*helpers, *homes):
        world.start(home)
        for other in helpers:
            if other is not home:
                world.introduce(home, other, relay=True)
    world.run(40)
    return world, helpers, homes
