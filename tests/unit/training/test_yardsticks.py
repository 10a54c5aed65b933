"""The loops that training is measured against really train, all of them."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
import torch

from core.backbone import charter as charters
from core.base.manifest import Manifest
from core.tasks import task_of
from core.tasks.task import Blobs, Task
from tests.bench.training.loop_turns import Answer, LoopOrder, LoopReady, LoopRefused, TakeTurn, TurnTaken
from tests.bench.training.measured_loops import Measured, PlainLoop, WorkerLoop
from tests.small_task import small_data, small_task
from tests.unit.training.given_samples import text_batches

PASS = 4
LOOPS = ("worker", "plain", "trainer")


def trainer_loop() -> ModuleType:
    """Import transformers' own trainer, which takes seconds."""
    pytest.importorskip("accelerate")
    return import_module("tests.bench.training.trainer_loop")


def loop_of(name: str) -> type[Measured]:
    return {"worker": WorkerLoop, "plain": PlainLoop}.get(name) or trainer_loop().TrainerLoop


def manifest_of(folder: Path, task: str = "albert") -> Manifest:
    prepared, authority = small_task(folder, task=task), charters.new_authority()
    blobs = charters.keep_blobs(folder, prepared.blobs)
    numbers, by = prepared.numbers, authority.peer_id.hex()
    data = small_data(prepared)
    manifest = Manifest(name="test", organiser="test", task=task, numbers=numbers, data=data, blobs=blobs, authority=by)
    return charters.found(folder, manifest, authority).manifest


def opened(manifest: Manifest, folder: Path) -> Task:
    return task_of(manifest, Blobs(folder / charters.BLOBS, manifest.blobs))


def order(folder: Path, loop: str = "worker", **changes: object) -> LoopOrder:
    whole = LoopOrder(
        loop=loop,
        manifest_path=str(folder / charters.MANIFEST),
        blobs_dir=str(folder / charters.BLOBS),
        folder=str(folder),
        device="cpu",
        threads=1,
        micro_batch=PASS,
    )
    return msgspec.structs.replace(whole, **changes)


@pytest.mark.parametrize("task", ["albert", "gpt"])
@pytest.mark.parametrize("name", LOOPS)
def test_each_loop_trains_in_its_turn(name: str, task: str, tmp_path: Path) -> None:
    manifest = manifest_of(tmp_path, task)
    loop = loop_of(name)(opened(manifest, tmp_path), manifest, order(tmp_path))
    model = opened(manifest, tmp_path).model(0)
    assert loop.parameters == sum(each.numel() for each in model.parameters())
    assert loop.micro_batch == PASS
    taken = loop.turn(0.2, 2 if name == "trainer" else 1)  # only Trainer's turns end with a step whatever the time
    assert taken.samples % PASS == 0 < taken.samples
    assert taken.wall_s >= 0.2
    assert taken.cpu_s > 0 < taken.memory_bytes
    assert name != "trainer" or taken.samples % (2 * PASS) == 0, "a turn of Trainer ends with a step"
    assert (taken.step_s is not None) == (name == "worker")
    assert msgspec.json.decode(msgspec.json.encode(taken), type=TurnTaken) == taken


def test_worker_searches_its_micro_batch_and_keeps_it(tmp_path: Path) -> None:
    manifest = msgspec.structs.replace(manifest_of(tmp_path, "gpt"), target_samples=64)
    loop = WorkerLoop(opened(manifest, tmp_path), manifest, order(tmp_path, micro_batch=None))
    assert 1 <= loop.micro_batch <= 64 // 8, "a pass is at most an eighth of a step"
    assert loop.turn(0.1, 2).samples % loop.micro_batch == 0


def test_steps_move_the_plain_loops_model(tmp_path: Path) -> None:
    manifest = manifest_of(tmp_path, "gpt")
    task = opened(manifest, tmp_path)
    made: list[torch.nn.Module] = []
    fresh = task.model
    task.model = lambda seed: made.append(fresh(seed)) or made[-1]  # type: ignore[method-assign]
    loop = PlainLoop(task, manifest, order(tmp_path))
    before = [each.clone() for each in made[0].parameters()]
    loop.turn(0.0, 2)
    assert all(torch.equal(old, new) for old, new in zip(before, made[0].parameters(), strict=True))
    loop.turn(0.0, 2)
    assert any(not torch.equal(old, new) for old, new in zip(before, made[0].parameters(), strict=True))


def test_rows_for_transformers_hold_the_same_answers(tmp_path: Path) -> None:
    manifest = manifest_of(tmp_path)
    batch = next(text_batches(manifest, Blobs(tmp_path / charters.BLOBS, manifest.blobs), 0))
    loops = trainer_loop()
    rows = list(loops.transformers_rows(batch))
    told = [label for row in rows for label in row["labels"] if label != loops.NOT_A_WORD]
    assert len(rows) == batch.samples
    assert told == batch.words_M.tolist()


def answers(given: LoopOrder, turns: int) -> list[bytes]:
    words = [given, *[TakeTurn(seconds=0.1, step_batches=2)] * turns]
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.training.yardsticks"],
        input=b"".join(msgspec.json.encode(word) + b"\n" for word in words),
        capture_output=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=120,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.long
def test_the_process_answers_its_order_and_each_turn(tmp_path: Path) -> None:
    manifest_of(tmp_path, "gpt")
    ready, *turns = answers(order(tmp_path, "trainer"), 2)
    assert isinstance(msgspec.json.decode(ready, type=Answer), LoopReady)
    assert [msgspec.json.decode(turn, type=TurnTaken).samples > 0 for turn in turns] == [True, True]


def test_the_process_refuses_a_device_that_is_not_there(tmp_path: Path) -> None:
    (only,) = answers(order(tmp_path, device="cuda:77"), 0)
    refused = msgspec.json.decode(only, type=Answer)
    assert isinstance(refused, LoopRefused)
    assert refused.message.startswith("The device cuda:77 cannot be used: ")
    assert refused.message.endswith(".")
    assert json.loads(only)["hint"]
