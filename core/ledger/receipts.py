"""Receipts on the disk: appended one by one, each whole or not at all, the oldest summed up when there are many.

    00000001.log ...   segments: records of 4 bytes of length, 8 bytes of digest, and a receipt
    totals.json        what the segments that were given up said, as sums

A record that a kill or a power cut left half written is passed over when it is read, and the next one begins a new
segment.  Sums are written before the segment that they replace is deleted, and say which one that is: whenever the
program ends between the two, nothing is counted twice or lost.  What one is worth, people see once `check` has looked.
"""

import base64
import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.averaging.receipts.receipt import (
    RECEIPT_BYTES_MAX,
    Receipt,
    Statement,
    check_receipt,
    decode_receipt,
    encode_receipt,
)
from core.base.content import digest
from core.base.ids import PEER_ID_BYTES, PeerId
from core.base.problems import Problem, ProofProblem, Sentence, WireProblem
from core.base.signing import Ed25519Verifier
from core.ledger.credits import OTHERS, Credit, Credits, credits_of
from core.system.atomic_files import append_synced, make_directory, read_bounded, set_aside, write_atomic

SEGMENT_BYTES: Final = 512 * 1024
"""Size at which a segment is closed and the next one begins."""
SEGMENTS_MAX: Final = 8
MOMENT_MAX: Final = 253_000_000_000
"""Upper bound on a moment that can be shown, unix seconds: the year 9987."""
PEERS_MAX: Final = 10_000
"""Peers with sums of their own; those who did least are summed together."""
MET_MAX: Final = 256
"""Number of peers that a restart makes known again (core.swarm.presence.branches)."""
TOTALS_BYTES_MAX: Final = 4 * 1024 * 1024

_LENGTH_BYTES: Final = 4
_DIGEST_BYTES: Final = 8
_HEADER_BYTES: Final = _LENGTH_BYTES + _DIGEST_BYTES
_NAME = re.compile(r"^(\d{8})\.log$")
_TOTALS = "totals.json"

_Sum = Annotated[int, Meta(ge=0, le=2**62)]


class _Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Sums of what was given up."""

    through: _Sum = 0
    """The last segment that is in the sums."""
    receipts: _Sum = 0
    rows: Annotated[dict[str, tuple[_Sum, _Sum, _Sum, _Sum]], Meta(max_length=PEERS_MAX + 1)] = {}
    """Samples, rounds, numbers reduced and bytes relayed, by the peer's public key in base 64."""


@dataclass(frozen=True, slots=True)
class _Segment:
    receipts: list[Receipt]
    size_bytes: int
    damaged: int
    """Records that are whole and no receipts."""
    torn: bool
    """Whether the last record is not whole."""


class ReceiptLog:
    """The receipts of one collaboration that this computer holds.

    Args:
        folder: Holds the log, and nothing else.

    Raises:
        UserProblem: the system does not allow reading them.
    """

    def __init__(self, folder: Path) -> None:
        make_directory(folder)
        self._folder = folder
        self._rounds: set[bytes] = set()
        self.newest: Statement | None = None
        """What the members of the last round agreed on whose receipt was kept; None: there was none."""
        self.notice: Sentence | None = None
        """A sentence for the person, when something was damaged."""
        self._folded = self._load_totals()
        self._totals = _credits(self._folded)
        self.count = self._folded.receipts
        """Receipts that were ever kept."""
        self._last, self._last_bytes, self._clean = self._folded.through, SEGMENT_BYTES, True
        damaged = 0
        for number in self._numbers():
            if number <= self._folded.through:  # summed up already, and then the program ended
                self._path(number).unlink(missing_ok=True)
                continue
            segment = _read(self._path(number))
            for receipt in segment.receipts:
                self._take(receipt)
            damaged += segment.damaged
            self._last, self._last_bytes, self._clean = number, segment.size_bytes, not segment.torn
        if damaged and self.notice is None:
            self.notice = Sentence("Of the receipts, {count} could not be read and are left out.", damaged)

    def append(self, receipt: Receipt) -> bool:
        """Keep a receipt; False if one of its round is here already.

        Raises:
            NoSpace: the disk is full; the receipt is not kept, the others are.
            UserProblem: the system does not allow it.
        """
        if receipt.statement.round in self._rounds:
            return False
        data = encode_receipt(receipt)
        record = len(data).to_bytes(_LENGTH_BYTES, "big") + digest(data)[:_DIGEST_BYTES] + data
        if not self._clean or self._last_bytes + len(record) > SEGMENT_BYTES:
            self._last, self._last_bytes = self._last + 1, 0
        self._clean, path = False, self._path(self._last)
        try:
            append_synced(path, record)
        except Problem:  # a full disk takes nothing for a night: a new segment each time would push out all receipts
            with contextlib.suppress(OSError):
                os.truncate(path, self._last_bytes)
                self._clean = True
            raise
        self._clean = True
        self._last_bytes += len(record)
        self._take(receipt)
        self._fold()
        return True

    def totals(self) -> dict[PeerId, Credit]:
        """Sums over all receipts ever kept, by peer; `OTHERS` stands for the peers with the least of many."""
        return dict(self._totals)

    def credit(self, peer: PeerId) -> Credit:
        """The sum of one peer over all receipts ever kept."""
        return self._totals.get(peer, Credit())

    @property
    def relayed(self) -> dict[PeerId, int]:
        """Bytes that each peer has carried for others, as these attest."""
        return {peer: one.relayed_bytes for peer, one in self.totals().items() if one.relayed_bytes and peer != OTHERS}

    def met(self) -> tuple[PeerId, ...]:
        """The peers that contributed to the most of these rounds, which the one who keeps their receipts was in."""
        rounds = {peer: credit.rounds for peer, credit in self._totals.items() if credit.samples}
        return tuple(sorted(rounds.keys() - {OTHERS}, key=lambda peer: (rounds[peer], peer))[-MET_MAX:])

    # --- inside ------------------------------------------------------------------------------------------------------

    def _take(self, receipt: Receipt) -> None:
        self._rounds.add(receipt.statement.round)
        self.newest = receipt.statement
        _add(self._totals, receipt)
        self._totals = _bounded(self._totals)
        self.count += 1

    def _fold(self) -> None:
        """Sum up the oldest segments, beyond the limit."""
        numbers = self._numbers()
        for number in numbers[: max(0, len(numbers) - SEGMENTS_MAX)]:
            receipts = _read(self._path(number)).receipts
            rows = _credits(self._folded)
            for receipt in receipts:
                _add(rows, receipt)
            self._folded = _Totals(
                through=number, receipts=self._folded.receipts + len(receipts), rows=_rows(_bounded(rows))
            )
            write_atomic(self._folder / _TOTALS, msgspec.json.encode(self._folded))
            self._path(number).unlink(missing_ok=True)
            self._rounds -= {receipt.statement.round for receipt in receipts}

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:08d}.log"

    def _numbers(self) -> list[int]:
        return sorted(int(path.stem) for path in _segments(self._folder))

    def _load_totals(self) -> _Totals:
        path = self._folder / _TOTALS
        try:
            data = read_bounded(path, TOTALS_BYTES_MAX)
            totals = _Totals() if data is None else msgspec.json.decode(data, type=_Totals)
            _credits(totals)
        except ValueError:
            aside = set_aside(path)
            kept = "The sums of old receipts could not be read. The damaged file was kept as {name}."
            self.notice = Sentence(kept, aside.name)
            return _Totals()
        return totals


