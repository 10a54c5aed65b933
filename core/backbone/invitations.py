"""Invitations: secrets that let people in, each with a number of uses and an end.

They lie in the charter as `invitations.json`, which `potluck invite` writes and the backbone reads again whenever it
has changed.  How often one was used follows from who was admitted with it (`core.backbone.admission_log`).
"""

import hmac
import secrets
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.backbone.refusals import BadInvitation, PlacesHeld
from core.base.content import digest
from core.base.ids import AccountId, PeerId
from core.base.problems import BadInput, Damaged
from core.base.usual_link import LINK_DAYS, LINK_USES
from core.system.atomic_files import read_bounded, write_atomic

INVITATIONS: Final = "invitations.json"
EARLIER_INVITATION: Final = "invite.txt"
"""The one invitation of a charter that was founded before there were several: for many, without an end."""
DAY_S: Final = 86_400.0
INVITATIONS_MAX: Final = 1000
"""Number of invitations that are kept: a withdrawn one makes room."""
HELD_S: Final = 180.0
"""How long a use is held: a collaboration's files are there by then on most lines."""
HELD_MAX: Final = 4
"""Number of uses of one invitation that are held; more newcomers come in as long as there are uses beside those."""
_BYTES_MAX: Final = 512 * 1024


class Invitation(msgspec.Struct, frozen=True, kw_only=True):
    """What lets people in, as long as it lasts."""

    secret: Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{1,128}$")]
    uses_max: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    """Number of computers that it lets in; None: any number."""
    expires: Annotated[float, Meta(ge=0, le=1e12)] | None = None
    """Last time of use, Unix seconds; None: it has no end."""

    @property
    def id(self) -> str:
        """Eight letters that name it without giving it away."""
        return digest(self.secret.encode()).hex()[:8]

    def has_expired(self, now: float) -> bool:
        """Whether its time is over."""
        return self.expires is not None and now > self.expires

    def is_used_up(self, used: int) -> bool:
        """Whether it lets nobody in any more, after `used` uses."""
        return self.uses_max is not None and used >= self.uses_max


class DeviceInvitation(Invitation, frozen=True, kw_only=True):
    """Lets one further computer of an account in; no file has it, so a backbone that starts again forgets it."""

    account: AccountId


class Ticket(Invitation, frozen=True, kw_only=True):
    """Lets one computer in of somebody who has signed in at the page; the first makes the account."""

    person: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
    """The page's number of this person."""


_Invitations = Annotated[list[Invitation], Meta(max_length=INVITATIONS_MAX)]


def new_invitation(*, uses_max: int | None = None, expires: float | None = None) -> Invitation:
    """An invitation with a secret of 192 random bits.

    Args:
        uses_max: Number of computers that it lets in; None: any number.
        expires: Last time of use, Unix seconds; None: it has no end.
    """
    return Invitation(secret=new_secret(), uses_max=uses_max, expires=expires)


def new_secret() -> str:
    """192 random bits, in letters that a link can have."""
    return secrets.token_urlsafe(24)


def first_invitation(now: float, *, uses: int | None = None, days: int | None = None) -> Invitation:
    """An invitation as an organiser asks for it.

    Args:
        now: Unix seconds.
        uses: Number of computers that it lets in, 0: any; None: `LINK_USES`.
        days: How long it lasts, 0: without an end; None: `LINK_DAYS`.
    """
    uses, days = LINK_USES if uses is None else uses, LINK_DAYS if days is None else days
    return new_invitation(uses_max=uses or None, expires=now + days * DAY_S if days else None)


