"""A learner whose layers have experts: its steps, its rows, and where it goes on."""

import json
import queue
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from core.base.content import digest
from core.base.manifest import Manifest
from core.base.mixture import ExpertNumbers
from core.base.problems import WorkerProblem
from core.base.work import Evaluate, Evaluated
from core.training.conversation import Conversation
from core.training.flights.calls import AskExpert, CallNews, ExpertLapsed, LocalExperts, SeekPlaces
from core.training.flights.flights import NotMeasured
from core.training.learner import Learner, fly
from core.training.programs.alone import Alone
from core.workers.arena import Arena
from core.workers.flight_frames import FlightsUnmeasured
from core.workers.frames import Load, Progress, Start, Throttle
from tests.unit.training.given_samples import GivenSamples
from tests.unit.training.mixtures import batches_of, small_digits
from tests.unit.training.small import ticking

EXPERTS = ExpertNumbers(layers=2, grid=(2, 3), live=6, top=2, width=16, factor=1, step_rows=8)
MANIFEST = Manifest(
    name="t",
    organiser="t",
    task="digits",
    experts=EXPERTS,
    optimizer={"name": "adamw", "learning_rate": 0.01, "warmup_epochs": 0},
    target_samples=64,
    evaluate_every=2,
    seed=1,
    authority="00" * 32,
)


class Failing(LocalExperts):
    """Experts that do not answer a share of the calls.

    Args:
        share: The share.
    """

    def __init__(self, share: float) -> None:
        super().__init__(EXPERTS, b"s" * 32, device="cpu", clock=lambda: 0.0)
        self.random = Random(1)
        self.share = share
        self.lapsed: list[CallNews] = []

    def ask(self, ask: AskExpert) -> None:
        if self.random.random() < self.share:
            self.lapsed.append(ExpertLapsed(ask.call))
        else:
            super().ask(ask)

    def heard(self) -> Iterable[CallNews]:
        lapsed, self.lapsed = self.lapsed, []
        return [*super().heard(), *lapsed]


def learner_of(states: Path, experts: LocalExperts, *, clock: Callable[[], float] | None = None) -> Learner:
    task = small_digits(EXPERTS)

    def opened(seed: int) -> Iterator[Any]:
        number = 0
        while True:
            yield batches_of(task, 1, rows=16, seed=seed % 1000 + number)[0]
            number += 1

    samples = GivenSamples(0, opened)
    found = Learner(task=task, manifest=MANIFEST, states=states, samples=samples, devices=["cpu"], clock=ticking())
    fly(found, MANIFEST, experts, clock or ticking())
    return found


def step(learner: Learner) -> None:
    while learner.samples < MANIFEST.target_samples:
        learner.accumulate()
    epoch = learner.state.epoch + 1
    learner.absorb(learner.hand_over(), epoch=epoch, lineage=digest(bytes([epoch]))).saving.result()


def test_steps_with_experts_teach_trunk_and_experts(tmp_path: Path) -> None:
    experts = Failing(0.0)
    learner = learner_of(tmp_path, experts)
    before = learner.evaluate().score
    for _ in range(12):
        step(learner)
    after = learner.evaluate().score
    assert after.loss < before.loss - 0.3
    assert (after.right or 0) > (before.right or 0)
    assert max(one.version for one in experts.all) > 10


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_each_row_is_used_or_drawn_again(tmp_path: Path, share: float) -> None:
    learner = learner_of(tmp_path, Failing(share))
    for _ in range(3):
        step(learner)
    samples = learner.data
    assert isinstance(samples, GivenSamples)
    assert samples.back
    assert sorted(samples.used + samples.back) == sorted(set(samples.used) | set(samples.back))
    assert len(samples.used) >= 3 * MANIFEST.target_samples


def test_a_state_that_was_loaded_loses_no_new_flight(tmp_path: Path) -> None:
    learner = learner_of(tmp_path / "one", Failing(0.0))
    for _ in range(5):
        step(learner)
    saved = learner.state.saved
    other = learner_of(tmp_path / "two", Failing(0.0))
    other.accumulate()
    other.load(saved.path, epoch=5, lineage=learner.state.lineage)
    samples = other.data
    assert isinstance(samples, GivenSamples)
    back = len(samples.back)
    assert back == 16
    step(other)
    step(other)
    assert (other.state.epoch, len(samples.back)) == (7, back)


def test_training_alone_goes_on_with_its_experts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    losses = []
    for epochs in (6, 2):
        experts = LocalExperts(EXPERTS, b"s" * 32, device="cpu", clock=lambda: 0.0)
        experts.load(tmp_path / "experts.safetensors")
        alone = Alone(learner_of(tmp_path / "states", experts), MANIFEST, clock=ticking())
        alone.keep = lambda experts=experts: experts.save(tmp_path / "experts.safetensors")
        alone.train(epochs=epochs)
        said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        losses.append([line["loss_heldout"] for line in said if line.get("loss_heldout") is not None])
    first, second = losses
    assert second[0] < first[-1] + 0.02 < first[0]


