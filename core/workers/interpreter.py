"""What the workers of one trainer say, as events for its participant; and the files that both sides share."""

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
from core.base.problems import Problem
from core.base.work import Collected, Evaluated, Loaded, Progress, StateFrame, Stepped
from core.codecs.registry import FEEDBACK, codec_of
from core.kept.kept_means import KeptMeans
from core.kept.residual import ResidualFile, ResidualShape
from core.kept.state_files import DiskStateFile
from core.swarm.words.answers import MeanOffered, StateOffered, TrainerAnswer, TrainerReady
from core.swarm.words.orders import RoundRecord
from core.swarm.words.states import State
from core.system.atomic_files import make_directory
from core.workers import frames
from core.workers.arena import Arena

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

    def after(self, record: RoundRecord) -> bytes:
        """The ledger of the state to which a round leads from there."""

    def counted(self, peer: PeerId, data: bytes) -> int:
        """Samples of a peer that a round has counted between there and the state with this ledger; 0: none has."""


class Interpreter:
    """Turns what workers say into events for the participant, and owns the files that both sides share.

    Args:
        files: Where engine and worker meet.
        tell: Gives the participant an event.
        ledger: Shown the ledger of each state that the worker holds.
    """

    def __init__(self, files: SharedFiles, *, tell: Callable[[TrainerAnswer], None], ledger: LedgerKeeper) -> None:
        self._files = files
        self._tell = tell
        self._ledger = ledger
        self._arena_path = files.arena
        self._arena: Arena | None = None
        self._residuals: ResidualFile | None = None
        self._means: KeptMeans | None = None
        """None: nobody can take a step again with a mean."""

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

    async def keep_mean(self) -> bytes:
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

    async def put_mean(self, path: Path) -> bool:
        """Put a mean that others have given into its slot; returns whether it is one."""
        try:
            if self._means is not None and self._arena is not None:
                await asyncio.to_thread(self._means.read, path, self._arena.slot("mean"))
                return True
        except Problem as problem:
            _LOG.warning("%s", problem.message)
        return False

    async def heard(self, frame: frames.ToEngine) -> None:
        """Tell the participant what a frame says.

        Raises:
            Problem: a file that the worker names is missing or is not what it says.
        """
        match frame:
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
