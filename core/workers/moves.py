"""Orders that lead a worker from one state to the next: by a round's mean, by means of rounds it missed, or whole."""

import asyncio
from pathlib import Path

from core.base.ids import PeerId
from core.base.problems import WireProblem
from core.base.state_header import HEADER_BYTES_MAX, LENGTH_BYTES, header_bytes, header_of
from core.swarm.words import orders
from core.workers import frames
from core.workers.interpreter import Interpreter, LedgerKeeper
from core.workers.worker import Worker


class Moves:
    """Turns these orders into frames, and fills the slot of the mean where it comes from a file.

    Args:
        interpreter: Keeps means, and reads those of others.
        ledger: Follows each of the own rounds.
        peer: This computer, whose samples other states count.
    """

    def __init__(self, interpreter: Interpreter, ledger: LedgerKeeper, peer: PeerId) -> None:
        self._interpreter = interpreter
        self._ledger = ledger
        self._peer = peer
        self._ordering: asyncio.Task[None] | None = None
        """Held, lest it be collected before it is done."""
        self._means: list[Path] = []
        """What the worker is still to ask for."""

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
                self._means = [Path(mean) for mean in means]
                counted = self._ledger.counted(self._peer, header.ledger)
                worker.send(frames.Replay(header=header, digest=digest, counted=counted))

    async def heard(self, frame: frames.ToEngine, worker: Worker[frames.ToEngine] | None) -> None:
        """Give the worker the next mean of its replay, where this frame asks for it."""
        if isinstance(frame, frames.WantsMean) and worker is not None:
            there = bool(self._means) and await self._interpreter.put_mean(self._means.pop(0))
            worker.send(frames.TakeMean(there=there))

    def forget(self) -> None:
        """The worker stands still or is gone: what it was to do before means nothing to it afterwards."""
        self._means = []
        if self._ordering is not None:
            self._ordering.cancel()

    async def _load(self, order: orders.Load, worker: Worker[frames.ToEngine]) -> None:
        ledger = await asyncio.to_thread(_ledger_in, Path(order.location))
        name, counted = order.name, self._ledger.counted(self._peer, ledger)
        worker.send(frames.Load(path=order.location, epoch=name.epoch, lineage=name.lineage, counted=counted))

    async def _absorb(self, order: orders.Absorb, worker: Worker[frames.ToEngine], ledger: bytes) -> None:
        record, mean_digest = order.record, await self._interpreter.keep_mean()
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
