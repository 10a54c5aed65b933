"""Who gave how much in the last seven days: what the ledger held at the beginning of each of them, kept in one file.

A ledger has sums of all time only.  Each computer compares for itself, from the first ledger on that it has seen.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.base.ids import Peer32, PeerId
from core.ledger.credits import COUNT_MAX
from core.ledger.ledger import ROWS_MAX, LedgerRow
from core.system.atomic_files import read_bounded, set_aside, write_atomic

DAYS: Final = 7
MARKS_MAX: Final = DAYS + 1
ROW_BYTES_MAX: Final = 48
FILE_BYTES_MAX: Final = MARKS_MAX * (ROWS_MAX + 1) * ROW_BYTES_MAX
Sums = Annotated[dict[Peer32, Annotated[int, Meta(ge=0, le=COUNT_MAX)]], Meta(max_length=ROWS_MAX + 1)]


@dataclass(frozen=True, slots=True)
class RecentSamples:
    """What peers gave lately.

    Attributes:
        of: Samples by peer; who gave none is left out.
        since: Date from which on they count, as 2026-11-24; empty: nothing was counted yet.
    """

    of: Mapping[PeerId, int] = field(default_factory=dict)
    since: str = ""

    def share(self, peers: Iterable[PeerId]) -> float:
        """Share of some peers together, 0 to 1."""
        total = sum(self.of.values())
        return sum(self.of.get(peer, 0) for peer in peers) / total if total else 0.0


class _DayMark(msgspec.Struct, frozen=True, array_like=True):
    day: str
    sums: Sums


class WeekBook:
    """Compares a ledger with what it held at the beginning of each of the last days.

    Args:
        path: Path of the file; one that is damaged is set aside, and counting begins anew.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._marks: list[_DayMark] = []
        self._dirty = False
        try:
            data = read_bounded(path, FILE_BYTES_MAX)
            marks = [] if data is None else msgspec.msgpack.decode(data, type=list[_DayMark])
            self._marks = sorted(marks, key=lambda mark: date.fromisoformat(mark.day))[-MARKS_MAX:]
        except ValueError:
            set_aside(path)

    def given(self, rows: Mapping[PeerId, LedgerRow], now: float) -> RecentSamples:
        """What the rows of a ledger have gained in the last seven days, or since the first one that was seen.

        A sum that is smaller than it was, since everybody went back to an earlier state, has gained nothing.

        Args:
            rows: The newest ledger's.
            now: Unix seconds; this computer's calendar counts, and days after it, from before its clock was set back,
                are forgotten.
        """
        today = datetime.fromtimestamp(now).astimezone().date()
        first = (today - timedelta(days=DAYS)).isoformat()
        kept = [mark for mark in self._marks if first <= mark.day <= today.isoformat()]
        if not kept or kept[-1].day != today.isoformat():
            kept.append(_DayMark(today.isoformat(), {peer: row.samples for peer, row in rows.items()}))
            self._dirty = True
        self._marks = kept
        before = kept[0].sums
        gained = {peer: row.samples - before.get(peer, 0) for peer, row in rows.items()}
        return RecentSamples({peer: samples for peer, samples in gained.items() if samples > 0}, kept[0].day)

    def save(self) -> None:
        """Write the file, if a day has begun.

        Raises:
            NoSpace: the disk is full; the next save tries again.
            UserProblem: the system does not allow it.
        """
        if self._dirty:
            write_atomic(self._path, msgspec.msgpack.encode(self._marks))
            self._dirty = False
