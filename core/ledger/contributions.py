"""The leaderboard's numbers and the loss curve of one collaboration, kept on this computer.

The tally only grows: two ledgers merge by taking, for each peer, the larger of both numbers (the grow-only counter of
Shapiro et al. 2011, "A comprehensive study of convergent and commutative replicated data types", section 3.1.1).  Every
peer counts the same rounds, so a merge never counts a round twice; ledgers that each know rounds the other does not
know may count too little after it, never too much.  What others say comes through `core.ledger.agreement` first.
"""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from core.api.snapshot import CurvePoint, LeaderboardRow
from core.base.bounds import EPOCH_MAX, Epoch
from core.base.ids import PEER_ID_BYTES, PeerId, short
from core.base.problems import WireProblem
from core.base.wire import Schema
from core.ledger.credits import COUNT_MAX, Credits, added
from core.ledger.curve import Curve, thinned
from core.system.atomic_files import read_bounded, set_aside, write_atomic

ROWS_MAX = 10_000
ROUNDS_REMEMBERED = 512
LEDGER_BYTES_MAX = 8 * 1024 * 1024
STANDINGS_MAX = 100
OFFER_ROUNDS = 32
OFFER_POINTS = 200

RoundKey = tuple[int, bytes]
"""Epoch that a round ended, and lineage that it led to."""

_Count = Annotated[int, Meta(ge=0, le=COUNT_MAX)]


@dataclass(frozen=True, slots=True)
class Contribution:
    """One peer's contribution to one round."""

    peer: PeerId
    name: str
    samples: int


class LedgerRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One peer's contributions, summed over all rounds."""

    samples: _Count = 0
    epochs: _Count = 0
    rounds: _Count = 0
    """That it helped to end, as receipts say."""
    reduced: _Count = 0
    """Numbers of means that it made, as receipts say."""
    relayed_bytes: _Count = 0
    """That it carried for others, as these attest."""
    name: Annotated[str, Meta(max_length=80)] = ""
    named: Epoch = 0
    """Epoch in which the peer called itself so."""


class _LedgerFile(msgspec.Struct, frozen=True, kw_only=True):
    rows: Annotated[dict[str, LedgerRow], Meta(max_length=ROWS_MAX)]
    """By the peer's public key in base 64."""
    rounds: Annotated[list[tuple[Epoch, Annotated[str, Meta(max_length=128)]]], Meta(max_length=ROUNDS_REMEMBERED)]
    floor: Annotated[int, Meta(ge=-1, le=EPOCH_MAX)]
    curve: Annotated[list[CurvePoint], Meta(max_length=Curve.POINTS_MAX)]


_SCHEMA: Final = Schema(_LedgerFile, named="a ledger", bytes_max=LEDGER_BYTES_MAX)


def joined(one: LedgerRow, other: LedgerRow) -> LedgerRow:
    """The least row that is at least both."""
    named, name = max((one.named, one.name), (other.named, other.name))
    return LedgerRow(
        samples=max(one.samples, other.samples),
        epochs=max(one.epochs, other.epochs),
        rounds=max(one.rounds, other.rounds),
        reduced=max(one.reduced, other.reduced),
        relayed_bytes=max(one.relayed_bytes, other.relayed_bytes),
        name=name,
        named=named,
    )