def read_receipts(folder: Path, limit: int) -> list[Receipt]:
    """The newest receipts in a folder, the newest first; an engine may be writing there.

    Raises:
        UserProblem: the system does not allow reading them.
    """
    found: list[Receipt] = []
    for path in sorted(_segments(folder), reverse=True):
        found += reversed(_read(path).receipts)
        if len(found) >= limit:
            break
    return found[:limit]


def _segments(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if _NAME.match(path.name)] if folder.is_dir() else []


def _read(path: Path) -> _Segment:
    """Content of a segment; a file longer than any segment is not one."""
    try:
        data = read_bounded(path, SEGMENT_BYTES + RECEIPT_BYTES_MAX) or b""
    except ValueError:
        return _Segment([], SEGMENT_BYTES, damaged=1, torn=True)
    receipts: list[Receipt] = []
    position, records = 0, 0
    while position + _HEADER_BYTES <= len(data):
        begin = position + _HEADER_BYTES
        end = begin + int.from_bytes(data[position : position + _LENGTH_BYTES], "big")
        if end > len(data):
            break
        payload = data[begin:end]
        intact = digest(payload)[:_DIGEST_BYTES] == data[position + _LENGTH_BYTES : begin]
        with contextlib.suppress(WireProblem):
            receipts += [decode_receipt(payload)] if intact else []
        records += 1
        position = end
    return _Segment(receipts, len(data), records - len(receipts), torn=position < len(data))


def _add(rows: dict[PeerId, Credit], receipt: Receipt) -> None:
    for peer, credit in credits_of(receipt).items():
        rows[peer] = rows.get(peer, Credit()) + credit


def _bounded(rows: dict[PeerId, Credit]) -> dict[PeerId, Credit]:
    """No more rows than `PEERS_MAX`, and the same sums."""
    if len(rows) <= PEERS_MAX:
        return rows
    ordered = sorted(
        rows.items(), key=lambda item: (item[0] != OTHERS, -item[1].rounds, -item[1].relayed_bytes, item[0])
    )
    kept = dict(ordered[: PEERS_MAX // 2])
    kept[OTHERS] = sum((credit for _, credit in ordered[PEERS_MAX // 2 :]), kept.get(OTHERS, Credit()))
    return kept


def _rows(rows: Credits) -> dict[str, tuple[int, int, int, int]]:
    return {
        base64.b64encode(peer).decode(): (one.samples, one.rounds, one.reduced, one.relayed_bytes)
        for peer, one in rows.items()
    }


def _credits(totals: _Totals) -> dict[PeerId, Credit]:
    rows = {
        PeerId(base64.b64decode(letters, validate=True)): Credit(
            samples=samples, rounds=rounds, reduced=reduced, relayed_bytes=relayed
        )
        for letters, (samples, rounds, reduced, relayed) in totals.rows.items()
    }
    if any(len(peer) != PEER_ID_BYTES for peer in rows):
        raise ValueError("a peer is 32 bytes")
    return rows


@dataclass(frozen=True, slots=True)
class CheckedReceipt:
    """A receipt and what its check found.

    Attributes:
        receipt: As it was read.
        problem: What is wrong with it, one sentence; empty: every signature holds.
    """

    receipt: Receipt
    problem: str

    @property
    def moment(self) -> int:
        """When it was signed, unix seconds: half of the signers say at least this; 0 if nobody signed."""
        times = sorted(one.time for one in self.receipt.attestations)
        return min(times[(len(times) - 1) // 2], MOMENT_MAX) if times else 0

    @property
    def credits(self) -> Credits:
        """Each peer's work according to it."""
        return credits_of(self.receipt)


def check(receipt: Receipt) -> CheckedReceipt:
    """Return the receipt with what is wrong with it."""
    try:
        check_receipt(receipt, Ed25519Verifier())
    except ProofProblem as problem:
        return CheckedReceipt(receipt, problem.message)
    return CheckedReceipt(receipt, "")
