"""A worker's frames become events for the participant, its orders frames for the worker; and the files both share."""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from core.averaging.kept_mean import MeanForm
from core.base.content import DIGEST_BYTES
from core.base.ids import PeerId
from core.base.manifest import Manifest
from core.base.problems import Problem, WireProblem
from core.base.state_header import HEADER_BYTES_MAX, LENGTH_BYTES, header_bytes, header_of
from core.base.work import Collected, Evaluated, Loaded, Progress, StateFrame, Stepped
from core.codecs.registry import FEEDBACK, codec_of
from core.kept.kept_means import KeptMeans
from core.kept.residual import ResidualFile, ResidualShape
from core.kept.state_files import DiskStateFile
from core.swarm.words import orders
from core.swarm.words.answers import MeanOffered, StateOffered, TrainerAnswer, TrainerReady
from core.swarm.words.states import State
from core.system.atomic_files import make_directory
from core.workers import frames
from core.workers.arena import Arena
from core.workers.worker import Worker

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFiles:
    """Where engine and worker meet.

    Attributes:
        manifest: Manifest of the collaboration.
        arena: A folder; each run of a worker has a file of its own in it.
        residuals: The file of what a coarse codec loses; made when the codec is one.
        means: A folder; the means of the last rounds, for peers that missed them.
    """

    manifest: Manifest
    arena: Path
    residuals: Path
    means: Path


class LedgerKeeper(Protocol):
    """Knows who gave what, as far as the state goes that the worker holds (`core.ledger.board.Board`)."""

    def hold(self, data: bytes, epoch: int) -> None:
        """The worker holds a state of this epoch, in whose file this ledger is."""

    def after(self, record: orders.RoundRecord) -> bytes:
        """The ledger of the state to which a round leads from there."""

    def counted(self, peer: PeerId, data: bytes) -> int:
        """Samples of a peer that a round has counted between there and the state with this ledger; 0: none has."""


