"""Each checker notices what it is there for: a world that is broken on purpose trips it."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.base.ids import PeerId
from core.base.work import Collect
from core.codecs.registry import CODEC_NAMES, FEEDBACK
from core.swarm.words import orders
from core.swarm.words.orders import RoundRecord
from core.swarm.words.states import State, StateName
from tests.sim.churn import ChurnSettings
from tests.sim.swarm.checkers import WholeMeans, tolerance_of
from tests.sim.swarm.samples import Contributed, Stretch, gradient
from tests.sim.swarm.settings import SwarmSettings
from tests.sim.swarm.state_checkers import History, NeverBack
from tests.sim.swarm.swarm import Swarm
from tests.sim.swarm.trial import Trial
from tests.sim.swarm.worker import Absorbed, FakeWorker, Holds
from tests.sim.world.links import LOCAL

CALM = SwarmSettings(
    peers=3, epochs=2, churn=ChurnSettings(live=(3, 3), up_s=1e9), links=LOCAL, parameters=32, chunk_numel=8, blank=0.0
)
BEFORE, AFTER = StateName(1, b"a" * 32), StateName(2, b"b" * 32)


def trial(seed: int = 1, settings: SwarmSettings = CALM) -> Trial:
    return Trial(seed, peers=3, epochs=2, settings=settings)


def test_a_calm_world_is_fine() -> None:
    verdict = trial().run()
    assert verdict.ok, verdict.problem
    assert verdict.epochs == 2
    assert verdict.truncated == 0


def disobey(monkeypatch: pytest.MonkeyPatch, order: type, *, number: int | None = None) -> None:
    """Workers (or the one that is born as `number`) do nothing on this order."""
    obey = FakeWorker.obey
    first: list[FakeWorker] = []

    def obeys(self: FakeWorker, given: Any, now: float) -> Sequence[Any]:
        if self not in first:
            first.append(self)
        if isinstance(given, order) and number in {None, first.index(self)}:
            return ()
        return obey(self, given, now)

    monkeypatch.setattr(FakeWorker, "obey", obeys)


@pytest.mark.long
def test_an_epoch_that_does_not_end_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    disobey(monkeypatch, Collect)
    verdict = trial().run()
    assert not verdict.ok
    assert "does not end" in verdict.problem


@pytest.mark.long
def test_a_peer_that_stays_behind_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    disobey(monkeypatch, orders.Absorb, number=0)
    verdict = trial(settings=replace(CALM, epochs=50)).run()
    assert "while others have been at" in verdict.problem


def test_peers_that_differ_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    absorb = FakeWorker.absorb

    def wrongly(self: FakeWorker, record: RoundRecord, now: float) -> None:
        self.model.momentum[0] += self.speed
        absorb(self, record, now)

    monkeypatch.setattr(FakeWorker, "absorb", wrongly)
    verdict = trial().run()
    assert "other parameters than others" in verdict.problem


def test_a_leak_is_noticed() -> None:
    world = trial(settings=replace(CALM, epochs=20))
    world.swarm.world.run(15)
    volunteer = next(iter(world.swarm.volunteers.values()))
    volunteer.participant.hoard = [bytes(5_000_000)]  # type: ignore[union-attr]
    assert re.search(r"holds \d{7} bytes", world.run().problem)


class At:
    def __init__(self, peer: PeerId) -> None:
        self.peer = peer


NODE: Any = At(PeerId(b"p" * 32))


def test_going_back_is_noticed() -> None:
    history = History()
    checker = NeverBack(history)
    history.said(NODE, Absorbed(BEFORE, AFTER, np.zeros(1, dtype=np.float32)), 0.0)

    def holds(name: StateName, how: str) -> None:
        checker.said(NODE, Holds(State(name, b"", ""), how), 0.0)

    holds(AFTER, "stepped")
    with pytest.raises(Exception, match="back"):
        holds(BEFORE, "loaded")
    with pytest.raises(Exception, match="disk"):
        holds(BEFORE, "ready")
    holds(StateName(0, bytes(32)), "ready")
    holds(BEFORE, "loaded")
    holds(StateName(1, b"c" * 32), "loaded")


def absorb(mean: Any, members: Any, missing: Any = ()) -> WholeMeans:
    checker = WholeMeans(Swarm(1, CALM))
    for peer, samples in members:
        checker.said(At(peer), Contributed(BEFORE, (Stretch(0, BEFORE, 0, samples),)), 0.0)
    checker.said(NODE, RoundRecord(AFTER, members, 1.0, missing, 1.0), 0.0)
    checker.said(NODE, Absorbed(BEFORE, AFTER, mean), 0.0)
    return checker


def test_a_mean_that_lacks_something_without_saying_so_is_noticed() -> None:
    a, b = PeerId(b"a" * 32), PeerId(b"b" * 32)
    members = ((a, 4), (b, 12))
    mean = 0.25 * gradient(a, BEFORE, 4, 32) + 0.75 * gradient(b, BEFORE, 12, 32)
    mean = mean.astype(np.float32)
    assert absorb(mean, members).truncated == 0
    mean[8:16] = gradient(b, BEFORE, 12, 32)[8:16]
    assert absorb(mean, members, ((a, 1),)).truncated == 1
    with pytest.raises(Exception, match="1 of 4"):
        absorb(mean, members)
    with pytest.raises(Exception, match="1 of 4"):
        absorb(mean, members, ((a, 2),))


def test_two_means_of_one_name_are_noticed() -> None:
    a = PeerId(b"a" * 32)
    mean = gradient(a, BEFORE, 4, 32)
    checker = absorb(mean, ((a, 4),))
    with pytest.raises(Exception, match="another mean"):
        checker.said(NODE, Absorbed(BEFORE, AFTER, mean + 1), 0.0)
    with pytest.raises(Exception, match="something else"):
        checker.said(NODE, Absorbed(BEFORE, StateName(3, b"c" * 32), mean), 0.0)


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_tolerance_follows_from_the_codec(codec: str) -> None:
    tolerance = tolerance_of(codec, 300)
    assert (tolerance is None) == (codec in FEEDBACK)
    if tolerance is not None:
        assert 1e-4 <= tolerance <= 0.2
        assert (tolerance == 1e-4) == (codec == "raw")
