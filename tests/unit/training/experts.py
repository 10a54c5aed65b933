"""Experts of a small size, and what tests say to their runtime."""

import contextlib
import queue
from collections import deque
from pathlib import Path

import numpy as np

from core.base.mixture import ExpertNumbers, ExpertOptimizer
from core.codecs.registry import codec_of
from core.experts.messages import call_bytes
from core.experts.queue import CallKind
from core.training.devices.devices import PROCESSOR
from core.training.experts.bank import ExpertBank
from core.training.experts.runtime import ExpertRuntime
from core.workers.arena import SlotFile
from core.workers.expert_frames import BatchCall, ExpertBatch, ExpertStart, TakeExpert

RUN = bytes(range(32))
WIDTH = 16
ACCOUNTS = [bytes([n]) * 16 for n in range(20)]
PLACE = (1, 2)


def numbers(codec="raw", optimizer=None, **odd):
    optimizer = ExpertOptimizer(learning_rate=0.01, max_grad_norm=0.5) if optimizer is None else optimizer
    sizes = {"live": 16, "width": WIDTH, "factor": 2, "step_rows": 8, "step_calls": 1000, **odd}
    return ExpertNumbers(codec=codec, optimizer=optimizer, **sizes)


class Waits(Exception):
    """Nothing is left to be heard or done."""


class Inbox:
    """A queue that says so when its reader would wait for ever."""

    def __init__(self, frames):
        self.frames = deque(frames)

    def get(self, block, timeout):
        if self.frames:
            return self.frames.popleft()
        if block and timeout is None:
            raise Waits
        raise queue.Empty


class Hosted:
    """A runtime with one expert, spoken to as the engine does."""

    def __init__(self, folder: Path, experts=None):
        self.numbers = numbers() if experts is None else experts
        self.codec = codec_of(self.numbers.codec)
        self.slots = SlotFile.create(folder / "slots", count=2, slot_bytes=1 << 20)
        self.bank = ExpertBank(self.numbers, run=RUN, folder=folder / "files", device="cpu", memory_bytes=10**9)
        start = ExpertStart(
            run=RUN,
            numbers=self.numbers,
            folder=str(folder / "files"),
            slots_path=str(folder / "slots"),
            slots=2,
            slot_bytes=1 << 20,
            memory_bytes=10**9,
        )
        self.now, self.said, self.count = 0.0, deque(), 0
        self.runtime = ExpertRuntime(
            start, device=PROCESSOR, bank=self.bank, say=self.said.append, clock=lambda: self.now
        )
        self.tell(TakeExpert(layer=0, place=PLACE))
        self.said.clear()

    @property
    def expert(self):
        return self.bank.experts[0, PLACE]

    def tell(self, *frames):
        """Have it hear frames and do what they say, until it would wait for more."""
        inbox = Inbox(frames)
        with contextlib.suppress(Waits):
            self.runtime.run(inbox)

    def ask(self, *calls, kind=CallKind.FORWARD, place=PLACE):
        """Have calls computed as one batch; returns what was said, and the answer of each call, shape (R, N).

        Args:
            calls: Of each its arrays, and what else a call has.
        """
        slot, at, listed, begins = self.slots.slot(1), 0, [], []
        for arrays, odd in calls:
            data = b"".join(
                bytes(self.codec.encode(np.ascontiguousarray(array, np.float32).ravel())) for array in arrays
            )
            assert len(data) == call_bytes(self.codec, kind=kind, rows=len(arrays[0]), numbers=WIDTH)
            slot[at : at + len(data)] = data
            about = {"account": ACCOUNTS[0], "counted": True, "seen": self.expert.version, **odd}
            listed.append(BatchCall(rows=len(arrays[0]), size=len(data), **about))
            begins.append(at)
            at += len(data)
        self.count += 1
        done = self.runtime.compute(
            ExpertBatch(number=self.count, slot=1, layer=0, place=place, kind=kind, calls=tuple(listed))
        )
        answers = []
        for call, begin in zip(listed, begins, strict=True):
            rows = np.empty((call.rows, WIDTH), np.float32)
            size = self.codec.max_bytes(rows.size)
            self.codec.decode_into(slot[begin : begin + size], rows.reshape(-1))
            answers.append(rows)
        return done, answers

    def learn(self, x, g, **odd):
        return self.ask(((x, g), odd), kind=CallKind.BACKWARD)