class Ledger:
    """Contributions of all peers, and the loss curve.

    Args:
        rows: Known rows.
        rounds: Rounds, as (epoch, lineage), that are counted in the rows.
        floor: Rounds of this epoch and before are counted, or too old to count.
        points: The loss curve.
    """

    def __init__(
        self,
        *,
        rows: Mapping[PeerId, LedgerRow] = MappingProxyType({}),
        rounds: Iterable[RoundKey] = (),
        floor: int = -1,
        points: Iterable[CurvePoint] = (),
    ) -> None:
        self._rows = dict(rows)
        self._floor = floor
        self._rounds: frozenset[RoundKey] = frozenset()
        self._remember(rounds)
        self.curve = Curve(points)
        """The losses at each epoch."""

    def record_round(self, members: Iterable[Contribution], *, epoch: int, lineage: bytes) -> bool:
        """Count a round that was averaged; the same round again changes nothing.

        Args:
            members: The members' contributions; at most one entry a peer.
            epoch: Number of the epoch that the round ended.
            lineage: Name of the state that the round led to.

        Returns:
            Whether the round was new.
        """
        if (epoch, lineage) in self._rounds or epoch <= self._floor:
            return False
        self._remember([(epoch, lineage)])
        for member in members:
            if member.samples < 0:
                raise ValueError(f"{member.samples} samples")
            row = self._rows.get(member.peer, LedgerRow())
            named, name = max((row.named, row.name), (epoch, member.name[:80]))
            self._rows[member.peer] = replace(
                row,
                samples=added(row.samples, member.samples),
                epochs=added(row.epochs, 1),
                name=name,
                named=named,
            )
        self._trim()
        return True

    def record_credits(self, given: Credits, *, names: Mapping[PeerId, str], epoch: int) -> None:
        """Add the credits of a new receipt, except samples, which `record_round` counts.

        Args:
            given: By peer.
            names: Names that the peers gave themselves, as far as known.
            epoch: Number of the epoch that the round ended.
        """
        for peer, credit in given.items():
            row = self._rows.get(peer, LedgerRow())
            named, name = max((row.named, row.name), (epoch, names.get(peer, row.name)[:80]))
            self._rows[peer] = replace(
                row,
                rounds=added(row.rounds, credit.rounds),
                reduced=added(row.reduced, credit.reduced),
                relayed_bytes=added(row.relayed_bytes, credit.relayed_bytes),
                name=name,
                named=named,
            )
        self._trim()

    def merge(self, other: "Ledger") -> None:
        """Take over what `other` knows better.  Commutative, associative and idempotent below the limits."""
        for peer, row in other.rows().items():
            self._rows[peer] = joined(self._rows.get(peer, LedgerRow()), row)
        rounds, floor = other.rounds()
        self._floor = max(self._floor, floor)
        self._remember(rounds)
        self.curve.merge(other.curve.points())
        self._trim()

    def row(self, peer: PeerId) -> LedgerRow:
        """One peer's sums; zeros for an unknown peer."""
        return self._rows.get(peer, LedgerRow())

    def rows(self) -> dict[PeerId, LedgerRow]:
        """A copy of the rows of all peers."""
        return dict(self._rows)

    def rounds(self) -> tuple[frozenset[RoundKey], int]:
        """The rounds that are counted, as far as remembered, and the epoch up to which all count as known."""
        return self._rounds, self._floor

    def standings(self, me: PeerId, *, limit: int = STANDINGS_MAX) -> list[LeaderboardRow]:
        """The leaderboard: the first `limit` rows, and mine if it is further down.  Equal samples share a rank."""
        total = sum(row.samples for row in self._rows.values())
        ordered = sorted(
            self._rows.items(), key=lambda item: (-item[1].samples, -item[1].reduced, item[1].name, item[0])
        )
        standings: list[LeaderboardRow] = []
        rank, samples_before = 0, -1
        for place, (peer, row) in enumerate(ordered, start=1):
            if row.samples != samples_before:
                rank, samples_before = place, row.samples
            if place <= limit or peer == me:
                standings.append(
                    LeaderboardRow(
                        rank=rank,
                        peer=short(peer),
                        name=row.name or short(peer),
                        is_me=peer == me,
                        samples=row.samples,
                        share=row.samples / total if total else 0.0,
                        epochs=row.epochs,
                        rounds=row.rounds,
                        reduced=row.reduced,
                        relayed_bytes=row.relayed_bytes,
                    )
                )
        return standings

    def save(self, path: Path) -> None:
        """Write all of it, whole or not at all.

        Raises:
            NoSpace: the disk is full; the old file stands.
            UserProblem: the system does not allow it; the old file stands.
        """
        write_atomic(path, msgspec.json.encode(self._file(ROWS_MAX)))

    def to_bytes(self, bytes_max: int) -> bytes:
        """Encode the biggest contributors and a thinned curve for a newcomer; `bytes_max` is 16 KiB or more."""
        rows = len(self._rows)
        while True:
            file = self._file(rows)
            newest = file.rounds[-OFFER_ROUNDS:]
            older = [epoch for epoch, _ in file.rounds[:-OFFER_ROUNDS]]
            offer = msgspec.structs.replace(
                file,
                rounds=newest,
                floor=max([file.floor, *older]),
                curve=thinned(file.curve, OFFER_POINTS),
            )
            data = _SCHEMA.encode(offer)
            if len(data) <= bytes_max:
                return data
            if rows == 0:
                raise ValueError(f"{bytes_max} bytes are too few for a ledger")
            rows = rows * 2 // 3

    @classmethod
    def from_bytes(cls, data: bytes, *, epoch_max: int | None = None) -> "Ledger":
        """Decode the ledger of another peer.

        Args:
            data: From its `to_bytes`.
            epoch_max: Newest epoch that it may know of.

        Raises:
            WireProblem: it is not a valid ledger, or knows of later epochs.
        """
        file = _SCHEMA.decode(data)
        newest = max([file.floor, *(epoch for epoch, _ in file.rounds), *(point.epoch for point in file.curve)])
        if epoch_max is not None and newest > epoch_max:
            raise WireProblem(f"a ledger that knows of epoch {newest}, after {epoch_max}")
        try:
            return _of_file(file)
        except ValueError as error:
            raise WireProblem(f"not a ledger: {error}") from error

    def _file(self, rows_max: int) -> _LedgerFile:
        """All of it, or the `rows_max` peers that gave most."""
        rows = list(self._rows.items())
        if rows_max < len(rows):
            rows = _by_samples(rows)[:rows_max]
        return _LedgerFile(
            rows={base64.b64encode(peer).decode(): row for peer, row in rows},
            rounds=[(epoch, lineage.hex()) for epoch, lineage in sorted(self._rounds)],
            floor=self._floor,
            curve=self.curve.points(),
        )

    def _remember(self, rounds: Iterable[RoundKey]) -> None:
        """Keep the newest rounds; whatever is as old as a forgotten one counts as known."""
        known = sorted({*self._rounds, *(key for key in rounds if key[0] > self._floor)})
        forgotten = known[:-ROUNDS_REMEMBERED]
        if forgotten:
            self._floor = max(self._floor, forgotten[-1][0])
        self._rounds = frozenset(key for key in known if key[0] > self._floor)

    def _trim(self) -> None:
        """Forget those who gave least, beyond the limit."""
        if len(self._rows) > ROWS_MAX:
            self._rows = dict(_by_samples(self._rows.items())[:ROWS_MAX])


