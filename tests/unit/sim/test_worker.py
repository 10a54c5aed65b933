"""The simulated worker behind a participant that only writes down what it hears."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from core.base.ids import PeerId
from core.base.work import Collect, Collected, Evaluate, Evaluated, Go, Hold, Loaded, Progress, Release, Stepped
from core.swarm.words import orders
from core.swarm.words.answers import MeanOffered, StateOffered, TrainerAnswer, TrainerGone, TrainerReady
from core.swarm.words.states import State, StateName
from tests.sim.swarm.disk import Disk, ModelState
from tests.sim.swarm.samples import Contributed, gradient
from tests.sim.swarm.worker import Absorbed, FakeWorker, Holds, WorkerSeat
from tests.sim.swarm.worker_settings import WorkerSettings
from tests.sim.world.agenda import Agenda

ME = PeerId(b"m" * 32)
SETTINGS = WorkerSettings(parameters=8, seed=1, first=StateName(0, b"f" * 32))
NEXT = StateName(1, b"n" * 32)
RECORD = orders.RoundRecord(NEXT, (), 1.0, (), 1.0)


class Recorder:
    """A participant that only writes down what its trainer says."""

    def __init__(self) -> None:
        self.said: list[tuple[str, Any]] = []
        self.mean: Any = None
        self.contribution: Any = None

    def handle(self, answer: TrainerAnswer, now: float) -> tuple[()]:
        match answer:
            case TrainerReady(state=state, contribution=contribution, mean=mean):
                self.mean, self.contribution = mean, contribution
                return self._note("ready", state)
            case TrainerGone():
                return self._note("gone", now)
            case Progress():
                self._note("ahead", answer.ahead)
                return self._note("progressed", answer.samples)
            case Collected():
                return self._note("collected", answer.samples)
            case Stepped():
                self._note("kept", answer.samples)
                return self._note("stepped", State.of(answer))
            case Loaded():
                return self._note("loaded", State.of(answer))
            case Evaluated():
                return self._note("evaluated", answer.epoch)
            case StateOffered():
                return self._note("offered", answer.file.digest)
            case MeanOffered():
                return self._note("mean offered", answer.file.digest)

    def heard(self, what: str) -> list[Any]:
        return [thing for name, thing in self.said if name == what]

    def _note(self, what: str, thing: Any) -> tuple[()]:
        self.said.append((what, thing))
        return ()


class Bench:
    def __init__(self, disk: Disk | None = None, *, delayed: bool = False) -> None:
        self.agenda = Agenda(0.0)
        self.recorder = Recorder()
        self.told: list[Any] = []
        self.disk = disk or Disk()
        self.worker = FakeWorker(
            WorkerSeat(peer=ME, answer=self.recorder.handle, later=self._later, tell=self.told.append),
            disk=self.disk,
            speed=10.0,
            settings=replace(SETTINGS, delayed=delayed),
            random=Random(1),
        )
        self.worker.start(1.0)
        self.agenda.run(1.0)

    def _later(self, delay_s: float, action: Callable[[float], Sequence[Any]]) -> None:
        self.agenda.after(delay_s, lambda: action(self.agenda.now) and None)

    def order(self, *given: Any, seconds: float = 1.0) -> None:
        for order in given:
            self.worker.order(order)
        self.agenda.run(self.agenda.now + seconds)


def test_it_trains_at_its_speed_between_go_and_hold() -> None:
    bench = Bench()
    bench.agenda.run(5.0)
    assert not bench.recorder.heard("progressed")
    bench.order(Go(), seconds=10.0)
    assert bench.recorder.heard("progressed")[-1] >= 88
    bench.order(Hold(), seconds=2.0)
    last = bench.recorder.heard("progressed")[-1]
    bench.order(seconds=10.0)
    assert bench.recorder.heard("progressed")[-1] == last


def test_worker_collects_stops_and_resumes_with_its_gradients() -> None:
    bench = Bench()
    bench.order(Go(), seconds=5.0)
    bench.order(Collect(round=b"r"), seconds=5.0)
    (first,) = bench.recorder.heard("collected")
    assert 40 <= first <= 60
    assert np.array_equal(bench.recorder.contribution, gradient(ME, SETTINGS.first, first, 8))
    bench.order(Release(round=b"r"), seconds=5.0)
    bench.order(Collect(round=b"r"))
    assert first + 40 <= bench.recorder.heard("collected")[1] <= first + 60


def test_it_steps_keeps_a_checkpoint_and_begins_anew() -> None:
    bench = Bench()
    bench.order(Go(), seconds=5.0)
    bench.order(Collect(round=b"r"))
    bench.recorder.mean[:] = 1.0
    bench.order(orders.Absorb(b"r", RECORD))
    (state,) = bench.recorder.heard("stepped")
    assert state.name == NEXT
    assert bench.recorder.heard("offered")[-1] == state.digest
    assert isinstance(bench.told[-2], Absorbed)
    assert bench.told[-1] == Holds(state, "stepped")
    model = ModelState.from_bytes(bench.disk.checkpoints[-1][1].data, 8)
    assert np.allclose(model.momentum, 1.0)
    assert np.allclose(model.parameters, SETTINGS.first_state().parameters - 0.05)
    bench.order(Collect(round=b"s"))
    assert bench.recorder.heard("collected")[-1] < 20


def test_a_new_worker_begins_with_what_the_disk_holds() -> None:
    before = Bench()
    before.order(orders.Absorb(b"r", RECORD))
    after = Bench(before.disk)
    assert after.recorder.heard("ready")[0].name == NEXT


def test_worker_loads_a_fetched_state() -> None:
    bench = Bench()
    data = ModelState(NEXT, np.zeros(8, dtype=np.float32), np.ones(8, dtype=np.float32)).to_bytes(0)
    bench.disk.begin(b"root", len(data), [b""])
    bench.disk.write(0, memoryview(data))
    bench.order(orders.Load(bench.disk.finish(), NEXT), Evaluate())
    assert bench.recorder.heard("loaded")[0].name == NEXT
    assert bench.recorder.heard("evaluated") == [1]


def test_nothing_comes_from_a_killed_worker() -> None:
    bench = Bench()
    bench.order(Go(), seconds=5.0)
    bench.worker.order(Collect(round=b"r"))
    bench.worker.kill(bench.agenda.now)
    said = len(bench.recorder.said)
    bench.order(seconds=20.0)
    assert len(bench.recorder.said) == said
    assert bench.recorder.said[-1][0] == "gone"


def test_a_delayed_one_computes_on_while_its_contribution_is_out() -> None:
    bench = Bench(delayed=True)
    bench.order(Go(), seconds=5.0)
    bench.order(Collect(round=b"r"), seconds=5.0)
    (first,) = bench.recorder.heard("collected")
    ahead = bench.recorder.heard("ahead")[-1]
    assert bench.recorder.heard("progressed")[-1] == first + ahead
    assert 40 <= ahead <= 52
    assert np.array_equal(bench.recorder.contribution, gradient(ME, SETTINGS.first, first, 8))
    bench.order(orders.Absorb(b"r", RECORD))
    (kept,) = bench.recorder.heard("kept")
    assert ahead <= kept <= ahead + 8
    bench.order(Collect(round=b"s"), seconds=2.0)
    second = bench.recorder.heard("collected")[-1]
    made = [news for news in bench.told if isinstance(news, Contributed)]
    (stretch,) = made[0].stretches
    stale, fresh = made[1].stretches
    assert (stretch.at, stretch.first, stretch.samples) == (SETTINGS.first, 0, first)
    assert (stale.at, stale.first, stale.samples) == (SETTINGS.first, first, kept)
    assert (fresh.at, fresh.first, fresh.samples) == (NEXT, 0, second - kept)
    stale_share = kept / second
    mean = stale_share * gradient(ME, SETTINGS.first, kept, 8, first=first)
    mean += (1 - stale_share) * gradient(ME, NEXT, second - kept, 8)
    assert np.allclose(bench.recorder.contribution, mean, atol=1e-6)


def test_delayed_worker_takes_back_a_failed_contribution() -> None:
    bench = Bench(delayed=True)
    bench.order(Go(), seconds=5.0)
    bench.order(Collect(round=b"r"), seconds=5.0)
    bench.order(orders.Absorb(b"r", RECORD), seconds=3.0)
    (kept,) = bench.recorder.heard("kept")
    for name in (b"s", b"t", b"u"):
        bench.order(Collect(round=name), seconds=3.0)
        bench.order(Release(round=name), seconds=1.0)
        assert bench.recorder.heard("ahead")[-1] == 0
    made = [news.stretches for news in bench.told if isinstance(news, Contributed)][1:]
    for stale, fresh in made:
        assert (stale.at, stale.samples) == (SETTINGS.first, kept)
        assert (fresh.at, fresh.first) == (NEXT, 0)
    sizes = [fresh.samples for _, fresh in made]
    assert sizes[0] + 24 <= sizes[1]
    assert sizes[1] + 24 <= sizes[2]
