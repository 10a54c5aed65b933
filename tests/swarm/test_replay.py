"""Peers that missed rounds: latecomers whose download takes longer than an epoch, stragglers, crowds, and liars."""

from collections.abc import Callable
from typing import Any

import pytest

from core.base.ids import PeerId
from core.swarm.catching_up.replay import MeansFetch
from core.swarm.participant import Participant
from core.swarm.words.answers import MeanOffered
from core.swarm.words.orders import RoundRecord
from tests.sim.checkers import Checker
from tests.sim.churn import ChurnSettings
from tests.sim.swarm.disk import Disk, MemoryFile
from tests.sim.swarm.settings import SwarmSettings
from tests.sim.swarm.state_checkers import SameNameSameState
from tests.sim.swarm.swarm import Swarm, Volunteer, state_of
from tests.sim.swarm.worker import Holds
from tests.sim.world.links import LinkSettings
from tests.sim.world.node import End, Node

UP_BYTES_PER_S, DOWN_BYTES_PER_S = 1.25e6, 6.25e6
"""Lines of 50 Mbit/s, and 10 Mbit/s towards the others."""
NUMBERS = 1_200_000
STATE_BYTES = 12 * NUMBERS
"""As of LAMB in float32; a mean is a twelfth of it."""
WITHIN_S = 60.0


class Watch(Checker):
    """What workers hold, and whose samples count."""

    def __init__(self) -> None:
        self.held: list[tuple[float, PeerId, str]] = []
        self.counted: dict[PeerId, list[float]] = {}

    def said(self, node: Node, output: Any, now: float) -> None:
        match output:
            case Holds():
                self.held.append((now, node.peer, output.how))
            case RoundRecord():
                for peer, samples in output.credited:
                    if samples:
                        self.counted.setdefault(peer, []).append(now)

    def cycle_s(self, peer: PeerId, since: float, until: float) -> float:
        """Mean time from one step of a peer to the next."""
        times = [at for at, who, how in self.held if who == peer and how == "stepped" and since <= at < until]
        return (times[-1] - times[0]) / (len(times) - 1)


class World:
    """A swarm on such lines whose epochs are shorter than the download of its state."""

    def __init__(
        self, *, peers: int, seed: int = 1, epoch_s: float = 2.0, parameters: int = NUMBERS, copies: bool = False
    ) -> None:
        links = LinkSettings(
            access_s=(0.005, 0.02),
            around_s=0.03,
            jitter_s=0.001,
            loss=0.0,
            duplicate=0.0,
            uplink_bytes_per_s=(UP_BYTES_PER_S, UP_BYTES_PER_S),
            downlink_bytes_per_s=(DOWN_BYTES_PER_S, DOWN_BYTES_PER_S),
        )
        settings = SwarmSettings(
            peers=peers,
            epochs=10_000,
            churn=ChurnSettings(live=(peers, peers), up_s=1e9, first_s=1.0),
            links=links,
            parameters=parameters,
            chunk_numel=16_384,
            codec="u8",
            epoch_s=epoch_s,
            padding_bytes=4 * parameters,
            measured=True,
            blank=0.0,
            copies=copies,
        )
        self.watch = Watch()
        self.swarm = Swarm(seed, settings, [self.watch, SameNameSameState()])
        self.people = list(self.swarm.volunteers.values())

    @property
    def now(self) -> float:
        return self.swarm.world.now

    def until(self, true: Callable[[], object], within_s: float = WITHIN_S) -> bool:
        ends = self.now + within_s
        while not true() and self.now < ends:
            self.swarm.world.run(0.25)
        return bool(true())

    def settle(self, epoch: int, people: list[Volunteer]) -> None:
        assert self.until(lambda: min(map(epoch_of, people)) >= epoch)

    def comes_anew(self, late: Volunteer) -> float:
        """A member loses its disk, comes back after some epochs; returns the time."""
        late.end(End.CRASH)
        late.disk = Disk()
        others = [volunteer for volunteer in self.people if volunteer is not late]
        self.settle(max(map(epoch_of, others)) + 3, others)
        late.begin()
        return self.now

    def counts(self, late: Volunteer, since: float) -> bool:
        return any(at > since for at in self.watch.counted.get(late.peer, []))


def epoch_of(volunteer: Volunteer) -> int:
    name = state_of(volunteer)
    return 0 if name is None else name.epoch


def marks(volunteer: Volunteer, name: str) -> int:
    assert volunteer.participant is not None
    return volunteer.participant.trace[name]


def test_latecomer_behind_a_slow_download_comes_into_step() -> None:
    world = World(peers=4)
    world.settle(2, world.people)
    *_, late = world.people
    began = world.comes_anew(late)
    assert world.until(lambda: world.counts(late, began), 20.0)
    assert marks(late, "state.replayed") >= 1


@pytest.mark.long
def test_latecomer_never_comes_into_step_without_means(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MeansFetch, "pays", lambda *_, **__: False)
    world = World(peers=4)
    world.settle(2, world.people)
    *_, late = world.people
    began = world.comes_anew(late)
    assert not world.until(lambda: world.counts(late, began), 40.0)


def test_peer_that_missed_a_round_takes_its_mean() -> None:
    """Its computer stands still for as long as a round of the others takes."""
    world = World(peers=4, epoch_s=4.0)
    world.settle(3, world.people)
    *others, late = world.people
    before = epoch_of(others[0])
    assert world.until(lambda: epoch_of(others[0]) > before and min(map(epoch_of, others)) == epoch_of(late))
    world.swarm.world.freeze(late.peer, 12.0)
    froze = world.now
    assert world.until(lambda: world.now > froze + 12.0 and world.counts(late, froze + 12.0))
    loads = [at for at, peer, how in world.watch.held if peer == late.peer and how == "loaded" and at > froze]
    assert loads
    assert marks(late, "state.replayed") == len(loads)


class Lying(MemoryFile):
    """A mean with the right list of chunks, and something else in them."""

    def read(self, index: int) -> bytes:
        return bytes(len(super().read(index)))


@pytest.mark.parametrize("lie", ["wrong", "none"])
def test_liars_keep_nobody_out_of_step(lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of three donors gives false chunks of each mean, or says that it has none."""
    handle, liars = Participant.handle, set[PeerId]()

    def lies(participant: Participant, event: Any, now: float) -> Any:
        if isinstance(event, MeanOffered) and participant.me in liars:
            if lie == "none":
                return ()
            event = MeanOffered(Lying(event.file.data))
        return handle(participant, event, now)

    monkeypatch.setattr(Participant, "handle", lies)
    world = World(peers=4)
    liars.add(world.people[0].peer)
    world.settle(2, world.people)
    *_, late = world.people
    began = world.comes_anew(late)
    assert world.until(lambda: world.counts(late, began), 40.0)
    assert marks(late, "state.replayed") >= 1
    assert lie == "none" or marks(late, "state.drop.chunk") >= 1


def test_crowd_of_latecomers_is_served() -> None:
    """Ten computers come at once to four, whose rounds take hardly longer."""
    world = World(peers=14, parameters=100_000, epoch_s=2.0, copies=True)
    here, crowd = world.people[:4], world.people[4:]
    world.settle(1, world.people)
    for volunteer in crowd:
        volunteer.end(End.CRASH)
        volunteer.disk = Disk()
    world.settle(max(map(epoch_of, here)) + 4, here)
    since, before = world.now, max(map(epoch_of, here))
    for volunteer in crowd:
        volunteer.begin()
    assert world.until(lambda: all(world.counts(volunteer, since) for volunteer in crowd), 120.0)
    assert min(map(epoch_of, world.people)) >= before
