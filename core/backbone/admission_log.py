"""Keys that were let in, each with its invitation, household and name.

One log in the charter, `admitted.log`, a line of JSON for each key, appended and synced before its first pass goes out.
All else follows from it: how often an invitation was used, which name is taken, whose a key is, and which key may renew
its pass without an invitation.  The first key of a person makes an account, to which the name belongs; further keys of
the account have that name.  What the organiser has revoked stands beside it (`core.backbone.revocations`), and is asked
at each admission and each renewal.

What the worst newcomer gains: one account for each use of an invitation; names that look like another's are refused.
What a member gains that renews its pass again and again: nothing but that pass; what one gains that brings further
computers: `KEYS_MAX` keys that count as one person.
"""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from core.backbone.accounts import KEYS_MAX, Accounts
from core.backbone.invitations import DeviceInvitation, Invitation, found_in
from core.backbone.names import check_name, looks
from core.backbone.revocations import Revocations, shut_out
from core.base.ids import AccountId, PeerId
from core.base.problems import BadInput, NotTrusted, Sentence, ShutOut, later
from core.system.atomic_files import append_synced, read_bounded

ADMITTED: Final = "admitted.log"
_BYTES_MAX: Final = 256 * 1024 * 1024
HELD_S: Final = 180.0
"""How long a use is held: a collaboration's files are there by then on most lines."""
HELD_MAX: Final = 4
"""Number of uses of one invitation that are held; more newcomers come in as long as there are uses beside those."""


class HeldUses:
    """Who is about to come in, by invitation and key.  Nothing is kept on the disk."""

    def __init__(self) -> None:
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


