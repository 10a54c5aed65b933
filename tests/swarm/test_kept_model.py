"""The model outlives the computers of those who train it: the backbone keeps copies, and gives them to newcomers."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from core.sim.churn import ChurnSettings
from core.sim.disk import Disk
from core.sim.node import End
from core.sim.swarm import Swarm, Volunteer, state_of
from core.sim.swarm_settings import SwarmSettings

WITHIN_S = 600.0


def world(seed: int, *, peers: int, copies: bool = True, epoch_s: float = 8.0) -> Swarm:
    churn = ChurnSettings(live=(peers, peers), up_s=1e9, down_s=1.0, first_s=1.0)
    settings = SwarmSettings(peers=peers, epochs=1000, churn=churn, blank=0.0, copies=copies, epoch_s=epoch_s)
    return Swarm(seed, settings)


def run_until(swarm: Swarm, true: Callable[[], object]) -> None:
    ends = swarm.world.elapsed_s + WITHIN_S
    while not true() and swarm.world.elapsed_s < ends:
        swarm.world.run(0.25)
    assert true()


def kept_epoch(swarm: Swarm) -> int:
    kept = swarm.backbone.disk.checkpoints
    return kept[-1][0].name.epoch if kept else 0


def epoch_of(volunteer: Volunteer) -> int:
    name = state_of(volunteer)
    return 0 if name is None else name.epoch


@pytest.mark.parametrize(
    ("peers", "copies", "away_s", "seed"),
    [
        (1, False, 2.0, 3),
        (1, True, 2.0, 3),
        (2, True, 2.0, 9),
        (2, True, 5.0, 9),
        *((peers, True, away_s, 9) for peers in (1, 3) for away_s in (0.0, 8.0, 40.0)),
    ],
)
def test_model_goes_on_after_all_disks_are_lost(peers: int, away_s: float, seed: int, *, copies: bool) -> None:
    """They come back so soon that the backbone does not know yet that they were gone, or late."""
    swarm = world(seed, peers=peers, copies=copies, epoch_s=1.5)
    people = list(swarm.volunteers.values())
    run_until(swarm, lambda: epoch_of(people[0]) > kept_epoch(swarm) + 1 > 2 * copies)
    kept = kept_epoch(swarm)
    for volunteer in people:
        volunteer.end(End.CRASH)
        volunteer.disk = Disk()
    swarm.world.run(away_s)
    for volunteer in people:
        volunteer.begin()
    steps: list[int] = []

    def stepped() -> bool:
        steps.extend(epoch for volunteer in people if (epoch := epoch_of(volunteer)))
        return bool(steps)

    run_until(swarm, stepped)
    assert min(steps) >= kept if copies else min(steps) == 1


def test_copies_come_no_faster_than_they_may() -> None:
    swarm = world(1, peers=2)
    found: list[tuple[float, int]] = []
    while swarm.world.elapsed_s < 120.0:
        swarm.world.run(1.0)
        if kept_epoch(swarm) != (found[-1][1] if found else 0):
            found.append((swarm.world.elapsed_s, kept_epoch(swarm)))
    assert len(found) >= 3
    assert all(later[0] - earlier[0] >= 29.0 for earlier, later in pairwise(found))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_volunteer_further_than_the_copy_goes_on(seed: int) -> None:
    swarm = world(seed, peers=1)
    (volunteer,) = swarm.volunteers.values()
    run_until(swarm, lambda: kept_epoch(swarm) > 2 and epoch_of(volunteer) > kept_epoch(swarm))
    volunteer.end(End.CRASH)
    held = volunteer.disk.checkpoints[-1][0].name
    swarm.world.run(60.0)
    volunteer.begin()
    run_until(swarm, lambda: epoch_of(volunteer) > held.epoch)
    before = kept_epoch(swarm)
    run_until(swarm, lambda: kept_epoch(swarm) > max(before, held.epoch))