class Nobody(Failing):
    """Experts of which none answers, until some do."""

    sought = 0

    def seek(self, seek: SeekPlaces) -> None:
        self.sought += 1
        super().seek(seek)


def test_flights_begin_seldom_while_nobody_answers(tmp_path: Path) -> None:
    """A worker that finds no host would else try as fast as it can compute."""
    experts = Nobody(1.0)
    learner = learner_of(tmp_path, experts, clock=ticking(0.001))
    flights = learner.flights
    assert flights is not None
    flights.under_way.measure()
    for _ in range(2000):
        flights.step(begin=True)
    assert experts.sought < 100
    with pytest.raises(NotMeasured):
        assert flights.under_way.measured
    experts.share = 0.0
    while learner.samples < 64:
        flights.step(begin=True)


def test_a_model_without_answers_is_not_measured(tmp_path: Path) -> None:
    with pytest.raises(WorkerProblem, match="Too few experts answer"):
        learner_of(tmp_path, Failing(1.0)).evaluate()


class Talk:
    """A conversation of a learner with experts.

    Args:
        folder: Of its states.
        share: Share of calls that nobody answers.
        experts: Left out: those that fail so often.
    """

    def __init__(self, folder: Path, *, share: float = 0.0, experts: LocalExperts | None = None) -> None:
        self.learner = learner_of(folder, Failing(share) if experts is None else experts, clock=ticking(0.01))
        self.said: list[object] = []
        folder.mkdir(exist_ok=True)
        self.inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        start = Start(
            manifest_path="",
            blobs_dir="",
            state_dir="",
            arena_path="",
            seed=0,
            device="cpu",
            threads=1,
            compile=False,
            memory_bytes=0,
            hold=False,
        )
        arena = Arena.create(folder / "arena", self.learner.numel)
        self._conversation = Conversation(
            start, learner=self.learner, arena=arena, say=self.said.append, clock=ticking(0.01)
        )
        self._conversation.begin()

    def turns(self, count: int, *frames: object) -> None:
        for frame in frames:
            self.inbox.put(frame)
        for _ in range(count):
            assert self.learner.flights is not None
            self.learner.flights.idle_s = 0.0
            self._conversation.turn(self.inbox)

    def count(self, kind: type) -> int:
        return sum(isinstance(frame, kind) for frame in self.said)


def test_a_state_loaded_while_measuring_is_measured(tmp_path: Path) -> None:
    learner = learner_of(tmp_path / "one", Failing(0.0))
    step(learner)
    saved = tmp_path / "saved"
    saved.write_bytes(learner.state.saved.path.read_bytes())
    talk = Talk(tmp_path / "two")
    talk.turns(2, Evaluate(), Load(path=str(saved), epoch=1, lineage=learner.state.lineage, counted=0))
    assert (talk.learner.state.epoch, talk.count(Evaluated)) == (1, 0)
    talk.turns(50)
    assert talk.count(Evaluated) == 1


def test_the_speed_of_flights_counts_rests_once(tmp_path: Path) -> None:
    """At nine tenths of the time, what lands in a second is the speed, and not nine tenths of it."""
    talk = Talk(tmp_path)
    talk.turns(1, Throttle(share=90, threads=1))
    told: list[Progress] = []
    while not told or not told[-1].samples_per_s:
        talk.turns(1)
        told = [frame for frame in talk.said if isinstance(frame, Progress)]
    assert talk.learner.flights is not None
    assert told[-1].samples_per_s == talk.learner.flights.samples_per_s


def test_one_evaluation_answers_all_who_ask_meanwhile(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    for _ in range(40):
        talk.turns(2, Evaluate())
    assert 1 <= talk.count(Evaluated) < 20


def test_a_worker_tells_that_nothing_was_measured(tmp_path: Path) -> None:
    talk = Talk(tmp_path, share=1.0)
    talk.turns(600, Evaluate())
    assert (talk.count(FlightsUnmeasured), talk.count(Evaluated)) == (1, 0)


class Deserted(Failing):
    """Nobody lives anywhere, so no search ends."""

    def __init__(self) -> None:
        super().__init__(0.0)
        self.is_deserted = True

    def seek(self, seek: SeekPlaces) -> None:
        if not self.is_deserted:
            super().seek(seek)


def test_measuring_ends_where_nobody_lives_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    experts = Deserted()
    talk = Talk(tmp_path, experts=experts)
    talk.turns(200, Evaluate())
    assert talk.count(FlightsUnmeasured) == 0
    talk.turns(20_000)
    assert (talk.count(FlightsUnmeasured), talk.count(Evaluated)) == (1, 0)
    assert "was not measured" in capsys.readouterr().err
    experts.is_deserted = False
    talk.turns(200, Evaluate())
    assert talk.count(Evaluated) == 1