def read_invitations(folder: Path) -> list[Invitation]:
    """The invitations of a charter, the oldest first.

    Raises:
        Damaged: the file is missing or unreadable.
    """
    try:
        data = read_bounded(folder / INVITATIONS, _BYTES_MAX)
        if data is not None:
            return list(msgspec.json.decode(data, type=_Invitations))
        earlier = read_bounded(folder / EARLIER_INVITATION, _BYTES_MAX)
        if earlier is not None:
            return [msgspec.convert({"secret": earlier.decode().strip()}, Invitation)]
    except ValueError as error:
        told = "The invitations of the collaboration in {folder} are damaged."
        raise Damaged(told, folder, INVITATIONS, hint="Bring back {invitations}.") from error
    message = "The collaboration in {folder} cannot be read ({invitations}: No such file)."
    raise Damaged(message, folder, INVITATIONS, hint="Bring back a copy of it.")


def write_invitations(folder: Path, invitations: Sequence[Invitation]) -> None:
    """Replace the invitations of a charter.

    Args:
        folder: The charter's.
        invitations: All that are to hold.

    Raises:
        BadInput: there are too many.
        NoSpace: the disk is full; what held before still holds.
    """
    if len(invitations) > INVITATIONS_MAX:
        raise BadInput("There are {most} invitations already.", INVITATIONS_MAX, hint="Withdraw some of them.")
    write_atomic(folder / INVITATIONS, msgspec.json.format(msgspec.json.encode(list(invitations)), indent=1))


def found_in(invitations: Sequence[Invitation], secret: str) -> Invitation | None:
    """The invitation with this secret; None: there is none.

    Args:
        invitations: Those that hold.
        secret: What a newcomer says.
    """
    same = [one for one in invitations if hmac.compare_digest(one.secret.encode(), secret.encode())]
    return same[0] if same else None


class InvitationUses:
    """How often each invitation was used, and who is about to use it, which is not kept on the disk."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()
        """Number of keys that each has let in, by `Invitation.id`."""
        self._until: dict[tuple[str, PeerId], float] = {}

    def hold(self, invitation: str, peer: PeerId, now: float) -> None:
        """Hold a use, if there is room; one that is held is not held for longer.

        Args:
            invitation: `Invitation.id`.
            peer: Who says that it is about to come in; nothing is proven yet.
            now: Unix seconds.
        """
        if self.by_others(invitation, peer, now) < HELD_MAX:
            self._until.setdefault((invitation, peer), now + HELD_S)

    def by_others(self, invitation: str, peer: PeerId | None, now: float) -> int:
        """Number of uses that are held for others.

        Args:
            invitation: `Invitation.id`.
            peer: Who asks; None: somebody who only looks.
            now: Unix seconds.
        """
        self._until = {who: until for who, until in self._until.items() if now <= until}
        return sum(held == invitation and holder != peer for held, holder in self._until)

    def release(self, invitation: str, peer: PeerId) -> None:
        """It has come in, so that nothing is held for it any more."""
        self._until.pop((invitation, peer), None)

    def used(self, invitation: Invitation) -> int:
        """Number of keys that an invitation has let in."""
        return self.spent[invitation.id]

    def is_open(self, invitation: Invitation, now: float) -> bool:
        """Whether an invitation lets anybody in."""
        return not invitation.has_expired(now) and not invitation.is_used_up(self.used(invitation))

    def valid(
        self, invitations: Sequence[Invitation], secret: str, *, now: float, peer: PeerId | None = None
    ) -> Invitation:
        """The invitation with this secret, if it lets somebody in now.

        Args:
            invitations: Those that hold.
            secret: What the newcomer says.
            now: Unix seconds.
            peer: The newcomer, for whom a use may be held; None: somebody who only looks.

        Raises:
            BadInvitation: it is wrong, used up, or has expired.
            PlacesHeld: others are about to use it up.
        """
        invitation = found_in(invitations, secret)
        if invitation is None:
            raise BadInvitation("withdrawn", "This invitation is not valid; the organiser may have withdrawn it.")
        if invitation.has_expired(now):
            raise BadInvitation("expired", "This invitation has expired.")
        used = self.used(invitation)
        if invitation.is_used_up(used):
            raise BadInvitation("full", "This invitation has been used as often as it may be.")
        if invitation.is_used_up(used + self.by_others(invitation.id, peer, now)):
            raise PlacesHeld
        return invitation
