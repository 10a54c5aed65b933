"""What people see of a collaboration's past: the ledger of the newest known state, with names from passes."""

import base64
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.api.snapshot import CurvePoint, LeaderboardRow
from core.base.ids import PeerId, short
from core.base.problems import Sentence, WireProblem
from core.base.state_header import LEDGER_BYTES_MAX
from core.ledger.credits import OTHERS
from core.ledger.ledger import ROWS_MAX, Curve, Ledger, LedgerRow
from core.ledger.week_book import RecentSamples
from core.swarm.words.orders import HeldoutLearned, LedgerRead, RoundRecord
from core.system.atomic_files import read_bounded, set_aside, write_atomic

STANDINGS_MAX: Final = 100
LOOKS_MAX: Final = 4
"""Looks at the held-out text that are shown before a round tells of them."""
FILE_BYTES_MAX: Final = 4 * LEDGER_BYTES_MAX


@dataclass(frozen=True, slots=True)
class GivenToday:
    """What peers have given to others today, as these say.

    Attributes:
        shared: Bytes of shards.
        answered: Rows that experts have answered.
    """

    shared: Mapping[PeerId, int] = field(default_factory=dict)
    answered: Mapping[PeerId, int] = field(default_factory=dict)


NOTHING: Final = GivenToday()


class _BoardFile(msgspec.Struct, frozen=True, kw_only=True):
    ledger: bytes
    names: Annotated[dict[str, Annotated[str, Meta(max_length=80)]], Meta(max_length=ROWS_MAX)]
    """By the peer's public key in base 64."""


