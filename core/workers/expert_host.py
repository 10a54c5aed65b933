"""The engine's side of the worker that hosts experts: gives it batches in slots, and has it take and save experts.

The worker of a computer may end at any time; the experts that it is to have are known here, and the next worker takes
them again from their last files.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from core.api.numbers import volume
from core.base.ids import PeerId
from core.base.mixture import ExpertNumbers
from core.base.problems import Sentence
from core.codecs.registry import codec_of
from core.experts import hosting
from core.experts.grid import Place
from core.experts.messages import call_bytes, rows_that_fit
from core.experts.queue import CallKind
from core.system.atomic_files import make_directory
from core.system.child_process import own_command
from core.workers import expert_frames as frames
from core.workers.arena import SlotFile
from core.workers.keeper import WorkerKeeper, WorkerProgram
from core.workers.place import WorkerShare

NOTHING_YET: Final = frames.ExpertsTally(updates=0, clipped_rows=0, weightless_rows=0, stale=())


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertFolder:
    """Where the worker finds and leaves its things, and how it runs."""

    run: bytes
    """The manifest's id."""
    numbers: ExpertNumbers
    folder: Path
    """Files of experts, and the slots."""
    log: Path
    share: Callable[[], WorkerShare]
    """Asked at each start of a worker."""
    memory_bytes: Callable[[], int]
    """Upper bound on what experts take; asked at each start."""


@dataclass(frozen=True, slots=True)
class TrainersKnown:
    """What the engine knows of trainers, and the worker has to, for the bounds on what each can do."""

    account: Callable[[PeerId], bytes]
    counted: Callable[[PeerId], bool]
    """Whether a round has counted samples of it."""


