"""Keys that were let in, each with its invitation, household and name.

One log in the charter, `admitted.log`, a line of JSON for each key, appended and synced before its first pass goes out.
All else follows from it: how often an invitation was used, which name is taken, whose a key is, and which key may renew
its pass without an invitation.  The first key of a person makes an account, to which the name belongs; further keys of
the account have that name.  What the organiser has revoked stands beside it (`core.backbone.revocations`), and is asked
at each admission and each renewal.

Backbones copy each other's lines (`core.backbone.log_copies`), so that a person is the same at each.  Two that gave one
name: who got it earlier keeps it, and the other goes by it with four digits from the next pass on.

What the worst newcomer gains: one account for each use of an invitation; names that look like another's are refused.
What a member gains that renews its pass again and again: nothing but that pass; what one gains that brings further
computers: `KEYS_MAX` keys that count as one person.  What the worst other backbone gains: `COPIED_MAX` lines, with
names that it says were given earlier; it could let in as many by itself, until the moderators end it.  What it has told
since its key was stolen stays in the file, and counts nowhere (`core.backbone.admitted`).
"""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from core.backbone.accounts import KEYS_MAX, Accounts, TakenNames
from core.backbone.admitted import HOPS_MAX, AdmissionFile, Admitted, heard, is_doubted, is_news
from core.backbone.invitations import Invitation, InvitationUses, Ticket, found_in
from core.backbone.refusals import NameTaken, TooManyDevices, ended_here
from core.backbone.revocations import Revocations, shut_out
from core.base.ids import AccountId, PeerId, account_of
from core.base.names import check_name, looks, with_digits
from core.base.problems import Busy
from core.base.rate_limit import RateLimit
from core.net.identity.passes import Pass

ADMITTED: Final = "admitted.log"
BACK_S: Final = 600.0
BACK_BURST: Final = KEYS_MAX
"""Computers of an account that come back which it had ended: all at once, and one in so many seconds.  Each makes two
lines of a log that is never thinned."""
COPIED_MAX: Final = 20_000
"""Number of lines that are copied from one backbone; members beyond are known by their passes."""
COPIED_BYTES_MAX: Final = 128 * 1024 * 1024
"""Size of the log from which on nothing is copied any more, so that there is room for those who come in here."""


_HERE: Final[dict[str, object]] = {"by": "", "heard": 0.0, "through": ()}
"""Fields of a line that this backbone has written by itself."""


class Newcomer(NamedTuple):
    """Somebody who asks for a pass, and has proven to hold the key."""

    key: PeerId
    name: str
    """The wanted one, which counts for the first key of an account, the first time."""
    household: str = ""
    """`core.backbone.revocations.household_mark` of where it asks."""
    device: str = ""
    """What the computer called itself."""
    shown: Pass | None = None
    """Its pass of another backbone, which holds, so that it needs no invitation."""


