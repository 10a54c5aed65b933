"""Who is here, since when, and who gave how much: what a backbone tells its organiser.

It writes a line of the log and `people.json` when somebody comes or goes, and keeps the board of the newest copy's
ledger.
Only keys that were let in are named, so that strangers make neither lines nor rows; a member that comes and goes again
and again gains a line for each look of the backbone at most.
"""

import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.api.moderation import PersonView
from core.averaging.distances import PartsSeen
from core.backbone.admission_log import AdmissionLog
from core.backbone.charter import Charter, read_charter_records
from core.backbone.moderators.seen_parts import parts_view
from core.base.content import CHUNK_BYTES
from core.base.ids import PeerId, short
from core.base.names import BACKBONE_NAME
from core.base.problems import Problem
from core.base.state_header import HEADER_BYTES_MAX, header_of
from core.ledger.board import Board
from core.ledger.ledger import LedgerRow
from core.swarm.words.facts import StateKept
from core.system.atomic_files import read_bounded, set_aside, write_atomic

_LOG = logging.getLogger(__name__)
PEOPLE: Final = "people.json"
BOARD: Final = "board.json"
_TWIN: Final = (
    "another backbone runs with the key of this one, at %s, port %d: members reach one or the other by chance, and "
    "each lets people in whom the other does not know.  End one of them."
)
PEOPLE_MAX: Final = 10_000
_BYTES_MAX: Final = 2 * 1024 * 1024
_Key = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Stay(msgspec.Struct, frozen=True, kw_only=True):
    """When somebody was here last, in Unix seconds."""

    came: float
    left: float | None = None
    """None: had not left when the backbone looked last."""


def read_people(path: Path) -> dict[PeerId, Stay]:
    """The newest stay of each key, the latest last; a damaged file is set aside and counts as empty.

    Args:
        path: The charter's `people.json`.
    """
    try:
        data = read_bounded(path, _BYTES_MAX)
        stays = {} if data is None else msgspec.json.decode(data, type=dict[_Key, Stay])
    except ValueError:
        set_aside(path)
        return {}
    return {PeerId(bytes.fromhex(key)): stay for key, stay in stays.items()}


def people_view(
    log: AdmissionLog,
    rows: Mapping[PeerId, LedgerRow],
    stays: Mapping[PeerId, Stay],
    seen: Mapping[PeerId, PartsSeen],
    shut_out: Collection[PeerId],
    *,
    runs: bool,
) -> list[PersonView]:
    """Everybody who was let in but the backbone, those here first, then those who gave most.

    Args:
        log: Who was let in.
        rows: What keys gave.
        stays: When they were here.
        seen: How far their parts lay from the others'.
        shut_out: Keys that are banned or held.
        runs: Whether a backbone runs, so that somebody can be here.
    """
    people, accounts, total = [], log.accounts, sum(row.samples for row in rows.values())
    names = {accounts.of(key): name for key, name in log.newest_names(PEOPLE_MAX) if name != BACKBONE_NAME}
    for account, name in names.items():
        keys = accounts.keys(account)
        samples = sum(rows.get(key, LedgerRow()).samples for key in keys)
        known = [stays[key] for key in keys if key in stays]
        # Of several computers the one counts that is here, or was here last.
        stay = max(known, key=lambda one: (one.left is None, one.left or one.came), default=None)
        people.append(
            PersonView(
                name=name,
                key=keys[0].hex(),
                here=runs and stay is not None and stay.left is None,
                samples=samples,
                share=samples / total if total else 0.0,
                shut_out=accounts.among(account, shut_out),
                computers=sum(key not in accounts.ended for key in keys),
                parts=parts_view(seen.get(key) for key in keys),
                came=None if stay is None else stay.came,
                left=None if stay is None else stay.left,
            )
        )
    return sorted(people, key=lambda one: (not one.here, -one.samples, one.name))


