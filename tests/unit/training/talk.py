"""The talk between an engine and a worker's conversation, in one thread."""

import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.base.manifest import Manifest
from core.system.atomic_files import write_atomic
from core.training.conversation import Conversation
from core.training.learner import Learner
from core.training.standstill import Heard
from core.training.states import checkpoint
from core.workers import frames
from core.workers.arena import Arena
from tests.unit.training.small import MANIFEST, SmallTask, learner, ticking


@dataclass
class Talk:
    conversation: Conversation
    peer: Learner
    arena: Arena
    said: list[frames.ToEngine]
    inbox: queue.SimpleQueue[Heard] = field(default_factory=queue.SimpleQueue)

    def hear(self, *orders: frames.ToWorker) -> list[frames.ToEngine]:
        """What is said in answer to these orders, once a step's state is saved."""
        before = len(self.said)
        for order in orders:
            self.inbox.put(order)
            self.conversation.turn(self.inbox)
        self.conversation.settle()
        return self.said[before:]

    def train(self, turns: int) -> None:
        assert self.conversation.training
        for _ in range(turns):
            self.conversation.turn(self.inbox)


def talk(
    folder: Path,
    *,
    task: SmallTask | None = None,
    manifest: Manifest = MANIFEST,
    sinks=(),
    devices: Sequence[str] = ("cpu",),
    **start: object,
) -> Talk:
    peer = learner(folder / "states", task=task, manifest=manifest, devices=devices)
    peer.state.saving.result()  # what a test holds back is a later state
    arena = Arena.create(folder / "arena", peer.numel)
    said: list[frames.ToEngine] = []
    first = frames.Start(manifest_path="", blobs_dir="", state_dir="", arena_path="", seed=0, **start)
    conversation = Conversation(first, learner=peer, arena=arena, say=said.append, clock=ticking(0.0625), sinks=sinks)
    return Talk(conversation, peer, arena, said)


class Gate:
    """Holds back the thread that writes states."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, ends_with: Exception | None = None) -> None:
        self.open = threading.Event()

        def slow(path: Path, data: memoryview) -> None:
            self.open.wait(60)
            if ends_with is not None:
                raise ends_with
            write_atomic(path, data)

        monkeypatch.setattr(checkpoint, "write_atomic", slow)
