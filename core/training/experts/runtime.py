"""The expert worker's side of the talk with the engine: one loop that listens and computes batches."""

# ruff: noqa: N806 - names of arrays end in their shapes

import gc
import queue
import sys
from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Final

import numpy as np
import torch

from core.api.settings import CPU
from core.base.problems import Damaged, Problem, WorkerProblem
from core.codecs.codec import Codec
from core.codecs.registry import codec_of
from core.experts.grid import Place
from core.experts.queue import CallKind
from core.training.devices.devices import Device
from core.training.devices.duty import DutyCycle
from core.training.devices.micro_batch import lacked_memory
from core.training.experts.bank import ExpertBank
from core.training.experts.bounds import STALE_BUCKETS, Rows, is_finite
from core.training.experts.hosted_expert import GradientCall, NotFiniteRows
from core.workers import expert_frames as frames
from core.workers.arena import SlotFile
from core.workers.frames import Resume, Suspend, Suspended, Throttle

TALLY_S: Final = 1.0
_ALWAYS: Final = (frames.SaveExpert, frames.YieldExpert)
"""What is done also by a worker that is suspended: nobody asks for it again."""


class ExpertRuntime:
    """Does what the engine says, in its order; only what limits or suspends it comes first.

    Args:
        start: The first frame.
        device: Where they compute.
        bank: The experts.
        say: Sends a frame to the engine.
        clock: Seconds that only go forward.
    """

    def __init__(
        self,
        start: frames.ExpertStart,
        *,
        device: Device,
        bank: ExpertBank,
        say: Callable[[frames.FromExperts], None],
        clock: Callable[[], float],
    ) -> None:
        self._device = device
        self._bank = bank
        self._slots = SlotFile(Path(start.slots_path), count=start.slots, slot_bytes=start.slot_bytes)
        self._codec: Codec = codec_of(start.numbers.codec)
        self._width = start.numbers.width
        self._say = say
        self._clock = clock
        self._duty = DutyCycle(clock)
        self._waiting: deque[frames.ToExperts] = deque()
        self._suspended = False
        self._told_at = clock()

    def begin(self) -> None:
        """Tell the engine that it can be asked."""
        self._say(
            frames.ExpertsReady(device=self._device.name, title=self._device.title, places_max=self._bank.places_max)
        )

    def run(self, inbox: "queue.SimpleQueue[frames.ToExperts]") -> None:
        """Listen and compute for ever; the process ends when its stdin closes."""
        while True:
            self.turn(inbox)

    def turn(self, inbox: "queue.SimpleQueue[frames.ToExperts]") -> None:
        """Hear one frame if there is one, else do what was heard first; wait while there is nothing to do."""
        rest_s = self._duty.rest_s if self._waiting else None
        try:
            frame = inbox.get(block=rest_s != 0.0, timeout=rest_s)
        except queue.Empty:
            self._do(self._waiting.popleft())
            return
        match frame:
            case Throttle(share=share, threads=threads):
                self._duty.set_share(share)
                torch.set_num_threads(threads)
            case Suspend():
                self._waiting = deque(one for one in self._waiting if isinstance(one, _ALWAYS))
                self._suspended = True
                self._bank.move(CPU)
                if torch.accelerator.is_available():
                    gc.collect()
                    torch.accelerator.empty_cache()
                self._say(Suspended())
            case Resume():
                self._bank.move(self._device.name)
                self._suspended = False
                self.begin()
            case _ if not self._suspended or isinstance(frame, _ALWAYS):
                self._waiting.append(frame)

    def _do(self, frame: frames.ToExperts) -> None:
        match frame:
            case frames.ExpertBatch():
                self._duty.pass_begins()
                try:
                    self._say(self.compute(frame))
                except (RuntimeError, MemoryError) as error:
                    if not lacked_memory(error):
                        raise
                    self._give_up(frame)
                self._duty.pass_ends()
                self._tell()
            case frames.TakeExpert(layer=layer, place=place, path=path):
                try:
                    hosted = self._bank.take((layer, place), Path(path) if path else None)
                except Problem as problem:
                    damaged = isinstance(problem, Damaged)
                    self._say(frames.ExpertLacking(layer=layer, place=place, why=str(problem), damaged=damaged))
                else:
                    self._say(frames.ExpertTaken(layer=layer, place=place, version=hosted.version))
            case frames.SaveExpert(layer=layer, place=place):
                self._save(layer, place)
            case frames.YieldExpert(layer=layer, place=place):
                self._bank.give_up((layer, place))
            case frames.ExpertStart():
                raise WorkerProblem("The process that hosts experts was started twice.")

    def _give_up(self, batch: frames.ExpertBatch) -> None:
        """There is no memory for what an expert computes, or remembers: leave it, and host no more than the others."""
        self._bank.give_up((batch.layer, batch.place))
        gc.collect()
        self._bank.places_max = len(self._bank.experts)
        why = f"There is memory for {self._bank.places_max} experts."
        self._say(frames.ExpertBatchDone(number=batch.number, version=0, malformed=tuple(range(len(batch.calls)))))
        self._say(frames.ExpertLacking(layer=batch.layer, place=batch.place, why=why))
        self.begin()

    def _save(self, layer: int, place: Place) -> None:
        """Write an expert's file; where that cannot be, it goes on without, and the log says why."""
        if (layer, place) not in self._bank.experts:
            self._say(frames.ExpertNotSaved(layer=layer, place=place))
            return
        try:
            file = self._bank.save((layer, place))
        except Problem as problem:
            sys.stderr.write(f"The expert {place} of layer {layer} is not saved: {problem}\n")
            self._bank.mend((layer, place))
            self._say(frames.ExpertNotSaved(layer=layer, place=place))
            return
        self._say(
            frames.ExpertSaved(
                layer=layer,
                place=place,
                version=file.version,
                path=str(file.path),
                digest=file.digest,
                size_bytes=file.size_bytes,
            )
        )

    def compute(self, batch: frames.ExpertBatch) -> frames.ExpertBatchDone:
        """Compute a batch; the answers lie in its slot then, each where the payload of its call began."""
        expert, slot = (batch.layer, batch.place), self._slots.slot(batch.slot)
        ends = list(accumulate(call.size for call in batch.calls))
        payloads = [slot[end - call.size : end] for call, end in zip(batch.calls, ends, strict=True)]
        inputs = [self._decoded(payload, call, batch.kind) for payload, call in zip(payloads, batch.calls, strict=True)]
        good = [number for number, arrays in enumerate(inputs) if all(is_finite(array) for array in arrays)]
        version = 0
        while good and (hosted := self._bank.experts.get(expert)) is not None:
            version, calls = hosted.version, [batch.calls[number] for number in good]
            spans = _spans(calls)
            rows = inputs[good[0]]
            if len(good) > 1:
                rows = [np.concatenate(arrays) for arrays in zip(*(inputs[number] for number in good), strict=True)]
            try:
                if batch.kind is CallKind.FORWARD:
                    answers_RN = hosted.forward(rows[0])
                else:
                    given = [
                        GradientCall(span, call.account, call.counted, call.seen)
                        for span, call in zip(spans, calls, strict=True)
                    ]
                    answers_RN = hosted.backward(rows[0], rows[1], given, now=self._clock())
            except NotFiniteRows as outcome:
                if not self._bank.mend(expert):
                    good = [n for n, span in zip(good, spans, strict=True) if all(outcome.finite[span])]
                continue
            for number, span in zip(good, spans, strict=True):
                answer = self._codec.encode(answers_RN[span].reshape(-1))
                payloads[number][: answer.nbytes] = answer
            break
        else:
            good = []
        malformed = tuple(number for number in range(len(batch.calls)) if number not in good)
        return frames.ExpertBatchDone(number=batch.number, version=version, malformed=malformed)

    def _decoded(self, payload: memoryview, call: frames.BatchCall, kind: CallKind) -> list[Rows]:
        """The rows of a call, and for a backward one the gradient of their answers, each of shape (R, N)."""
        parts = 2 if kind is CallKind.BACKWARD else 1
        size = call.size // parts
        arrays = [np.empty((call.rows, self._width), np.float32) for _ in range(parts)]
        for number, array in enumerate(arrays):
            self._codec.decode_into(payload[number * size : (number + 1) * size], array.reshape(-1))
        return arrays

    def _tell(self) -> None:
        """Tell the engine what the experts have done, once a second at most."""
        if self._clock() < self._told_at + TALLY_S:
            return
        self._told_at = self._clock()
        every = list(self._bank.experts.values())
        self._say(
            frames.ExpertsTally(
                updates=sum(one.updates for one in every),
                clipped_rows=sum(one.clipped_rows for one in every),
                weightless_rows=sum(one.weightless_rows for one in every),
                stale=tuple(sum(one.stale[bucket] for one in every) for bucket in range(STALE_BUCKETS)),
            )
        )


def _spans(calls: Sequence[frames.BatchCall]) -> list[slice]:
    """Where the rows of each call lie among those of all."""
    return [slice(end - call.rows, end) for call, end in zip(calls, accumulate(c.rows for c in calls), strict=True)]