@dataclass(frozen=True, slots=True)
class LedgerRead:
    """The ledger that was read, and a notice if the file was damaged."""

    ledger: Ledger
    notice: str | None = None
    """A sentence for the person, when the file was damaged and set aside."""


def load_ledger(path: Path) -> LedgerRead:
    """Read a ledger; an empty one when there is none, or when the file is damaged (it is set aside).

    Raises:
        UserProblem: the system does not allow reading the file, or setting it aside.
    """
    try:
        data = read_bounded(path, LEDGER_BYTES_MAX)
        return LedgerRead(Ledger() if data is None else _of_file(msgspec.json.decode(data, type=_LedgerFile)))
    except ValueError:
        aside = set_aside(path)
    return LedgerRead(
        Ledger(), f"The leaderboard could not be read and begins anew. The damaged file was kept as {aside.name}."
    )


def _by_samples(rows: Iterable[tuple[PeerId, LedgerRow]]) -> list[tuple[PeerId, LedgerRow]]:
    return sorted(rows, key=lambda item: (-item[1].samples, -item[1].reduced, item[0]))


def _of_file(file: _LedgerFile) -> Ledger:
    rows = {PeerId(base64.b64decode(letters, validate=True)): row for letters, row in file.rows.items()}
    if any(len(peer) != PEER_ID_BYTES for peer in rows):
        raise ValueError("a peer is 32 bytes")
    rounds = [(epoch, bytes.fromhex(lineage)) for epoch, lineage in file.rounds]
    return Ledger(rows=rows, rounds=rounds, floor=file.floor, points=file.curve)
