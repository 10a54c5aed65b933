"""Tables of what this computer gave: by day, and by round."""

from datetime import date

from PySide6.QtCore import QObject

from app.models.keyed_table import Column, KeyedTable
from app.words import gift_text, page_text, text
from core.api.reports import DayGift, ReceiptView
from core.api.snapshot import Notice


def days_table(parent: QObject | None = None) -> KeyedTable[DayGift]:
    """Make the table of days, the newest first."""
    tr = text.tr
    return KeyedTable[DayGift](
        [
            Column(title=tr("Day"), show=lambda row: page_text.day(date.fromisoformat(row.day))),
            Column(title=tr("Time"), show=lambda row: text.duration(row.seconds), numeric=True, letters=11),
            Column(title=tr("Averaged"), show=lambda row: text.count(row.samples), numeric=True, letters=11),
            Column(
                title=tr("Traffic"),
                show=lambda row: text.size(row.bytes_sent + row.bytes_received),
                numeric=True,
                letters=10,
            ),
        ],
        key=lambda row: row.day,
        mine=lambda _: False,
        parent=parent,
    )


def receipts_table(parent: QObject | None = None) -> KeyedTable[ReceiptView]:
    """Make the table of rounds, the newest first."""
    tr = text.tr
    return KeyedTable[ReceiptView](
        [
            Column(title=tr("When"), show=lambda row: page_text.moment(row.time) if row.time else text.NOTHING,
                   letters=14),
            Column(title=tr("Samples"), show=lambda row: text.count(row.samples), numeric=True, letters=10),
            Column(title=tr("  Outcome"), show=gift_text.receipt_short, explain=gift_text.receipt),
        ],
        key=lambda row: (row.epoch, row.time, row.samples),
        mine=lambda _: False,
        parent=parent,
    )  # fmt: skip


def notices_table(parent: QObject | None = None) -> KeyedTable[Notice]:
    """Make the table of what happened, the newest first."""
    tr = text.tr
    return KeyedTable[Notice](
        [
            Column(title=tr("When"), show=lambda row: page_text.moment(row.time), letters=13),
            Column(title=tr("What happened"), show=page_text.notice, icon=_notice_icon),
        ],
        key=lambda row: (row.number, row.time),
        mine=lambda _: False,
        parent=parent,
    )


def _notice_icon(row: Notice) -> str:
    if row.level != "info":
        return "problem"
    return "averaging" if row.code.startswith("round.") else "page-activity"
