"""The model outlives the computers of those who train it: the backbone keeps copies, and gives them to newcomers."""

from collections.abc import Callable
from itertools import pairwise

import msgspec
import pytest

from core.base.state_header import ANCESTORS_MAX
from core.swarm.words.progress import ProgressReport
from tests.sim.churn import ChurnSettings
from tests.sim.swarm.disk import Disk
from tests.sim.swarm.liars import FALSE, NOISE, Lie
from tests.sim.swarm.settings import SwarmSettings
from tests.sim.swarm.swarm import Swarm, Volunteer, state_of
from tests.sim.world.node import End

WITHIN_S = 600.0
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3))]
SAYS_IT_TRAINS = Lie(
    tells=lambda report: msgspec.structs.replace(
        report, epoch=FALSE.epoch, lineage=FALSE.lineage, digest=b"x" * 32, in_step=True
    ),
    gives=NOISE,
)
"""It promises a file that nobody has, and never trains."""


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


@pytest.mark.parametrize("seed", SEEDS)
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


@pytest.mark.parametrize("away_s", [3.0, 60.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_volunteer_back_alone_goes_on_from_the_further_copy(seed: int, away_s: float) -> None:
    """No file names both states, for too many steps were taken meanwhile."""
    swarm = world(seed, peers=2, epoch_s=1.5)
    bob, ada = alone(swarm)
    run_until(swarm, lambda: kept_epoch(swarm) > 2)
    bob.end(End.CRASH)
    held = bob.disk.checkpoints[-1][0].name.epoch
    ada.begin()
    run_until(swarm, lambda: kept_epoch(swarm) > held + ANCESTORS_MAX)
    ada.end(End.CRASH)
    kept = kept_epoch(swarm)
    swarm.world.run(away_s)
    bob.begin()
    run_until(swarm, lambda: epoch_of(bob) > held)
    assert epoch_of(bob) >= kept
    run_until(swarm, lambda: kept_epoch(swarm) != kept)
    assert kept_epoch(swarm) > kept


def begin(volunteer: Volunteer, lie: Lie) -> None:
    """It starts, and lies from now on."""
    volunteer.lie = lie
    volunteer.begin()


def alone(swarm: Swarm) -> list[Volunteer]:
    """One volunteer, and others who have been here but leave nothing behind."""
    ada, *others = swarm.volunteers.values()
    run_until(swarm, lambda: all(volunteer.node for volunteer in others))
    for volunteer in others:
        volunteer.end(End.CRASH)
        volunteer.disk = Disk()
    return [ada, *others]


@pytest.mark.parametrize("seed", [*SEEDS, pytest.param(4, marks=pytest.mark.long), 6])
def test_volunteer_that_is_further_keeps_its_work_beside_a_newcomer(seed: int) -> None:
    """Both start when nobody trains; the copy is far behind."""
    swarm = world(seed, peers=2, epoch_s=1.5)
    ada, bob = alone(swarm)
    run_until(swarm, lambda: epoch_of(ada) > kept_epoch(swarm) + 4 > 6)
    ada.end(End.CRASH)
    held = ada.disk.checkpoints[-1][0].name
    swarm.world.run(40.0)
    ada.begin()
    bob.begin()
    swarm.world.run(60.0)
    assert min(epoch_of(ada), epoch_of(bob)) > held.epoch


@pytest.mark.parametrize("child", [False, True])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("newcomers", [1, 3])
def test_member_that_gives_nothing_keeps_no_newcomer_from_the_copy(newcomers: int, *, known: bool, child: bool) -> None:
    """It may say besides that its state came from the copy's."""
    swarm = world(1, peers=1 + newcomers)
    ada, *others = alone(swarm)
    run_until(swarm, lambda: kept_epoch(swarm) > 2)
    kept = kept_epoch(swarm)
    ada.end(End.CRASH)
    mark = swarm.backbone.disk.checkpoints[-1][0].name.mark if child else b""
    tells = SAYS_IT_TRAINS.tells
    begin(ada, Lie(tells=lambda report: msgspec.structs.replace(tells(report), ancestors=mark), gives=NOISE))
    if known:
        assert swarm.backbone.participant is not None
        swarm.backbone.participant._membership.branches.led(FALSE, FALSE, members=[ada.peer])
    swarm.world.run(90.0)
    for volunteer in others:
        volunteer.begin()
    run_until(swarm, lambda: min(epoch_of(volunteer) for volunteer in others) > kept)
    assert max(epoch_of(volunteer) for volunteer in others) < FALSE.epoch


@pytest.mark.parametrize("seed", SEEDS)
def test_newcomer_goes_to_a_lone_volunteer_that_the_backbone_forgot(seed: int) -> None:
    """The backbone was restarted, and gives a copy that is far behind; the next one will be here much later."""
    swarm = world(seed, peers=2, epoch_s=1.5)
    ada, bob = alone(swarm)
    run_until(swarm, lambda: kept_epoch(swarm) > 2)
    assert swarm.backbone.participant is not None
    swarm.world.stop(swarm.backbone.peer, End.CRASH)
    run_until(swarm, lambda: epoch_of(ada) > kept_epoch(swarm) + 10)
    swarm.backbone.begin()
    swarm.world.run(5.0)
    held = epoch_of(ada)
    bob.begin()
    run_until(swarm, lambda: min(epoch_of(ada), epoch_of(bob)) > held)
    assert epoch_of(ada) < held + 30, "without a detour"


@pytest.mark.parametrize("restarted", [False, True])
def test_newcomers_lead_nobody_back_though_they_are_more(*, restarted: bool) -> None:
    """Two who were here start together with three who have nothing, and the backbone too."""
    swarm = world(2, peers=5, epoch_s=3.0)
    ada, eve, *others = swarm.volunteers.values()
    run_until(swarm, lambda: all(volunteer.node for volunteer in others))
    for volunteer in others:
        volunteer.end(End.CRASH)
        volunteer.disk = Disk()
    run_until(swarm, lambda: min(epoch_of(ada), epoch_of(eve)) > kept_epoch(swarm) + 2 > 4)
    held = min(epoch_of(ada), epoch_of(eve))
    for volunteer in (ada, eve):
        volunteer.end(End.CRASH)
    if restarted:
        swarm.world.stop(swarm.backbone.peer, End.CRASH)
    swarm.world.run(40.0)
    if restarted:
        swarm.backbone.begin()
    for volunteer in swarm.volunteers.values():
        volunteer.begin()
    run_until(swarm, lambda: all(epoch_of(volunteer) > held for volunteer in swarm.volunteers.values()))
    assert max(epoch_of(volunteer) for volunteer in swarm.volunteers.values()) < held + 20, "without a detour"


@pytest.mark.parametrize("newcomers", [1, 3])
def test_honest_one_that_gives_nothing_keeps_nobody_from_the_copy(newcomers: int) -> None:
    """An honest one, whose line is too slow for its state, goes on from the copy."""
    swarm = world(1, peers=1 + newcomers)
    ada, *others = alone(swarm)
    run_until(swarm, lambda: kept_epoch(swarm) > 2 and epoch_of(ada) > kept_epoch(swarm) + 1)
    ada.end(End.CRASH)
    held, kept = ada.disk.checkpoints[-1][0].name.epoch, kept_epoch(swarm)
    begin(ada, Lie(tells=lambda report: msgspec.structs.replace(report, digest=b"x" * len(report.digest))))
    run_until(swarm, lambda: epoch_of(ada) > held)
    for volunteer in others:
        volunteer.begin()
    run_until(swarm, lambda: min(epoch_of(volunteer) for volunteer in others) > kept)


def test_backbone_that_was_cut_off_leads_nobody_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its copy is old, and somebody comes back who stood even before that."""
    swarm = world(1, peers=3)
    ada, bob, carol = swarm.volunteers.values()
    run_until(swarm, lambda: all(volunteer.node for volunteer in (ada, bob, carol)))
    ada.end(End.CRASH)
    ada.disk = Disk()
    run_until(swarm, lambda: min(epoch_of(bob), epoch_of(carol)) > 4)
    bob.end(End.CRASH)
    behind = epoch_of(carol)
    swarm.world.run(30.0)
    ada.begin()
    run_until(swarm, lambda: epoch_of(ada) > behind + 6)
    carol.end(End.CRASH)
    monkeypatch.setattr("core.swarm.catching_up.keeper.REST_MIN_S", 4 * 3600.0)  # as after a copy that took 12 minutes
    run_until(swarm, lambda: epoch_of(ada) > kept_epoch(swarm) + 8)
    swarm.world.divide([swarm.backbone.peer])
    swarm.world.run(90.0)
    swarm.world.heal()
    swarm.world.run(60.0)
    held = epoch_of(ada)
    bob.begin()
    run_until(swarm, lambda: min(epoch_of(ada), epoch_of(bob)) > held)
    assert epoch_of(ada) < held + 30, "without a detour"


@pytest.mark.parametrize("seed", SEEDS)
def test_one_of_three_leads_nobody_by_false_parents(seed: int) -> None:
    """It says after each step of the others that its own state came from theirs."""
    swarm = world(seed, peers=3)
    mallory, *honest = swarm.volunteers.values()
    run_until(swarm, lambda: min(map(epoch_of, swarm.volunteers.values())) > 3)
    mallory.end(End.CRASH)

    def beside_theirs(report: ProgressReport) -> ProgressReport:
        names = [name for name in map(state_of, honest) if name is not None]
        return msgspec.structs.replace(
            report,
            epoch=FALSE.epoch,
            lineage=FALSE.lineage,
            digest=NOISE.digest,
            in_step=True,
            ancestors=min(names).mark,
        )

    begin(mallory, Lie(tells=beside_theirs, gives=NOISE))
    held = max(map(epoch_of, honest))
    for _ in range(240):
        swarm.world.run(0.25)
        assert max(map(epoch_of, honest)) < FALSE.epoch
    assert min(map(epoch_of, honest)) > held


def test_equal_marks_lead_nobody_to_a_liar() -> None:
    """It reports the beginning of the others' name, and another end."""
    swarm = world(1, peers=6, epoch_s=4.0)
    mallory, bob, *honest = swarm.volunteers.values()
    run_until(swarm, lambda: all(volunteer.node for volunteer in swarm.volunteers.values()))
    for volunteer in (mallory, bob):
        volunteer.end(End.CRASH)
        volunteer.disk = Disk()

    def like_theirs(report: ProgressReport) -> ProgressReport:
        name = state_of(honest[0])
        if name is None:
            return report
        end = b"\xff" * (len(name.lineage) - len(name.mark))
        return msgspec.structs.replace(
            report, epoch=FALSE.epoch, lineage=name.mark + end, digest=b"x" * 32, in_step=True, ancestors=b""
        )

    begin(mallory, Lie(tells=like_theirs, gives=NOISE))
    run_until(swarm, lambda: min(map(epoch_of, honest)) > 3)
    bob.begin()
    for _ in range(200):
        swarm.world.run(0.5)
        assert swarm.backbone.participant is not None
        assert swarm.backbone.participant.report(swarm.world.now).epoch < FALSE.epoch
    assert epoch_of(bob) >= min(map(epoch_of, honest)) - 1
