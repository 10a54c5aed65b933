"""What clients ask for on demand: `core.control.intents.ReportSource`, answered from what the engine keeps."""

import asyncio
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec
import psutil

from core.api.reports import (
    NOTICES_MAX,
    RECEIPTS_MAX,
    RUNNING_MAX,
    ExpertsView,
    GiftHistory,
    MachineView,
    ReceiptList,
    ReceiptView,
    TeamView,
    TrustView,
)
from core.api.snapshot import Notice
from core.base.ids import AccountId, PeerId, account_of, fingerprint
from core.base.problems import Problem
from core.engine.installation import Installation
from core.engine.remembered.notice_file import NoticeFile
from core.engine.session import VolunteerSession
from core.joining.own_team import OwnTeam
from core.ledger.credits import Credit
from core.ledger.receipts import CheckedReceipt, check, read_receipts
from core.schedule.sensed import untold
from core.system.usage import spare_cores

FILES_MAX: Final = 100_000
"""Files that are looked at to find out how large a home is."""


class EngineReports:
    """Answers what clients ask for on demand (`core.control.intents.ReportSource`).

    Args:
        installation: What stands on this computer.
        session: The engine's part in a collaboration; None: it has not joined one.
    """

    def __init__(self, installation: Installation, session: Callable[[], VolunteerSession | None]) -> None:
        self._installation = installation
        self._session = session
        self._own_team = OwnTeam()

    async def history(self, days: int) -> GiftHistory:
        """What this computer gave on the last days."""
        settings, session = self._installation.preferences.settings, self._session()
        if session is not None:
            session.gift.count()
        return msgspec.structs.replace(
            self._installation.days.history(days),
            kwh_cents=settings.energy_cents,
            kwh_grams=settings.energy_grams,
        )

    async def receipts(self, since: int) -> ReceiptList:
        """The rounds that this computer was in, the newest first.

        Args:
            since: Unix seconds; older receipts are left out.
        """
        session, me = self._session(), self._installation.key.peer_id
        if session is None:
            return ReceiptList()
        folder = self._installation.options.home.receipts(session.joined.manifest.id.hex())
        found = await asyncio.to_thread(_newest, folder, since)
        people = session.passes.account
        credit = session.journal.receipts.credit(me)
        return ReceiptList(
            receipts=tuple(receipt_view(one, me, people) for one in found),
            kept=session.journal.receipts.count,
            samples=credit.samples,
            rounds=credit.rounds,
            reduced=credit.reduced,
            relayed_bytes=credit.relayed_bytes,
        )

    async def machine(self) -> MachineView:
        """This computer, and what Potluck uses of it now."""
        installation, session = self._installation, self._session()
        home = installation.options.home.directory
        sensed = installation.usage_policy.sensed
        memory, disk = psutil.virtual_memory(), shutil.disk_usage(home)
        return MachineView(
            name=session.joined.name if session is not None else installation.name,
            system=f"{platform.system()} {platform.release()}",
            processor=_processor(),
            threads=psutil.cpu_count() or 1,
            threads_used=installation.preferences.settings.threads or spare_cores(),
            memory_bytes=memory.total,
            memory_free_bytes=memory.available,
            memory_used_bytes=_own_memory_bytes(),
            disk_free_bytes=disk.free,
            disk_used_bytes=await asyncio.to_thread(folder_bytes, home),
            home=str(home),
            device=session.trainer.device if session is not None else "",
            programs=tuple(sorted(sensed.programs)[:RUNNING_MAX]),
            meter=sensed.meter,
            untold=untold(sensed),
        )

    def trust(self) -> TrustView:
        """The keys of this computer and the organiser, as people compare them."""
        session = self._session()
        return TrustView(
            mine=fingerprint(self._installation.key.peer_id),
            organiser=fingerprint(session.joined.manifest.authority_id) if session is not None else "",
        )

    async def team(self) -> TeamView:
        """The person's team, as the collaboration's page knows it."""
        session = self._session()
        return TeamView() if session is None else await self._own_team.look(session.joined.page, session.joined.account)

    async def activity(self) -> list[Notice]:
        """The newest notices of this run and of those before, the oldest first."""
        path = self._installation.options.home.notices_file
        return (await asyncio.to_thread(NoticeFile(path).read))[-NOTICES_MAX:]

    async def experts(self, gather_s: float) -> ExpertsView:
        """Who hosts which expert, as it is read anew.

        Args:
            gather_s: For so long copies of all experts are kept here, seconds.
        """
        session = self._session()
        if session is None or not session.experts:
            return ExpertsView()
        names = {peer: one.username for peer, one in session.passes.known.items()}
        names[self._installation.key.peer_id] = session.joined.name
        return await session.experts[0].survey(names, now=self._installation.clock.now, gather_s=gather_s)


def receipt_view(
    checked: CheckedReceipt, me: PeerId, account: Callable[[PeerId], AccountId] = account_of
) -> ReceiptView:
    """One round as a page shows it.

    Args:
        checked: Its receipt.
        me: Key of this computer.
        account: Whose key a member's is: the signature of another computer of the same person proves nothing.
    """
    statement = checked.receipt.statement
    mine = checked.credits.get(me, Credit())
    signers = {one.member for one in checked.receipt.attestations}
    others = {account(PeerId(each)) for each in signers} - {account(me)}
    if checked.problem:
        verdict = "invalid"
    elif mine.samples:
        verdict = "accepted" if others else "alone"
    else:
        verdict = "helped" if mine.reduced or mine.relayed_bytes else "nothing"
    return ReceiptView(
        time=float(checked.moment),
        epoch=statement.epoch,
        samples=mine.samples,
        reduced=mine.reduced,
        relayed_bytes=mine.relayed_bytes,
        signed=len(signers),
        members=len(statement.deeds),
        verdict=verdict,
    )


def folder_bytes(folder: Path) -> int:
    """How much the files in a folder take; of very many files the first are counted."""
    total = 0
    for number, entry in enumerate(_files(folder)):
        if number >= FILES_MAX:
            break
        try:
            total += entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
    return total


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _files(Path(entry.path))
                else:
                    yield entry
    except OSError:
        return


def _newest(folder: Path, since: int) -> list[CheckedReceipt]:
    try:
        found = [check(receipt) for receipt in read_receipts(folder, RECEIPTS_MAX)]
    except Problem:
        return []
    return [one for one in found if one.moment > since or since == 0]


def _own_memory_bytes() -> int:
    process = psutil.Process()
    total = 0
    for one in (process, *process.children(recursive=True)):
        try:
            total += one.memory_info().rss
        except psutil.Error:
            continue
    return total


def _processor() -> str:
    """As its maker calls it, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    told = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return told or platform.processor() or platform.machine()
