"""Frames of a worker become events for its participant."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from core.api.score import Score
from core.base.manifest import AveragingNumbers, Manifest
from core.base.problems import Damaged
from core.base.signing import KeyPair
from core.base.work import Collected, Evaluated, Loaded, Progress, Stepped
from core.swarm.words.answers import StateOffered, TrainerReady
from core.swarm.words.orders import RoundRecord
from core.swarm.words.states import State, StateName
from core.workers import frames
from core.workers.arena import Arena
from core.workers.interpreter import Interpreter, SharedFiles
from tests.unit.workers.test_state_files import checkpoint

NUMEL = 100
NAME = StateName(3, b"l" * 32)
LEDGER = b"who gave what"


class Stage:
    def __init__(self, folder: Path, *, codec: str = "raw") -> None:
        manifest = Manifest(
            name="n",
            organiser="o",
            task="albert",
            authority=KeyPair(b"k" * 32).peer_id.hex(),
            averaging=AveragingNumbers(codec=codec),
            target_samples=10,
        )
        files = SharedFiles(
            manifest=manifest, arena=folder / "arena", residuals=folder / "residuals", means=folder / "means"
        )
        self.told: list[Any] = []
        self.interpreter = Interpreter(files, tell=self.told.append, ledger=self, peer=KeyPair(b"k" * 32).peer_id)
        self.path, self.digest = checkpoint(folder, 1000)
        self.state = {
            "epoch": 3,
            "lineage": b"l" * 32,
            "ancestors": b"parent! earlier ",
            "digest": self.digest,
            "checkpoint": str(self.path),
            "ledger": LEDGER,
        }

    def hold(self, data: bytes, epoch: int) -> None:
        self.told.append((data, epoch))

    def after(self, record: RoundRecord) -> bytes:
        raise AssertionError(record)

    def hear(self, frame: frames.ToEngine) -> list[Any]:
        before = len(self.told)
        asyncio.run(self.interpreter.heard(frame, None))
        return self.told[before:]

    def ready(self) -> list[Any]:
        Arena.create(self.interpreter.new_arena(), NUMEL)
        return self.hear(frames.WorkerReady(numel=NUMEL, parameters=NUMEL, layout=(60, 40), **self.state))


@pytest.mark.parametrize(
    "frame",
    [
        Progress(epoch=3, samples=9, samples_per_s=2.0, loss=1.5, ahead=4),
        Collected(round=b"r", epoch=3, samples=9, loss=1.5),
        Evaluated(epoch=3, score=Score(2.0), baselines={"word frequencies": Score(4.0)}),
    ],
)
def test_what_a_worker_says_is_told(tmp_path: Path, frame: frames.ToEngine) -> None:
    assert Stage(tmp_path).hear(frame) == [frame]


def test_a_new_state_is_offered_to_others_before_it_counts(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    state = State(NAME, stage.digest, str(stage.path), ancestors=(b"parent! ", b"earlier "))
    for frame in (Stepped(samples=7, loss=0.5, **stage.state), Loaded(**stage.state)):
        held, offered, told = stage.hear(frame)
        assert held == (LEDGER, 3)
        assert isinstance(offered, StateOffered)
        assert offered.file.digest == stage.digest
        assert (told, State.of(told)) == (frame, state)


def test_vectors_of_a_ready_worker_are_those_of_its_arena(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    *_, first = stage.ready()
    *_, second = stage.ready()
    assert isinstance(first, TrainerReady)
    assert (len(first.contribution), len(first.mean), first.layout, first.residuals) == (NUMEL, NUMEL, (60, 40), None)
    second.mean[:] = 1.0
    assert not first.mean.any(), "a round that goes on may still hold the arena of the run before"


def test_residuals_outlive_a_worker(tmp_path: Path) -> None:
    stage = Stage(tmp_path, codec="q4")
    *_, first = stage.ready()
    *_, second = stage.ready()
    assert first.residuals is not None
    assert first.residuals is second.residuals
    stage.interpreter.close()


def test_a_checkpoint_that_is_not_what_was_written_is_damage(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.path.write_bytes(b"something else")
    with pytest.raises(Damaged):
        stage.hear(frames.Loaded(**stage.state))
    assert not stage.told
