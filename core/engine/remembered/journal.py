"""What an engine remembers of one collaboration between two runs: board, receipts, time given, where peers were."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.api.score import FirstScore
from core.api.snapshot import LossView
from core.authority.decisions import Decisions
from core.authority.news import AuthorityDecided
from core.averaging.receipts.exchange import Receipted
from core.backbone.kept_pass import RECORDS
from core.base.ids import Contact
from core.base.problems import Problem, Sentence
from core.control.notices import NoticeRing
from core.joining.silence import heard
from core.ledger.board import Board
from core.ledger.receipts import ReceiptLog
from core.ledger.week_book import WeekBook
from core.storage.paths import MEMORY
from core.swarm.words.orders import (
    SCALED_BY_CHANCE,
    ContributionCut,
    HeldoutLearned,
    KeyElsewhere,
    LedgerRead,
    RoundLost,
    RoundRecord,
    StateNotTaken,
    WorkNotKept,
)
from core.system.atomic_files import read_bounded, set_aside, write_atomic

SAVE_INTERVAL_S = 10.0
"""How often the time given is kept; what a round brought is kept at once."""
GAP_S = 30.0
"""Upper bound on the seconds between two looks that count as time given: a computer that slept gave none."""
SAVE_PAUSE_S = 0.5
"""Least time between two saves."""
FAILING_S = 60.0
"""Time without a round that succeeded after which people are told, once: that rounds are tried again is routine."""
CONTACTS_MAX = 24
WEEK: Final = "week"
"""File there of what everybody had given at the beginning of each of the last days."""
MEMORY_BYTES_MAX = 64 * 1024
_LOG = logging.getLogger(__name__)


class _Memory(msgspec.Struct, frozen=True, kw_only=True):
    contributed_s: Annotated[float, Meta(ge=0)] = 0.0
    contacts: Annotated[list[Contact], Meta(max_length=CONTACTS_MAX)] = []
    decided: Annotated[int, Meta(ge=0)] = 0
    """Number of the moderators' decisions of which the person was told."""
    first: FirstScore | None = None
    root: Annotated[str, Meta(pattern="^[0-9a-f]*$")] = ""
    """Lineage of the copy to which everybody went back last, by these."""


