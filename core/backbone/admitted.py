"""A line of the admission log, and what a backbone believes of one that another backbone has told.

A copied line names all backbones through which it came, each with the moment at which the next one heard it.  It is
doubted where one of them told it after its key was stolen; so a thief's lines do not become good by an honest backbone.

What the worst backbone gains is bounded here: a further key or an end counts only where that backbone told an account's
first key, or let it in; a name only where this backbone would give it itself.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.backbone.accounts import KEYS_MAX, Accounts
from core.base.ids import AccountId, PeerId, account_of
from core.base.names import BACKBONE_NAME, NAME_CHARS_MAX, check_name, looks, with_digits
from core.base.problems import BadInput, NoSpace, UserProblem
from core.system.atomic_files import append_synced, read_bounded

BYTES_MAX: Final = 256 * 1024 * 1024
HOPS_MAX: Final = 8
"""Number of backbones through which a line may come."""
_Moment = Annotated[float, Meta(ge=0, le=1e12)]
_Key = Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")]


class Admitted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A key that was let in."""

    key: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    name: Annotated[str, Meta(max_length=NAME_CHARS_MAX)]
    invitation: Annotated[str, Meta(max_length=64)]
    """`Invitation.id`; empty: the backbone itself."""
    at: _Moment
    """When, Unix seconds."""
    household: Annotated[str, Meta(max_length=64)] = ""
    """`core.backbone.revocations.household_mark` of where it asked; empty: an earlier version let it in."""
    account: Annotated[str, Meta(pattern="^([0-9a-f]{32})?$")] = ""
    """Whose further key it is; empty: it is the first of an account of its own."""
    device: Annotated[str, Meta(max_length=80)] = ""
    person: Annotated[str, Meta(pattern="^([0-9a-f]{32})?$")] = ""
    """The page's number of who has signed in there for it (`core.backbone.ways.tickets`); empty: nobody has."""
    ended_by: _Key = ""
    """The key of the same account that lets it in no more, by a further line of it; empty: it is let in."""
    by: _Key = ""
    """Issuer that has told it here, by its log or by a pass; empty: this backbone let it in."""
    heard: _Moment = 0.0
    """When that was, Unix seconds."""
    through: Annotated[tuple[tuple[_Key, _Moment], ...], Meta(max_length=HOPS_MAX)] = ()
    """Issuers through which that one had it, the first one first, each with when the next one heard it."""

    @property
    def peer(self) -> PeerId:
        """The key, as bytes, of the computer that was let in."""
        return PeerId(bytes.fromhex(self.key))


class AdmissionFile:
    """The file of all lines, of JSON, each appended and synced.

    Args:
        path: Where it is; there may be none yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.bytes = 0
        """Its length."""

    def lines(self) -> Iterator[Admitted]:
        """All that are there, the first one first.

        Raises:
            UserProblem: it cannot be read.
        """
        try:
            kept = read_bounded(self._path, BYTES_MAX) or b""
        except ValueError as error:
            raise UserProblem("{path} is too long to be read.", self._path, hint="Restore a backup.") from error
        self.bytes = len(kept)
        for line in kept.splitlines():
            with contextlib.suppress(msgspec.MsgspecError):  # half of a line, whose pass never went out
                yield msgspec.json.decode(line, type=Admitted)

    def append(self, lines: Sequence[Admitted]) -> None:
        """Append these; when this returns, they survive a power cut.

        Raises:
            NoSpace: the disk is full, or the file as long as it can be read.
        """
        data = b"".join(b"\n" + msgspec.json.encode(line) for line in lines)  # first the end of what may be half a line
        if self.bytes + len(data) > BYTES_MAX:
            raise NoSpace("{path} is full.", self._path)
        if data:
            append_synced(self._path, data)
        self.bytes += len(data)


def given(line: Admitted) -> Admitted:
    """A line as another backbone is told it, without what means nothing there."""
    through = (*line.through, (line.by, line.heard)) if line.by else ()
    return msgspec.structs.replace(line, household="", invitation="", person="", by="", heard=0.0, through=through)


def heard(line: Admitted, by: PeerId, now: float) -> Admitted:
    """A line as it is kept that another backbone has told.

    Args:
        line: As it was told.
        by: Issuer of that backbone.
        now: Unix seconds.
    """
    return msgspec.structs.replace(given(line), at=min(line.at, now), by=by.hex(), heard=now, through=line.through)


def is_doubted(line: Admitted, stolen: Mapping[PeerId, float]) -> bool:
    """Whether a line came through a backbone whose key was stolen by then.

    Args:
        line: Of the own log.
        stolen: Issuers whose keys were stolen, and since when, Unix seconds.
    """
    hops = (*line.through, (line.by, line.heard)) if stolen and line.by else ()
    return any(at > stolen.get(PeerId(bytes.fromhex(issuer)), at) for issuer, at in hops)


def is_news(line: Admitted, known: Mapping[PeerId, Admitted], accounts: Accounts) -> bool:
    """Whether a copied line says what is not known here, and is believed.

    Args:
        line: As it would be kept.
        known: All keys that were let in.
        accounts: All accounts.
    """
    key, before = line.peer, known.get(line.peer)
    account = accounts.of(key) if before is not None else AccountId(bytes.fromhex(line.account)) or account_of(key)
    keys = accounts.keys(account)
    has_say = bool(keys) and line.by in _tellers(known[keys[0]])
    if before is None:
        own = account == account_of(key)
        return not line.ended_by and len(keys) < KEYS_MAX and (own or has_say) and _may_be_called(line.name)
    if line.ended_by:
        return has_say and key not in accounts.ended and PeerId(bytes.fromhex(line.ended_by)) in keys
    return line.at < before.at and before.name in {line.name, with_digits(line.name, key)}


def _tellers(line: Admitted) -> set[str]:
    """Backbones whose word counts for an account: which told its first line here, and which let it in."""
    return {line.by, *(issuer for issuer, _ in line.through[:1])} - {""}


def _may_be_called(name: str) -> bool:
    try:
        check_name(name)
    except BadInput:
        return False
    return not set(looks(name)) & set(looks(BACKBONE_NAME))
