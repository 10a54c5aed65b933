"""The chain of what moderators did at one backbone: lines of JSON in the charter's `audit.log`, appended and synced.

The backbone is its only writer.  It looks every few seconds for what is new: records that hold now, invitations that
were made or withdrawn, computers that their owners ended; the page tells it of requests that were answered there.  So
commands that change the charter write nothing here, and what they do while no backbone runs is written when one starts.

What the worst moderator gains: `ACTOR_DAILY` lines a day; what is more is left out.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.api.moderation import AuditLineView, AuditView, change_text
from core.authority.audit import ACTOR_LETTERS, WORDS_LETTERS, AuditLine, beginning, first_broken
from core.authority.decisions import Decisions
from core.authority.documents import DocumentKind
from core.authority.holds import SCHEMA as HOLDS
from core.authority.proposals import proposal_of
from core.authority.records import AuthorityRecords
from core.authority.view import changes
from core.backbone.admission_log import AdmissionLog
from core.backbone.desk_messages import AUDIT_LINES_MAX
from core.backbone.invitations import Invitation
from core.base.ids import PeerId, short
from core.base.problems import printable
from core.system.atomic_files import append_synced, read_bounded, write_atomic

_LOG = logging.getLogger(__name__)
AUDIT: Final = "audit.log"
BYTES_MAX: Final = 64 * 1024 * 1024
"""Upper bound on the file, bytes: some 200,000 lines."""
SHOWN: Final = 50
HEADS_MAX: Final = 16
"""Number of backbones whose last lines a moderator's computer remembers."""
ACTOR_DAILY: Final = 200
DAY_S: Final = 86_400
ENDED: Final = "computer ended"
SERVER: Final = "the server"
"""Who made what was made with the charter's folder."""


