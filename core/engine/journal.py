"""What an engine remembers of one collaboration between two runs: ledger, receipts, time given, where peers were."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from core.api.snapshot import CurvePoint
from core.averaging.receipts.exchange import Receipted
from core.averaging.receipts.receipt import Receipt
from core.base.contact import Contact
from core.base.ids import PeerId
from core.base.problems import Problem, WireProblem
from core.base.trace import Trace
from core.control.notices import NoticeRing
from core.ledger.agreement import SAMPLES_OVER_TARGET, agreed
from core.ledger.contributions import Contribution, Ledger, LedgerRow, load_ledger
from core.ledger.credits import credits_of
from core.ledger.receipts import OTHERS, ReceiptLog
from core.swarm.orders import (
    SCALED_BY_CHANCE,
    ContributionCut,
    HeldoutLearned,
    LedgerLearned,
    RoundLost,
    RoundRecord,
    WorkNotKept,
)
from core.system.atomic_files import read_bounded, set_aside, write_atomic

SAVE_INTERVAL_S = 10.0
"""How often the time given is kept; what a round brought is kept at once."""
SAVE_PAUSE_S = 0.5
"""At least so long between two saves."""
CONTACTS_MAX = 24
MEMORY_BYTES_MAX = 64 * 1024


class _Memory(msgspec.Struct, frozen=True, kw_only=True):
    contributed_s: Annotated[float, Meta(ge=0)] = 0.0
    contacts: Annotated[list[Contact], Meta(max_length=CONTACTS_MAX)] = []


class Journal:
    """See the module's docstring.

    Args:
        folder: The collaboration's folder (core.storage.paths.Home.state).
        ledger: The ledger's file.
        receipts: The receipts' folder.
        target_samples: How many samples a step takes.
        notices: Hears about damaged files and full disks.
        now: Unix seconds.
    """

    def __init__(
        self,
        *,
        folder: Path,
        ledger: Path,
        receipts: Path,
        target_samples: int,
        notices: NoticeRing,
        now: Callable[[], float],
    ) -> None:
        self._path = folder / "memory.json"
        self._ledger_path = ledger
        self._target_samples = target_samples
        self._notices = notices
        self._now = now
        self._since: float | None = None
        self._dirty = asyncio.Event()
        self._told = self._told_weight = self._told_scaled = False
        read = load_ledger(ledger)
        self._receipts = ReceiptLog(receipts)
        for notice in (read.notice, self._receipts.notice):
            if notice is not None:
                notices.add("warning", notice)
        self.ledger = read.ledger
        self.ledger.merge(Ledger(rows=_by_receipts(self._receipts)))
        self._memory = self._load()

    @property
    def contacts(self) -> list[Contact]:
        """Peers that were there last time: seeds for this time."""
        return self._memory.contacts

    @property
    def met(self) -> tuple[PeerId, ...]:
        """Peers that were in most rounds with this one, as its receipts say."""
        rounds = {peer: credit.rounds for peer, credit in self._receipts.totals().items() if credit.samples}
        return tuple(sorted(rounds.keys() - {OTHERS}, key=lambda peer: (rounds[peer], peer))[-CONTACTS_MAX:])

    @property
    def contributed_s(self) -> float:
        """Seconds of contributing, in all runs."""
        running = self._now() - self._since if self._since is not None else 0.0
        return self._memory.contributed_s + running

    def contributing(self, *, on: bool) -> None:
        """Begin or end to count time."""
        total = self.contributed_s
        self._since = self._now() if on else None
        self._memory = msgspec.structs.replace(self._memory, contributed_s=total)

    def take(self, event: object, names: Callable[[], Mapping[PeerId, str]], *, trace: Trace) -> None:
        """Note what a participant reports; what is nothing to remember is passed over.

        Args:
            event: Of `core.swarm.orders`, or a receipt.
            names: Asked how those who are here call themselves.
            trace: Counts what donors do wrong.
        """
        match event:
            case RoundRecord():
                self.round(event, names())
                if event.missing:
                    self._notices.add(
                        "warning",
                        f"Epoch {event.name.epoch}: {len(event.missing)} contribution(s) arrived only in part.",
                    )
            case ContributionCut():
                self._tell_cut(event)
            case RoundLost(reason=reason):
                self._notices.add("warning", f"A round of averaging failed ({reason}); it is tried again.")
            case WorkNotKept(epoch=epoch):
                self._notices.add(
                    "warning",
                    f"The last steps up to epoch {epoch} that this computer took were not kept: most others had gone "
                    "on from an earlier one without it. It goes on with theirs.",
                )
            case Receipted(receipt=receipt):
                self.receipt(receipt, names())
            case HeldoutLearned(epoch=epoch, loss=loss):
                self.heldout(epoch, loss)
            case LedgerLearned(ledgers=ledgers, epoch=epoch):
                self.merge(ledgers, epoch_max=epoch, trace=trace)

    def round(self, record: RoundRecord, names: Mapping[PeerId, str]) -> None:
        """A committed round enters the ledger: its credited samples, and the training loss."""
        members = [Contribution(peer, names.get(peer, ""), samples) for peer, samples in record.credited]
        self.ledger.record_round(members, epoch=record.name.epoch, lineage=record.name.lineage)
        self.ledger.curve.record(CurvePoint(record.name.epoch - 1, record.loss))
        self._dirty.set()

    def _tell_cut(self, cut: ContributionCut) -> None:
        """Tell the person, once a run for each reason: a newcomer's weight grows for several rounds."""
        if cut.weight < cut.samples and not self._told_weight:
            self._told_weight = True
            self._notices.add(
                "info",
                f"Epoch {cut.epoch} counted {cut.weight:,} of this computer's {cut.samples:,} samples: a computer that "
                "is new, or much faster than before, counts for more with each epoch, up to its share.",
            )
        if cut.scaled > SCALED_BY_CHANCE and not self._told_scaled:
            self._told_scaled = True
            self._notices.add(
                "warning",
                f"In epoch {cut.epoch} this computer's gradients were far larger than those of the others, and were "
                "scaled down. If it goes on, restart Potluck, and check this computer's memory and graphics card.",
            )

    def receipt(self, receipt: Receipt, names: Mapping[PeerId, str]) -> None:
        """A round's receipt is complete: kept, and its peers given credit, once."""
        try:
            new = self._receipts.append(receipt)
        except Problem as problem:
            if not self._told:
                self._notices.add("problem", str(problem))
            self._told = True
            return
        if new:
            self.ledger.record_credits(credits_of(receipt), names=names, epoch=receipt.statement.epoch)
            self._dirty.set()

    def heldout(self, epoch: int, loss: float) -> None:
        """Somebody looked at the held-out text."""
        self.ledger.curve.record(CurvePoint(epoch, None, loss))
        self._dirty.set()

    def merge(self, ledgers: Sequence[bytes], *, epoch_max: int, trace: Trace) -> None:
        """The donors' ledgers came with their state; what they agree on is taken over."""
        told = []
        for data in ledgers:
            try:
                told.append(Ledger.from_bytes(data, epoch_max=epoch_max))
            except WireProblem:
                trace.mark("ledger.drop")
        samples_max = SAMPLES_OVER_TARGET * self._target_samples * epoch_max
        self.ledger.merge(agreed(told, samples_max=samples_max))
        self._dirty.set()

    async def keep(self, contacts: Callable[[], Sequence[Contact]]) -> None:
        """Save when something changed, and every few seconds while time is counted, until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SAVE_INTERVAL_S):
                    await self._dirty.wait()
            if self._dirty.is_set() or self._since is not None:
                self._dirty.clear()
                self.save(contacts())
            await asyncio.sleep(SAVE_PAUSE_S)

    def save(self, contacts: Sequence[Contact]) -> None:
        """Save now.  A full disk is told once, not raised: the next save tries again."""
        known = list(contacts)[:CONTACTS_MAX] or self._memory.contacts
        memory = _Memory(contributed_s=self.contributed_s, contacts=known)
        try:
            self.ledger.save(self._ledger_path)
            write_atomic(self._path, msgspec.json.encode(memory))
            self._told = False
        except Problem as problem:
            if not self._told:
                self._notices.add("problem", str(problem))
            self._told = True

    def _load(self) -> _Memory:
        try:
            data = read_bounded(self._path, MEMORY_BYTES_MAX)
            return _Memory() if data is None else msgspec.json.decode(data, type=_Memory)
        except ValueError:
            aside = set_aside(self._path)
        self._notices.add("warning", f"The time given so far could not be read; the damaged file is {aside.name}.")
        return _Memory()


def _by_receipts(receipts: ReceiptLog) -> dict[PeerId, LedgerRow]:
    """What the receipts say: more than the ledger does, if the program ended between the two."""
    return {
        peer: LedgerRow(rounds=credit.rounds, reduced=credit.reduced, relayed_bytes=credit.relayed_bytes)
        for peer, credit in receipts.totals().items()
        if peer != OTHERS
    }