class Journal:
    """Keeps the board, the receipts, the time given and the addresses of peers of one collaboration.

    Args:
        folder: The collaboration's folder (core.storage.paths.Home.state).
        board: The board's file.
        receipts: The receipts' folder.
        target_samples: How many samples a step takes.
        notices: Hears about damaged files and full disks.
        now: Unix seconds.
    """

    def __init__(
        self,
        *,
        folder: Path,
        board: Path,
        receipts: Path,
        target_samples: int,
        notices: NoticeRing,
        now: Callable[[], float],
    ) -> None:
        self._path = folder / MEMORY
        self._notices = notices
        self._now = now
        self._since: float | None = None
        self._dirty = asyncio.Event()
        self._told = self._told_weight = self._told_scaled = self._told_failing = False
        self._hindered: set[type] = set()
        """What hinders this computer, and was told."""
        self._failing_since = 0.0
        self._failures = 0
        self.receipts = ReceiptLog(receipts)
        """What others attest, of everybody."""
        self.met = self.receipts.met()
        """Peers that were in most rounds with this one before this start."""
        self.board = Board(board, target_samples=target_samples)
        """Who gave what, and the losses."""
        self._week = WeekBook(folder / WEEK)
        for notice in (self.receipts.notice, self.board.notice):
            if notice is not None:
                notices.add("warning", notice)
        self._memory = self._load()

    @property
    def contacts(self) -> list[Contact]:
        """Peers that were there last time: seeds for this time."""
        return self._memory.contacts

    @property
    def contributed_s(self) -> float:
        """Seconds of contributing, in all runs."""
        running = min(self._now() - self._since, GAP_S) if self._since is not None else 0.0
        return self._memory.contributed_s + running

    @property
    def first(self) -> FirstScore | None:
        """What the model could do when this computer looked at it first; None: it has not yet."""
        return self._memory.first

    def look(self, meaning: LossView) -> None:
        """Remember the first score that is measured here."""
        if self.first is None and meaning.score is not None and meaning.epoch is not None:
            self._memory = msgspec.structs.replace(self._memory, first=FirstScore(meaning.epoch, meaning.score))
            self._dirty.set()

    def contributing(self, *, on: bool) -> None:
        """Begin or end to count time."""
        total = self.contributed_s
        self._since = self._now() if on else None
        self._memory = msgspec.structs.replace(self._memory, contributed_s=total)

    def take(self, event: object) -> None:
        """Note what a participant reports, of `core.swarm.words.orders`, or a receipt; other events are passed over."""
        match event:
            case RoundRecord(name=name, missing=missing):
                self._failures, self._told_failing = 0, False
                self._hindered.discard(StateNotTaken)
                self.board.recent = self._week.given(self.board.ledger.rows, self._now())
                if missing:
                    self._notices.tell("warning", "round.partial", epoch=name.epoch, missing=len(missing))
            case ContributionCut():
                self._tell_cut(event)
            case RoundLost() | StateNotTaken() | KeyElsewhere():
                self._failed(event)
            case WorkNotKept(epoch=epoch):
                self._notices.tell("warning", "round.left", epoch=epoch)
            case Receipted(receipt=receipt):
                if self._keep(lambda: self.receipts.append(receipt)):
                    self._dirty.set()
            case AuthorityDecided(decisions=decisions, kept=kept):
                heard(self._path.parent)
                self._keep(lambda: write_atomic(self._path.with_name(RECORDS), kept))
                self._tell_decided(decisions)
            case HeldoutLearned() | LedgerRead():
                self.board.take(event)
                self.board.recent = self._week.given(self.board.ledger.rows, self._now())

    def _tell_decided(self, decisions: Decisions) -> None:
        """Tell the person, once, what moderators say, and that everybody goes back; a newcomer missed nothing."""
        known, root = self._memory, "" if decisions.back is None else decisions.back.root.hex()
        if decisions.number <= known.decided:
            return
        for notice in decisions.notices:
            if notice.at > known.decided and self._now() < notice.until:
                self._notices.tell("info", "authority.notice", words=notice.words)
        if decisions.back is not None and root != known.root and self.contributed_s:
            self._notices.tell("warning", "authority.back", epoch=decisions.back.epoch, words=decisions.words)
        self._memory = msgspec.structs.replace(known, decided=decisions.number, root=root)
        self._dirty.set()

    def _failed(self, event: RoundLost | StateNotTaken | KeyElsewhere) -> None:
        """Tell once what hinders this computer; of rounds that fail only that all do, for a while, is news."""
        if isinstance(event, KeyElsewhere | StateNotTaken):
            known = type(event) in self._hindered
            self._hindered.add(type(event))
            if isinstance(event, KeyElsewhere) and not known:
                self._notices.tell("problem", "engine.twin")
            elif isinstance(event, StateNotTaken) and not known:
                self._notices.add("problem", event.why)
            return
        _LOG.debug("a round failed: %s", event.reason)
        now = self._now()
        self._failing_since = now if not self._failures else min(self._failing_since, now)
        self._failures += 1
        seconds = now - self._failing_since
        if seconds >= FAILING_S and not self._told_failing:
            self._told_failing = True
            self._notices.tell("warning", "round.failing", seconds=round(seconds), times=self._failures)

    def _tell_cut(self, cut: ContributionCut) -> None:
        """Tell the person, once a run for each reason: a newcomer's weight grows for several rounds."""
        if cut.weight < cut.samples and not self._told_weight:
            self._told_weight = True
            self._notices.tell("info", "round.weight", epoch=cut.epoch, weight=cut.weight, samples=cut.samples)
        if cut.scaled > SCALED_BY_CHANCE and not self._told_scaled:
            self._told_scaled = True
            self._notices.tell("warning", "round.scaled", epoch=cut.epoch)

    async def keep(self, contacts: Callable[[], Sequence[Contact]]) -> None:
        """Save when something changed, and every few seconds while time is counted, until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SAVE_INTERVAL_S):
                    await self._dirty.wait()
            if self._dirty.is_set() or self._since is not None or self.board.dirty:
                self._dirty.clear()
                self.save(contacts())
                await asyncio.sleep(SAVE_PAUSE_S)

    def save(self, contacts: Sequence[Contact]) -> None:
        """Save now.  A full disk is told once, not raised: the next save tries again."""
        self.contributing(on=self._since is not None)
        known = list(contacts)[:CONTACTS_MAX] or self._memory.contacts
        memory = msgspec.structs.replace(self._memory, contacts=known)

        def write() -> None:
            self.board.save()
            self._week.save()
            write_atomic(self._path, msgspec.json.encode(memory))

        if self._keep(write):
            self._told = False

    def _keep(self, write: Callable[[], object]) -> bool:
        """Write something; False, and told once, where the disk refuses."""
        try:
            write()
        except Problem as problem:
            if not self._told:
                self._notices.add("problem", problem.whole)
            self._told = True
            return False
        return True

    def _load(self) -> _Memory:
        try:
            data = read_bounded(self._path, MEMORY_BYTES_MAX)
            return _Memory() if data is None else msgspec.json.decode(data, type=_Memory)
        except ValueError:
            aside = set_aside(self._path)
        notice = Sentence("The time given so far could not be read; the damaged file is {name}.", aside.name)
        self._notices.add("warning", notice)
        return _Memory()