class Board:
    """Shows rows and curve of the newest known ledger, with names from passes.

    The file is a copy for the time before a state is held: the ledger itself lies in the checkpoint.

    Args:
        path: Path of the file.
        target_samples: Target batch of the collaboration.
    """

    def __init__(self, path: Path, *, target_samples: int) -> None:
        self._path = path
        self._target_samples = target_samples
        self._heldout: dict[int, float] = {}
        """Looks at the held-out text that no round has told of yet, by epoch."""
        self.notice: Sentence | None = None
        """A sentence for the person, when the file was damaged."""
        try:
            self.ledger, self._names = _read(path)
        except (ValueError, WireProblem):
            self.ledger, self._names = Ledger(), {}
            self.notice = Sentence(
                "The copy of the leaderboard could not be read; it comes again with the next state. "
                "The damaged file was kept as {name}.",
                set_aside(path).name,
            )
        self._held = self.ledger
        """Ledger of the state that the worker holds, from which the next follows: others' are shown while it rests."""
        self.dirty = False
        """Whether there is anything that the file does not have."""
        self.recent = RecentSamples()
        """What everybody gave lately, where somebody counts it (`core.ledger.week_book`)."""

    def take(self, event: HeldoutLearned | LedgerRead) -> None:
        """Show what a participant reports of losses and of who gave what."""
        match event:
            case HeldoutLearned(epoch=epoch, loss=loss):
                self.looked(epoch, loss)
            case LedgerRead(ledger=ledger, epoch=epoch):
                self._show(ledger, epoch)

    def hold(self, data: bytes, epoch: int) -> None:
        """The worker holds this state; a ledger that cannot be read counts as empty, on all computers alike."""
        self._show(data, epoch)
        self._held = self.ledger

    def _show(self, data: bytes, epoch: int) -> None:
        try:
            self.ledger = Ledger.from_bytes(data, epoch_max=epoch)
        except WireProblem:
            self.ledger = Ledger()
        self.dirty = True

    def after(self, record: RoundRecord) -> bytes:
        """The ledger of the state to which a round leads from the one that this computer holds."""
        return self._held.after(record, target_samples=self._target_samples).to_bytes()

    def counted(self, peer: PeerId, data: bytes) -> int:
        """Samples of a peer that one round has counted between the state that is held and the one with this ledger.

        It tells a worker that was away when others averaged its contribution: of the one that it had handed over.

        Returns:
            The samples; 0 where no round has counted any, or several have, and where the ledger cannot be read.
        """
        try:
            there, here = Ledger.from_bytes(data).row(peer), self._held.row(peer)
        except WireProblem:
            return 0
        return max(0, there.samples - here.samples) if there.epochs == here.epochs + 1 else 0

    def looked(self, epoch: int, loss: float) -> None:
        """Somebody looked at the held-out text."""
        self._heldout.pop(epoch, None)
        self._heldout[epoch] = loss
        known = self.ledger.curve.heldout_epoch
        new = [(at, seen) for at, seen in self._heldout.items() if at > known]
        self._heldout = dict(new[-LOOKS_MAX:])

    def named(self, names: Mapping[PeerId, str]) -> None:
        """These are the names in the passes of peers that are known."""
        news = {peer: name for peer, name in names.items() if self._names.get(peer) != name}
        if news:
            self._names = dict([*self._names.items(), *news.items()][-ROWS_MAX:])
            self.dirty = True

    @property
    def names(self) -> Mapping[PeerId, str]:
        """Names of all peers that have been known here."""
        return self._names

    def row(self, peer: PeerId) -> LedgerRow:
        """One peer's sums; zeros for an unknown peer."""
        return self.ledger.row(peer)

    @property
    def curve(self) -> list[CurvePoint]:
        """At most 500 points of the loss curve, oldest first."""
        curve = Curve(self.ledger.curve.points())
        for epoch, loss in self._heldout.items():
            curve.record(CurvePoint(epoch, None, loss))
        return curve.thinned()

    def standings(
        self,
        me: PeerId,
        *,
        relayed: Mapping[PeerId, int],
        today: GivenToday = NOTHING,
        without: Collection[PeerId] = (),
        revoked: Collection[PeerId] = (),
        limit: int = STANDINGS_MAX,
    ) -> list[LeaderboardRow]:
        """The leaderboard: the first `limit` rows, and mine if it is further down.  Equal samples share a rank.

        All computers of one name, which is an account's, share a row: it has the key of the one that gave most.

        Args:
            me: Whose row is marked.
            relayed: Bytes that peers have carried for others, as far as this computer's receipts say.
            today: What peers have given to others today.
            without: Peers that are nobody's computer, which have no rank among people: backbones.
            revoked: Peers whom the organiser has shut out: their rows stay, and say so.
            limit: Number of rows.
        """
        rows = {**dict.fromkeys([*relayed, *today.shared, *today.answered], LedgerRow()), **self.ledger.rows}
        total = sum(row.samples for row in rows.values())
        for peer in (OTHERS, *without):
            rows.pop(peer, None)
        people: dict[str | PeerId, list[PeerId]] = {}  # a key without a name is nobody else's, whatever they are called
        for peer in sorted(rows, key=lambda peer: (-rows[peer].samples, peer)):
            people.setdefault(self._names.get(peer) or peer, []).append(peer)
        sums = [
            (self._names.get(peers[0]) or short(peers[0]), peers, sum((rows[peer] for peer in peers), LedgerRow()))
            for peers in people.values()
        ]
        ordered = sorted(sums, key=lambda one: (-one[2].samples, -one[2].reduced, one[0], one[1]))
        standings: list[LeaderboardRow] = []
        rank, samples_before = 0, -1
        for place, (name, peers, row) in enumerate(ordered, start=1):
            if row.samples != samples_before:
                rank, samples_before = place, row.samples
            if place <= limit or me in peers:
                standings.append(
                    LeaderboardRow(
                        rank=rank,
                        peer=short(peers[0]),
                        name=name,
                        is_me=me in peers,
                        samples=row.samples,
                        week=self.recent.share(peers),
                        share=row.samples / total if total else 0.0,
                        epochs=row.epochs,
                        rounds=row.rounds,
                        reduced=row.reduced,
                        relayed_bytes=sum(relayed.get(peer, 0) for peer in peers),
                        shared_bytes=sum(today.shared.get(peer, 0) for peer in peers),
                        answered_rows=sum(today.answered.get(peer, 0) for peer in peers),
                        revoked=all(peer in revoked for peer in peers),
                    )
                )
        return standings

    def save(self) -> None:
        """Write the file, whole or not at all.

        Raises:
            NoSpace: the disk is full; the old file stands.
            UserProblem: the system does not allow it; the old file stands.
        """
        if self.dirty:
            names = {base64.b64encode(peer).decode(): name for peer, name in self._names.items()}
            file = _BoardFile(ledger=self.ledger.to_bytes(), names=names)
            write_atomic(self._path, msgspec.json.encode(file))
            self.dirty = False


def _read(path: Path) -> tuple[Ledger, dict[PeerId, str]]:
    data = read_bounded(path, FILE_BYTES_MAX)
    if data is None:
        return Ledger(), {}
    file = msgspec.json.decode(data, type=_BoardFile)
    names = {PeerId(base64.b64decode(letters, validate=True)): name for letters, name in file.names.items()}
    return Ledger.from_bytes(file.ledger), names