class ExpertWorker:
    """Keeps the worker that hosts experts running, and carries orders and answers between it and the host's machine.

    Args:
        place: Paths and options.
        trainers: What is known of those that call.
        tell: Gives the machines what the worker tells.
        changed: Called when something that people see has changed.
        notice: Told in a sentence what people should know.
        random: Spreads restarts.
    """

    def __init__(
        self,
        place: ExpertFolder,
        *,
        trainers: TrainersKnown,
        tell: Callable[[hosting.HostFact], None],
        changed: Callable[[], None],
        notice: Callable[[Sentence], object],
        random: Random,
    ) -> None:
        self._place = place
        self._trainers = trainers
        self._tell = tell
        self.changed = changed
        self.notice = notice
        self._codec = codec_of(place.numbers.codec)
        self.rows_max = rows_that_fit(self._codec, numbers=place.numbers.width)
        """Number of rows of one batch: as many as one call can have."""
        self._slots: SlotFile | None = None
        self._free: list[int] = []
        """Slots that no batch uses."""
        self._batches: dict[int, tuple[int, hosting.ComputeBatch]] = {}
        """By the number of a batch that the worker has, its slot and the batch."""
        self._wanted: dict[hosting.Expert, str] = {}
        """Experts that the worker is to have, and the last file of each."""
        program = WorkerProgram(
            log=place.log,
            folder=place.folder,
            frames=frames.FromExperts,
            command=own_command("experts-worker", "core.training.experts"),
        )
        self.keeper: WorkerKeeper[frames.FromExperts] = WorkerKeeper(
            program, owner=self, new_arena=lambda: self._slots_path, random=random
        )
        """Starts, suspends, limits and ends the process as the person wants."""
        self.computes_on = ""
        """The device, as torch calls it; empty until a worker has said it."""
        self.places_max = 0
        """Number of experts for which there is memory; 0 until a worker has said it."""
        self.tally = NOTHING_YET

    async def run(self) -> None:
        """Keep a worker running whenever one is wanted, until cancelled."""
        try:
            await self.keeper.run()
        finally:
            self._close()

    # --- orders ------------------------------------------------------------------------------------------------------

    def compute(self, batch: hosting.ComputeBatch) -> None:
        """Have the worker compute a batch of the host's machine."""
        if self._slots is None or not self._free:
            return  # the machine hears that the worker stopped
        slot, at, calls = self._free.pop(), 0, []
        view = self._slots.slot(slot)
        for call, payload in zip(batch.calls, batch.payloads, strict=True):
            view[at : at + payload.nbytes] = payload
            at += payload.nbytes
            account, counted = self._trainers.account(call.sender), self._trainers.counted(call.sender)
            calls.append(frames.BatchCall(account, counted, call.rows, call.seen, payload.nbytes))
        self._batches[batch.number] = slot, batch
        frame = frames.ExpertBatch(
            number=batch.number,
            slot=slot,
            layer=batch.layer,
            place=batch.place,
            kind=batch.kind,
            calls=tuple(calls),
        )
        self.keeper.send(frame)

    def take(self, layer: int, place: Place, path: str = "") -> None:
        """Have the worker host the expert of a place from now on.

        Args:
            layer: The expert's.
            place: The expert's.
            path: A file of its state, maybe a stranger's; empty: it goes on as it is, or begins anew.
        """
        self._wanted[layer, place] = path
        self.keeper.send(frames.TakeExpert(layer=layer, place=place, path=path))

    def save(self, layer: int, place: Place) -> None:
        """Have the worker write the state of an expert to a file; what comes of it is told."""
        self.keeper.send(frames.SaveExpert(layer=layer, place=place))

    def give_up(self, layer: int, place: Place) -> None:
        """Have the worker host an expert no longer."""
        self._wanted.pop((layer, place), None)
        self.keeper.send(frames.YieldExpert(layer=layer, place=place))

    # --- for the keeper ----------------------------------------------------------------------------------------------

    def start_frame(self) -> frames.ExpertStart:
        """The first frame of the next worker, which has slots of its own."""
        self._close()
        place, share = self._place, self._place.share()
        make_directory(place.folder)
        row = 2 * self._codec.max_bytes(place.numbers.width)
        size = max(row * self.rows_max, 1)
        self._slots = SlotFile.create(self._slots_path, count=hosting.AHEAD, slot_bytes=size)
        self._free = list(range(hosting.AHEAD))
        return frames.ExpertStart(
            run=place.run,
            numbers=place.numbers,
            folder=str(place.folder),
            slots_path=str(self._slots_path),
            slots=hosting.AHEAD,
            slot_bytes=size,
            device=self.keeper.fallback.choose(share.device, notice=self.notice),
            threads=share.threads,
            memory_bytes=place.memory_bytes(),
        )

    async def heard(self, frame: frames.FromExperts) -> None:
        """The worker has said something of itself, its experts or a batch."""
        match frame:
            case frames.ExpertsReady():
                self._ready(frame)
            case frames.ExpertBatchDone():
                self.keeper.problem = None
                self._computed(frame)
            case frames.ExpertTaken(layer=layer, place=place, version=version):
                if (layer, place) in self._wanted:  # else it was given up meanwhile
                    self._tell(hosting.ExpertHosted(layer, place, version))
            case frames.ExpertLacking(layer=layer, place=place):
                self._wanted.pop((layer, place), None)
                self._tell(hosting.ExpertLost(layer, place, frame.why, frame.damaged))
            case frames.ExpertSaved(layer=layer, place=place):
                if (layer, place) in self._wanted:
                    self._wanted[layer, place] = frame.path
                self._tell(hosting.ExpertKept(layer, place, frame.version, frame.path, frame.digest, frame.size_bytes))
            case frames.ExpertNotSaved(layer=layer, place=place):
                self._tell(hosting.ExpertNotKept(layer, place))
            case frames.ExpertsTally():
                self.tally = frame
                self.changed()

    def stood_still(self, *, paused: bool) -> None:
        """The worker computes no more: those who wait for a batch are to be told."""
        del paused
        self._batches.clear()
        self._free = list(range(hosting.AHEAD))
        self._tell(hosting.HostStopped())

    # --- inside ------------------------------------------------------------------------------------------------------

    @property
    def _slots_path(self) -> Path:
        return self._place.folder / "slots"

    def _ready(self, frame: frames.ExpertsReady) -> None:
        """The worker says for how many experts there is memory: fewer than before, where it ran out."""
        if not frame.places_max and (self.places_max or not self.computes_on):
            none = "No expert of the model lives here: each takes {size} of memory, and too little is free."
            self.notice(Sentence(none, volume(self._place.numbers.hosting_bytes)))
        elif frame.places_max < self.places_max and len(self._wanted) >= frame.places_max:
            self.notice(Sentence("There is memory for {count} experts.", frame.places_max))
        self.computes_on, self.places_max = frame.device, frame.places_max
        for (layer, place), path in self._wanted.items():
            self.keeper.send(frames.TakeExpert(layer=layer, place=place, path=path))
        self.changed()

    def _computed(self, frame: frames.ExpertBatchDone) -> None:
        found = self._batches.pop(frame.number, None)
        if found is None or self._slots is None:
            return  # it was given up when the worker stood still
        slot, batch = found
        view, at = self._slots.slot(slot), 0
        answers: list[memoryview | None] = []
        for number, (call, payload) in enumerate(zip(batch.calls, batch.payloads, strict=True)):
            size = call_bytes(self._codec, kind=CallKind.FORWARD, rows=call.rows, numbers=self._place.numbers.width)
            good = number not in frame.malformed
            answers.append(memoryview(bytes(view[at : at + size])) if good else None)
            at += payload.nbytes
        self._free.append(slot)
        self._tell(hosting.BatchComputed(frame.number, frame.version, tuple(answers)))

    def _close(self) -> None:
        if self._slots is not None:
            self._slots.close()
            self._slots = None