class AdmissionLog:
    """All that were let in, by key, by name and by invitation.

    Args:
        folder: The charter's.

    Raises:
        UserProblem: it cannot be read, or who was shut out.
    """

    def __init__(self, folder: Path) -> None:
        self._file = AdmissionFile(folder / ADMITTED)
        self._by_key: dict[PeerId, Admitted] = {}
        self._names = TakenNames()
        self.lines: list[Admitted] = []
        """All lines, the first one first, for other backbones."""
        self._copied: Counter[str] = Counter()
        self.accounts = Accounts()
        self.revocations = Revocations(folder)
        self.uses = InvitationUses()
        self._back = RateLimit[AccountId](rate_per_s=1 / BACK_S, burst=BACK_BURST)
        self._stolen: Mapping[PeerId, float] = {}
        for line in self._file.lines():
            self._enter(line)

    def believe(self, stolen: Mapping[PeerId, float]) -> None:
        """Count no line that came through a backbone whose key was stolen by then.

        Args:
            stolen: Those issuers, and since when, Unix seconds.
        """
        if stolen == self._stolen:
            return
        self._stolen, self._names = dict(stolen), TakenNames()
        for memory in (self._by_key, self.uses.spent, self.accounts):
            memory.clear()
        for line in self.lines:
            self._enter(line, again=True)

    @property
    def admitted(self) -> Mapping[PeerId, Admitted]:
        """All that were let in, the first one first."""
        return self._by_key

    def name_of(self, key: PeerId) -> str | None:
        """The name of a key, empty where its person has taken it out; None: it was never let in."""
        own = self._by_key[key].name if key in self._by_key else None
        return self._names.instead.get(self.accounts.of(key), own) if own else own

    def newest_names(self, at_most: int) -> list[tuple[PeerId, str]]:
        """Keys and names of those who were let in last, oldest first."""
        newest = islice(reversed(self._by_key), at_most)  # each renewal asks: a copy of them all takes long
        return [(key, self.name_of(key) or "") for key in newest][::-1]

    def keys_of(self, name: str) -> list[PeerId]:
        """The keys of the person called so, the first one first; else of one whose name looks like it, or none."""
        exact = [key for key in self._by_key if self.name_of(key) == name and key not in self.accounts.ended]
        alike = self._names.holder(looks(name)[-1])
        return self.accounts.together(exact or ([] if alike is None else [alike]))

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
            Busy: computers of the account that it had ended come back too often.
            NoSpace: the disk is full.
            UserProblem: who was shut out cannot be read.
        """
        self.revocations.refresh()
        shut, known, accounts = self.revocations.keys, self._by_key.get(who.key), self.accounts
        ended = who.key in accounts.ended
        if ended and (who.key in shut or accounts.joins(found_in(invitations, secret)) != accounts.of(who.key)):
            raise ended_here()
        if who.key in shut or accounts.among(accounts.of(who.key), shut):
            raise shut_out()
        if known is not None and not ended:
            return known
        if who.shown is not None and not ended:
            further = who.shown.further
            if further is not None and (accounts.among(further, shut) or accounts.among(further, held)):
                raise shut_out()
            self.enter(who, invitation="", now=now, account=further)
            return self._by_key[who.key]
        if who.household in self.revocations.households:
            raise shut_out()
        invitation = self.uses.valid(invitations, secret, now=now, peer=who.key)
        person, account = invitation.person if isinstance(invitation, Ticket) else "", accounts.joins(invitation)
        if account is not None and (accounts.among(account, shut) or accounts.among(account, held)):
            raise shut_out()
        if ended and known is not None:
            if not self._back.admits(accounts.of(who.key), now):
                raise Busy("Your account has asked too often.", hint="Wait for some minutes.")
            again = {"invitation": invitation.id, "household": who.household, "device": who.device, **_HERE}
            self._write(msgspec.structs.replace(known, **again, at=now, ended_by="", person=person or known.person))
        else:
            self.enter(who, invitation=invitation.id, now=now, account=account, person=person)
        self.uses.release(invitation.id, who.key)
        return self._by_key[who.key]

    def enter(
        self, who: Newcomer, *, invitation: str, now: float, account: AccountId | None = None, person: str = ""
    ) -> None:
        """Write down a new key.

        Args:
            who: Whose it is.
            invitation: `Invitation.id`; empty: the backbone itself.
            now: Unix seconds.
            account: Whose further key it is, which has that account's name; None: nobody's.
            person: As in `Admitted`.

        Raises:
            BadInput: the name cannot be used, or belongs to somebody else.
            NotTrusted: the account has as many keys as it may.
            NoSpace: the disk is full.
        """
        name = who.name if who.shown is None else who.shown.username
        keys = self.accounts.keys(account or account_of(who.key))
        if len(keys) >= KEYS_MAX:
            raise TooManyDevices(KEYS_MAX)
        if keys:
            name = self._by_key[keys[0]].name
            if not name:  # its person has taken it out
                raise ended_here()
        else:
            check_name(name)
            if any(self._names.holder(look) for look in looks(name)):
                if who.shown is None:
                    message = "The name {name} belongs to somebody else here."
                    raise NameTaken(message, repr(name), hint="Choose another name.")
                name = with_digits(name, who.key)
        admission = Admitted(
            key=who.key.hex(),
            name=name,
            invitation=invitation,
            at=now,
            household=who.household,
            account="" if account is None else account.hex(),
            device=who.device,
            person=person,
        )
        self._write(admission if who.shown is None else heard(admission, who.shown.issuer, now))

    def end(self, key: PeerId, *, by: PeerId, now: float, nameless: bool = False) -> None:
        """Let a key in no more, by the word of its account, until that brings it back; once is enough.

        Args:
            key: It was let in.
            by: The key whose holder has signed that, another one or the same.
            now: Unix seconds.
            nameless: Its name is told to nobody any more, and nobody else gets it.

        Raises:
            NoSpace: the disk is full.
        """
        if nameless or key not in self.accounts.ended:
            more = _HERE | {"name": "" if nameless else self._by_key[key].name}
            self._write(msgspec.structs.replace(self._by_key[key], ended_by=by.hex(), at=now, **more))

    def copy(self, told: Sequence[Admitted], *, by: PeerId, now: float) -> None:
        """Take lines of another backbone's log, as far as they are news.

        Args:
            told: In their order there.
            by: Issuer of that backbone, which has proven to be it.
            now: Unix seconds.

        Raises:
            NoSpace: the disk is full.
        """
        taken = []
        for one in told if self._file.bytes < COPIED_BYTES_MAX else ():
            line = heard(one, by, now)
            doubted = is_doubted(line, self._stolen) or len(one.through) == HOPS_MAX
            if self._copied[line.by] < COPIED_MAX and not doubted and is_news(line, self.admitted, self.accounts):
                self._enter(line)
                taken.append(line)
        self._file.append(taken)

    def _write(self, admission: Admitted) -> None:
        self._file.append([admission])
        self._enter(admission)

    def _enter(self, admission: Admitted, *, again: bool = False) -> None:
        if not again:
            self.lines.append(admission)
            self._copied[admission.by] += 1
        key = admission.peer
        known = self._by_key.get(key)
        if is_doubted(admission, self._stolen) or (admission.ended_by and known is None):
            return
        if admission.ended_by and known is not None:
            self.accounts.ended.setdefault(key, admission.at)
            if not admission.name and not admission.by:  # among the newest from now on, so that members hear of it
                self._by_key[key] = msgspec.structs.replace(self._by_key.pop(key), name="")
                self.accounts.forget_person(self.accounts.of(key))
            return
        if key in self.accounts.ended and known is not None and not admission.by:
            del self.accounts.ended[key]
            self.uses.spent[admission.invitation] += 1
            return
        if known is None:
            self.accounts.enter(key, AccountId(bytes.fromhex(admission.account)) or None, person=admission.person)
            self.uses.spent[admission.invitation] += 1
        if known is None or admission.at < known.at:
            self._by_key[key] = admission
        elif known.by and not admission.by:
            self._by_key[key] = msgspec.structs.replace(admission, at=known.at)
        account = self.accounts.of(key)
        if key == self.accounts.keys(account)[0]:
            one = self._by_key[key]
            self._names.take(one.name, key, account, at=one.at, here=not one.by)