class Admitted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A key that was let in."""

    key: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    name: str
    invitation: str
    """`Invitation.id`; empty: the backbone itself."""
    at: float
    """When, Unix seconds."""
    household: str = ""
    """`core.backbone.revocations.household_mark` of where it asked; empty: an earlier version let it in."""
    account: Annotated[str, Meta(pattern="^([0-9a-f]{32})?$")] = ""
    """Whose further key it is; empty: it is the first of an account of its own."""
    device: str = ""
    """What the computer called itself."""
    ended_by: Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")] = ""
    """The key of the same account that lets it in no more, by this second line of it; empty: it is let in."""


class Newcomer(NamedTuple):
    """Somebody who asks for a pass, and has proven to hold the key."""

    key: PeerId
    name: str
    """The wanted one, which counts for the first key of an account, the first time."""
    household: str = ""
    """`core.backbone.revocations.household_mark` of where it asks."""
    device: str = ""


ASK: Final = Sentence("Ask the organiser for a new link.")


class BadInvitation(NotTrusted):
    """An invitation that lets nobody in.

    Args:
        why: Completes the code `link.WHY`.
        message: The same as a sentence.
        hint: What to do.
    """

    def __init__(self, why: str, message: str, /, *values: object, hint: str | Sentence = ASK) -> None:
        super().__init__(message, *values, hint=hint)
        self.code = f"link.{why}"


def closed() -> BadInvitation:
    """The problem that moderators let nobody new in for now."""
    hint = "Try again another day: your invitation stays as it is."
    return BadInvitation("closed", "The moderators let nobody new in at present.", hint=hint)


class PlacesHeld(BadInvitation):
    """The last places of an invitation are held for others, some of whom may not come."""

    def __init__(self) -> None:
        said = later("The last places of this invitation are held for computers that are about to come in.")
        super().__init__("full", said, hint=later("Try again in some minutes, or ask the organiser for a new link."))


class TooManyDevices(BadInvitation):
    """An account has as many keys as it may."""

    def __init__(self) -> None:
        said = f"This account has {KEYS_MAX} computers, with those that were ended."
        super().__init__("full", said, hint="Ask the organiser for a link of its own.")


def ended_here() -> ShutOut:
    """The problem that another computer of the same person has ended this one."""
    return ShutOut(
        "Another computer of your account has ended this one.",
        hint="It can come in again by a new link, with another home (--home).",
    )


class NameTaken(BadInput):
    """The name belongs to another key."""

    code = "name_taken"


class AdmissionLog:
    """All that were let in, by key, by name and by invitation.

    Args:
        folder: The charter's.

    Raises:
        UserProblem: who was shut out cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / ADMITTED
        self._by_key: dict[PeerId, Admitted] = {}
        self._by_look: dict[str, PeerId] = {}
        self.accounts = Accounts()
        """Whose they are."""
        self._used: Counter[str] = Counter()
        self.revocations = Revocations(folder)
        self.held = HeldUses()
        """For newcomers who are about to come in."""
        for line in (read_bounded(self._path, _BYTES_MAX) or b"").splitlines():
            try:
                self._enter(msgspec.json.decode(line, type=Admitted))
            except msgspec.MsgspecError:
                continue  # half of a line, whose pass never went out

    @property
    def admitted(self) -> Mapping[PeerId, Admitted]:
        """All that were let in, the first one first."""
        return self._by_key

    def name_of(self, key: PeerId) -> str | None:
        """The name of a key; None: it was never let in."""
        admission = self._by_key.get(key)
        return None if admission is None else admission.name

    def newest_names(self, at_most: int) -> list[tuple[PeerId, str]]:
        """Keys and names of those who were let in last, oldest first."""
        return [(key, one.name) for key, one in list(self._by_key.items())[-at_most:]]

    def keys_of(self, name: str) -> list[PeerId]:
        """The keys of the person called so, the first one first; else of one whose name looks like it, or none."""
        exact = [key for key, one in self._by_key.items() if one.name == name and key not in self.accounts.ended]
        alike = self._by_look.get(looks(name)[-1])
        return self.accounts.together(exact or ([] if alike is None else [alike]))

    def used(self, invitation: Invitation) -> int:
        """Number of keys that an invitation has let in."""
        return self._used[invitation.id]

    def is_open(self, invitation: Invitation, now: float) -> bool:
        """Whether an invitation lets anybody in."""
        return not invitation.has_expired(now) and not invitation.is_used_up(self.used(invitation))

    def admit(
        self,
        who: Newcomer,
        *,
        invitations: Sequence[Invitation],
        secret: str,
        now: float,
        held: Container[PeerId] = frozenset(),
    ) -> Admitted:
        """Let a key in, or let it in again.

        Args:
            who: Asks.
            invitations: Those that hold.
            secret: What the newcomer says; counts only the first time.
            now: Unix seconds.
            held: Keys that moderators keep out, whose people bring no further computers.

        Returns:
            The key's line.

        Raises:
            ShutOut: the organiser has shut the person out, or the household of a new one; or the key was ended.
            NotTrusted: the invitation is wrong, used up, or has expired.
            BadInput: the name cannot be used, or belongs to somebody else.
            NoSpace: the disk is full.
            UserProblem: who was shut out cannot be read.
        """
        self.revocations.refresh()
        shut, known, accounts = self.revocations.keys, self._by_key.get(who.key), self.accounts
        if who.key in accounts.ended:
            raise ended_here()
        if who.key in shut or accounts.among(accounts.of(who.key), shut):
            raise shut_out()
        if known is not None:
            return known
        if who.household in self.revocations.households:
            raise shut_out()
        invitation = self.valid(invitations, secret, now=now, peer=who.key)
        account = invitation.account if isinstance(invitation, DeviceInvitation) else None
        if account is not None and (accounts.among(account, shut) or accounts.among(account, held)):
            raise shut_out()
        self.enter(who, invitation=invitation.id, now=now, account=account)
        self.held.release(invitation.id, who.key)
        return self._by_key[who.key]

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
        if invitation.is_used_up(used + self.held.by_others(invitation.id, peer, now)):
            raise PlacesHeld
        return invitation

    def enter(self, who: Newcomer, *, invitation: str, now: float, account: AccountId | None = None) -> None:
        """Write down a new key.

        Args:
            who: Whose it is.
            invitation: `Invitation.id`; empty: the backbone itself.
            now: Unix seconds.
            account: Whose further key it is, which has that account's name; None: nobody's.

        Raises:
            BadInput: the name cannot be used, or belongs to somebody else.
            NotTrusted: the account has as many keys as it may.
            NoSpace: the disk is full.
        """
        name = who.name
        if account is not None:
            keys = self.accounts.keys(account)
            if len(keys) >= KEYS_MAX:
                raise TooManyDevices
            name = self._by_key[keys[0]].name
        else:
            check_name(name)
            if any(look in self._by_look for look in looks(name)):
                raise NameTaken(
                    "The name {name} belongs to somebody else here.", repr(name), hint="Choose another name."
                )
        admission = Admitted(
            key=who.key.hex(),
            name=name,
            invitation=invitation,
            at=now,
            household=who.household,
            account="" if account is None else account.hex(),
            device=who.device,
        )
        self._write(admission)

    def end(self, key: PeerId, *, by: PeerId, now: float) -> None:
        """Let a key in no more, by the word of another one of its account; once is enough.

        Args:
            key: It was let in.
            by: The other one, whose holder has signed that.
            now: Unix seconds.

        Raises:
            NoSpace: the disk is full.
        """
        if key not in self.accounts.ended:
            self._write(msgspec.structs.replace(self._by_key[key], ended_by=by.hex(), at=now))

    def _write(self, admission: Admitted) -> None:
        append_synced(self._path, b"\n" + msgspec.json.encode(admission))  # first the end of what may be half a line
        self._enter(admission)

    def _enter(self, admission: Admitted) -> None:
        key = PeerId(bytes.fromhex(admission.key))
        if key in self._by_key:
            if admission.ended_by:
                self.accounts.ended.setdefault(key, admission.at)
            return
        self._by_key[key] = admission
        self.accounts.enter(key, AccountId(bytes.fromhex(admission.account)) or None)
        for look in looks(admission.name):
            self._by_look.setdefault(look, key)
        self._used[admission.invitation] += 1