class Interpreter:
    """Turns what workers say into events for the participant, and its orders into frames; owns the files of both sides.

    A worker goes from one state to the next by a round's mean, by means of rounds that it missed, or takes it whole.

    Args:
        files: Where engine and worker meet.
        tell: Gives the participant an event.
        ledger: Follows each of the own rounds, and is shown the ledger of each state that the worker holds.
        peer: This computer, whose samples other states count.
    """

    def __init__(
        self, files: SharedFiles, *, tell: Callable[[TrainerAnswer], None], ledger: LedgerKeeper, peer: PeerId
    ) -> None:
        self._files = files
        self._tell = tell
        self._ledger = ledger
        self._peer = peer
        self._arena_path = files.arena
        self._arena: Arena | None = None
        self._residuals: ResidualFile | None = None
        self._means: KeptMeans | None = None
        """None: nobody can take a step again with a mean."""
        self._ordering: asyncio.Task[None] | None = None
        """Held, lest it be collected before it is done."""
        self._wanted: list[Path] = []
        """Means that the worker is still to ask for."""

    def new_arena(self) -> Path:
        """A file of its own for the next run: a round that goes on may still hold the last one's."""
        folder = self._files.arena
        make_directory(folder)
        for old in folder.iterdir():
            with contextlib.suppress(OSError):  # Windows: still mapped; the next run gets it
                old.unlink()
        self._arena_path = folder / secrets.token_hex(4)
        return self._arena_path

    def close(self) -> None:
        """The owner says that no worker runs any more, and the file of residuals is closed."""
        if self._residuals is not None:
            self._residuals.close()

    def order(self, order: orders.Absorb | orders.Load | orders.Replay, worker: Worker[frames.ToEngine]) -> None:
        """Carry out an order.

        With an Absorb the worker is told when its mean is kept, with a Load when its file's head is read; it owes
        nothing else so long.

        Args:
            order: Order of the participant.
            worker: The one that runs.
        """
        match order:
            case orders.Absorb():
                self._ordering = asyncio.create_task(self._absorb(order, worker, self._ledger.after(order.record)))
            case orders.Load():
                self._ordering = asyncio.create_task(self._load(order, worker))
            case orders.Replay(header=header, digest=digest, means=means):
                self._wanted = [Path(mean) for mean in means]
                counted = self._ledger.counted(self._peer, header.ledger)
                worker.send(frames.Replay(header=header, digest=digest, counted=counted))

    def forget(self) -> None:
        """The worker stands still or is gone: what it was to do before means nothing to it afterwards."""
        self._wanted = []
        if self._ordering is not None:
            self._ordering.cancel()

    async def heard(self, frame: frames.ToEngine, worker: Worker[frames.ToEngine] | None) -> None:
        """Tell the participant what a frame says, or give the worker the next mean of its replay, where it asks for it.

        Raises:
            Problem: a file that the worker names is missing or is not what it says.
        """
        match frame:
            case frames.WantsMean() if worker is not None:
                there = bool(self._wanted) and await self._put_mean(self._wanted.pop(0))
                worker.send(frames.TakeMean(there=there))
                return
            case frames.WorkerReady():
                await self._ready(frame)
                return
            case Stepped():
                await self._offered(frame)
            case Loaded():
                await self._offered(frame)
                await self._offer_means(frame)
            case Progress() | Collected() | Evaluated():
                pass
            case _:
                return
        self._tell(frame)

    async def _load(self, order: orders.Load, worker: Worker[frames.ToEngine]) -> None:
        ledger = await asyncio.to_thread(_ledger_in, Path(order.location))
        name, counted = order.name, self._ledger.counted(self._peer, ledger)
        worker.send(frames.Load(path=order.location, epoch=name.epoch, lineage=name.lineage, counted=counted))

    async def _absorb(self, order: orders.Absorb, worker: Worker[frames.ToEngine], ledger: bytes) -> None:
        record, mean_digest = order.record, await self._keep_mean()
        worker.send(
            frames.Absorb(
                round=order.round,
                epoch=record.name.epoch,
                lineage=record.name.lineage,
                ledger=ledger,
                averaged=_averaged(record, order.agreement),
                untaken=order.untaken,
                mean_digest=mean_digest,
            )
        )

    async def _keep_mean(self) -> bytes:
        """Write down the mean that is in its slot, for peers that miss its round.

        Returns:
            Its root digest; empty: it is not kept, here or on any other member.
        """
        if self._means is None or self._arena is None:
            return b""
        root, file = await asyncio.to_thread(self._means.keep, self._arena.slot("mean"))
        if file is not None:
            self._tell(MeanOffered(file))
        return root

    async def _put_mean(self, path: Path) -> bool:
        """Put a mean that others have given into its slot; returns whether it is one."""
        try:
            if self._means is not None and self._arena is not None:
                await asyncio.to_thread(self._means.read, path, self._arena.slot("mean"))
                return True
        except Problem as problem:
            _LOG.warning("%s", problem.message)
        return False

    async def _ready(self, frame: frames.WorkerReady) -> None:
        arena = self._arena = Arena(self._arena_path, frame.numel)
        averaging = self._files.manifest.averaging
        codec = codec_of(averaging.codec, frame.layout)
        form = MeanForm(codec, chunk_numel=averaging.chunk_numel, numel=frame.numel)
        self._means = KeptMeans(self._files.means, form) if frame.exact else None
        state = await self._offered(frame)
        await self._offer_means(frame)
        residuals = await self._kept_residuals(frame.numel)
        self._tell(
            TrainerReady(
                state=state,
                contribution=arena.slot("contribution"),
                mean=arena.slot("mean"),
                layout=frame.layout,
                residuals=residuals,
                mean_bytes=form.bytes_max,
            )
        )

    async def _kept_residuals(self, numel: int) -> ResidualFile | None:
        """The file of residuals, opened by the first worker and kept for the others: a round may outlive a worker."""
        manifest = self._files.manifest
        averaging = manifest.averaging
        if averaging.codec in FEEDBACK and self._residuals is None:
            shape = ResidualShape(
                manifest=manifest.id, codec=averaging.codec, numel=numel, chunk_numel=averaging.chunk_numel
            )
            self._residuals = await asyncio.to_thread(ResidualFile, self._files.residuals, shape)
        return self._residuals

    async def _offered(self, frame: StateFrame) -> State:
        """Open the checkpoint as the worker named it, offer it to others."""
        path = Path(frame.checkpoint)
        file = await asyncio.to_thread(DiskStateFile, path, frame.digest, chunks=frame.chunks)
        self._ledger.hold(frame.ledger, frame.epoch)
        self._tell(StateOffered(file))
        if self._means is not None:
            self._means.only(_digests(frame.means), bytes_max=file.size_bytes)
        return State.of(frame)

    async def _offer_means(self, frame: StateFrame) -> None:
        """Offer the means on the disk that led to this state, the newest last."""
        if self._means is not None:
            for file in reversed(await asyncio.to_thread(self._means.whole, _digests(frame.means))):
                self._tell(MeanOffered(file))


def _digests(joined: bytes) -> list[bytes]:
    return [joined[at : at + DIGEST_BYTES] for at in range(0, len(joined), DIGEST_BYTES)]


def _ledger_in(path: Path) -> bytes:
    """The ledger in a state's file that strangers have given; empty where it cannot be read: the worker refuses it."""
    try:
        with path.open("rb") as file:
            head = file.read(LENGTH_BYTES)
            return header_of(head + file.read(min(header_bytes(head), HEADER_BYTES_MAX))).ledger
    except (OSError, WireProblem):
        return b""


def _averaged(record: orders.RoundRecord, agreement: orders.Agreement | None) -> frames.RoundMetrics:
    samples = [samples for _, samples in record.members if samples]
    return frames.RoundMetrics(
        samples=sum(samples),
        loss=record.loss,
        peers=len(samples),
        seconds=record.seconds,
        states_alike=agreement.alike if agreement is not None else 0,
        states_heard=agreement.heard if agreement is not None else 0,
    )