class People:
    """Writes down for the organiser who came, who went, and who gave how much.

    Args:
        charter: The collaboration.
        log: Knows the names.

    Raises:
        Damaged: the records of the authority are unreadable.
    """

    def __init__(self, charter: Charter, log: AdmissionLog) -> None:
        self._path = charter.folder / PEOPLE
        self.log = log
        self._revoked = frozenset(map(PeerId, read_charter_records(charter).decisions.revoked))
        self._twin, self._no_copy = ("", 0), ""
        self._here: dict[PeerId, float] = {}
        """When each came who is here."""
        self._stays = read_people(self._path)
        self._board = Board(charter.folder / BOARD, target_samples=charter.manifest.target_samples)
        self.origin = b""
        """The origin of the newest copy, as its name says."""
        self._gave = {peer for peer, row in self._board.ledger.rows.items() if row.samples}

    def no_copy(self, reason: str) -> None:
        """Tell, once for each reason, that no copy of the model could be taken; empty: one was."""
        if reason not in {"", self._no_copy}:
            _LOG.warning("no copy of the model could be taken: %s", reason)
        self._no_copy = reason

    def elsewhere(self, host: str, port: int) -> None:
        """Tell, once for each place, that another backbone has this one's key, and where."""
        if (host, port) != self._twin:
            _LOG.error(_TWIN, host or "an unknown address", port)
        self._twin = host, port

    @property
    def board(self) -> Board:
        """The ledger of the newest copy."""
        return self._board

    def view(self, seen: Mapping[PeerId, PartsSeen], shut_out: Collection[PeerId]) -> list[PersonView]:
        """Everybody who was let in, as `people_view` has it.

        Args:
            seen: How far their parts lay from the others'.
            shut_out: Keys that are banned or held.
        """
        return people_view(self.log, self._board.ledger.rows, self._stays, seen, shut_out, runs=True)

    def look(self, here: Collection[PeerId], now: float) -> None:
        """Note who has come and who has gone since the last look.

        Args:
            here: Peers that report.
            now: Unix seconds.
        """
        present = {peer for peer in here if self.log.name_of(peer) is not None}
        gone, come = self._here.keys() - present, present - self._here.keys()
        for peer in sorted(gone):
            self._stay(peer, Stay(came=self._here.pop(peer), left=now))
            _LOG.info("%s has gone", self._called(peer))
        for peer in sorted(come):
            self._here[peer] = now
            self._stay(peer, Stay(came=now))
            _LOG.info("%s is here", self._called(peer))
        if gone or come:
            self._save()

    def close(self, now: float) -> None:
        """The backbone ends at `now`, and sees nobody any more."""
        for peer, came in self._here.items():
            self._stay(peer, Stay(came=came, left=now))
        if self._here:
            self._here.clear()
            self._save()

    def read(self, kept: StateKept) -> None:
        """Keep the ledger of the newest copy of the model, and tell who is in it for the first time."""
        try:
            chunks = range(-(-min(kept.file.size_bytes, HEADER_BYTES_MAX) // CHUNK_BYTES))
            ledger = header_of(b"".join(map(kept.file.read, chunks))).ledger
        except Problem as problem:
            _LOG.warning("who gave how much cannot be read: %s", problem)
            return
        self._board.hold(ledger, kept.name.epoch)
        self.origin = kept.name.origin
        rows = self._board.ledger.rows
        for peer in sorted(peer for peer, row in rows.items() if row.samples and peer not in self._gave):
            if self.log.name_of(peer) is not None:
                self._gave.add(peer)
                _LOG.info("%s has contributed for the first time", self._called(peer))
        try:
            self._board.save()
        except Problem as problem:
            _LOG.warning("the leaderboard is not kept: %s", problem)

    def decided(self, shut_out: frozenset[PeerId]) -> None:
        """Tell whom moderators have shut out."""
        for peer in sorted(shut_out - self._revoked):
            _LOG.info("%s is shut out by the moderators", self._called(peer))
        self._revoked = shut_out

    def _called(self, peer: PeerId) -> str:
        """Name and key: names come from members, whose printable letters alone were let in."""
        return f"{self.log.name_of(peer) or 'somebody'} ({short(peer)})"

    def _stay(self, peer: PeerId, stay: Stay) -> None:
        self._stays.pop(peer, None)
        self._stays[peer] = stay
        while len(self._stays) > PEOPLE_MAX:
            del self._stays[next(iter(self._stays))]

    def _save(self) -> None:
        try:
            write_atomic(self._path, msgspec.json.encode({peer.hex(): stay for peer, stay in self._stays.items()}))
        except Problem as problem:
            _LOG.warning("who is here is not kept: %s", problem)