class AuditLog:
    """Appends to the chain, and reads it.

    Args:
        folder: The charter's.
        manifest_id: The collaboration.
    """

    def __init__(self, folder: Path, manifest_id: bytes) -> None:
        self._path = folder / AUDIT
        self._beginning = beginning(manifest_id)
        lines = self._read()
        self.broken = first_broken(lines, 0, self._beginning)
        """Number of the first line that does not follow from the one before; None: all do."""
        if self.broken is not None:
            _LOG.warning("%s was changed: line %d does not follow from the one before", self._path, self.broken)
        self.newest = tuple(lines[-SHOWN:])
        """The last lines, `SHOWN` at most."""
        self._written = {(line.act, line.subject) for line in lines}
        self._daily = Counter((line.actor, int(line.at // DAY_S)) for line in lines[-10 * ACTOR_DAILY :])

    @property
    def count(self) -> int:
        """The number of the last line; 0: there is none."""
        return self.newest[-1].n if self.newest else 0

    def has(self, act: str, subject: str) -> bool:
        """Whether there is a line about this."""
        return (act, subject) in self._written

    def after(self, n: int) -> list[AuditLine]:
        """Lines behind line `n`, `AUDIT_LINES_MAX` at most."""
        return [line for line in self._read() if line.n > n][:AUDIT_LINES_MAX]

    def append(self, actor: str, act: str, subject: str, *, words: str = "", now: float) -> None:
        """Write down what somebody did, as `append_all` does."""
        self.append_all([(actor, act, subject, words)], now)

    def append_all(self, done: Iterable[tuple[str, str, str, str]], now: float) -> None:
        """Write down at once what people did, unless it was written down before, or the actor has done much today.

        Args:
            done: Who; what; whom or what it is about, of which a further line with the same act is left out; why, or
                how.
            now: Unix seconds.

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        lines, last = dict[tuple[str, str], AuditLine](), self.newest[-1] if self.newest else None
        day = int(now // DAY_S)
        daily = self._daily.copy()
        for said, act, subject, words in done:
            actor = printable(said)[:ACTOR_LETTERS]
            if self.has(act, subject) or (act, subject) in lines or daily[actor, day] >= ACTOR_DAILY:
                continue
            last = lines[act, subject] = AuditLine(
                n=1 if last is None else last.n + 1,
                at=now,
                actor=actor,
                act=act,
                subject=printable(subject),
                words=printable(words)[:WORDS_LETTERS],
                before=self._beginning if last is None else last.digest,
            )
            daily[actor, day] += 1
        if lines:  # each begins with the end of what may be half a line
            append_synced(self._path, b"".join(b"\n" + msgspec.json.encode(line) for line in lines.values()))
        self.newest, self._daily = (*self.newest, *lines.values())[-SHOWN:], daily
        self._written.update(lines)

    def _read(self) -> list[AuditLine]:
        try:
            data = read_bounded(self._path, BYTES_MAX) or b""
        except ValueError:
            _LOG.warning("%s is too long to be read", self._path)
            return []
        return [line for each in data.splitlines() if each and (line := _line(each)) is not None]


class AuditWatch:
    """Sees what moderators did, and has it written down.

    Args:
        log: Takes it.
        records: What moderators have said.
        admissions: Who was let in, and which computers were ended.
        invitations: Those that there are now.
    """

    def __init__(
        self,
        log: AuditLog,
        records: AuthorityRecords,
        admissions: AdmissionLog,
        invitations: Callable[[], Sequence[Invitation]],
    ) -> None:
        self.log = log
        self._records = records
        self._admissions = admissions
        self._invitations = invitations
        self._decided = Decisions()
        self._roles = records.roles
        self._made: set[str] = set()
        """Invitations that there were at the last look."""

    def look(self, now: float) -> None:
        """Write down what is new.

        Raises:
            Damaged: the charter is unreadable.
            NoSpace: the disk is full.
        """
        self._look_at_records(now)
        made = {one.id: one for one in self._invitations()}
        for name, one in made.items():
            uses = "any number of computers" if one.uses_max is None else f"{one.uses_max} computers"
            self.log.append(SERVER, "invitation made", name, words=uses, now=now)
        for name in self._made - made.keys():
            self.log.append(SERVER, "invitation withdrawn", name, now=now)
        self._made = set(made)
        ended = ((key, key.hex()[:16]) for key in self._admissions.accounts.ended)
        news = [(key, subject) for key, subject in ended if not self.log.has(ENDED, subject)]
        # A member chooses its name, which may be a moderator's: the key's letters tell them apart.
        self.log.append_all([(f"{self._name(key)} ({short(key)})", ENDED, subject, "") for key, subject in news], now)

    def _look_at_records(self, now: float) -> None:
        records = self._records
        for document in records.settled:
            subject = document.name.hex()[:16]
            if self.log.has(document.kind, subject):
                continue
            actor = ", ".join(
                sorted(records.roles.name_of(key) or short(key) for key in records.seal.signers(document))
            )
            if document.kind is DocumentKind.HOLDS:
                held = HOLDS.decode(document.body).held
                words = "; ".join(f"{self._name(PeerId(one.key))} {one.words}".strip() for one in held) or "nobody"
            else:
                after = proposal_of(document).content
                before = self._decided if isinstance(after, Decisions) else self._roles
                said = [change_text(one) for one in changes(before, after, self._name, records.seal.founder)]
                why = getattr(after, "words", "")
                words = "; ".join(dict.fromkeys(said)) + (f" ({why})" if why else "")
            self.log.append(actor, document.kind, subject, words=words, now=now)
        self._decided, self._roles = records.decisions, records.roles

    def _name(self, key: PeerId) -> str:
        return self._admissions.name_of(key) or short(key)


class AuditHead(msgspec.Struct, frozen=True):
    """A line that was seen."""

    n: Annotated[int, Meta(ge=0, lt=2**31)]
    digest: Annotated[bytes, Meta(min_length=32, max_length=32)]
    seen: float
    """When, Unix seconds."""


class AuditHeads:
    """Remembers and compares.

    Args:
        path: Where they are kept.
        manifest_id: The collaboration.
    """

    def __init__(self, path: Path, manifest_id: bytes) -> None:
        self._path = path
        self._beginning = beginning(manifest_id)
        try:
            self._heads = msgspec.json.decode(read_bounded(path, 64 * 1024) or b"{}", type=dict[str, AuditHead])
        except ValueError:
            self._heads = {}

    def of(self, desk: PeerId) -> AuditHead | None:
        """The last line that was seen of this backbone's; None: none was."""
        return self._heads.get(desk.hex())

    def first_changed(self, desk: PeerId, lines: list[AuditLine], count: int) -> int | None:
        """The number of the first line that is not as it was, or does not follow; None: all is well.

        Args:
            desk: The backbone.
            lines: Its last ones, the remembered one and all later ones among them.
            count: Number of the last one that it says there is.
        """
        known, start = self.of(desk), lines[0].n - 1 if lines else 0
        before = lines[0].before if start else self._beginning
        if (broken := first_broken(lines, start, before)) is not None:
            return broken
        last = lines[-1].n if lines else 0
        if last != count:
            return last + 1
        if known is None or not known.n:
            return None
        same = any(line.n == known.n and line.digest == known.digest for line in lines)
        return None if same else known.n

    def remember(self, desk: PeerId, lines: list[AuditLine], now: float) -> None:
        """Remember the last of these.

        Raises:
            NoSpace: the disk is full.
        """
        if lines:
            self._heads.pop(desk.hex(), None)
            self._heads[desk.hex()] = AuditHead(lines[-1].n, lines[-1].digest, now)
            self._heads = dict(list(self._heads.items())[-HEADS_MAX:])
            write_atomic(self._path, msgspec.json.encode(self._heads))


def audit_view(lines: Sequence[AuditLine], *, count: int, changed: int | None, seen: float = 0.0) -> AuditView:
    """The chain as people see it.

    Args:
        lines: The last ones.
        count: Number of the last one.
        changed: The first one that is not as it was; None: all are.
        seen: When they were seen before, Unix seconds; 0: they were not.
    """
    shown = (AuditLineView(one.n, one.at, one.actor, one.act, one.subject, one.words) for one in lines[-SHOWN:])
    return AuditView(tuple(shown), count=count, changed=changed or 0, seen=seen)


def _line(data: bytes) -> AuditLine | None:
    try:
        return msgspec.json.decode(data, type=AuditLine)
    except msgspec.MsgspecError:
        return None
