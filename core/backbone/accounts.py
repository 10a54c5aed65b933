"""Whose the keys are that were let in: each person has an account, and one key for each computer.

It follows from the admission log alone (`core.backbone.admission_log`).  The first key makes the account; who is banned
or held is so with all keys, and a key that its own account has ended is nothing that is held against the others.
"""

from collections.abc import Container, Iterable, Sequence
from typing import Final, NamedTuple

from core.backbone.invitations import DeviceInvitation, Invitation, Ticket
from core.base.ids import AccountId, PeerId, account_of
from core.base.names import looks, with_digits

KEYS_MAX: Final = 10
"""Number of keys of an account, with those that were ended."""


class Accounts:
    """All accounts, by key."""

    def __init__(self) -> None:
        self._of: dict[PeerId, AccountId] = {}
        self._keys: dict[AccountId, list[PeerId]] = {}
        self._of_person: dict[str, AccountId] = {}
        self.ended: dict[PeerId, float] = {}
        """Keys that their own account has ended, and when, Unix seconds."""

    def clear(self) -> None:
        """Forget all keys, before they are entered again."""
        for memory in (self._of, self._keys, self._of_person, self.ended):
            memory.clear()

    def enter(self, key: PeerId, account: AccountId | None, *, person: str = "") -> None:
        """Note a key that was let in, as a further one of an account, or as the first of its own.

        Args:
            key: The key.
            account: Whose further key it is; None: nobody's.
            person: The page's number of who has signed in there for it, in hex; empty: nobody has.
        """
        self._of[key] = account or account_of(key)
        if person:
            self._of_person.setdefault(person, self._of[key])
        self._keys.setdefault(self._of[key], []).append(key)

    def of(self, key: PeerId) -> AccountId:
        """Whose key it is, or would be as the first of an account."""
        return self._of.get(key) or account_of(key)

    def of_person(self, person: str) -> AccountId | None:
        """The account of somebody who has signed in at the page, by the page's number; None: no key of theirs is in."""
        return self._of_person.get(person)

    def joins(self, invitation: Invitation | None) -> AccountId | None:
        """Account to which an invitation adds a computer; None: it makes a new one, or there is no invitation."""
        if isinstance(invitation, DeviceInvitation):
            return invitation.account
        return self.of_person(invitation.person) if isinstance(invitation, Ticket) else None

    def forget_person(self, account: AccountId) -> None:
        """The person of an account has taken it out: signing in makes another one."""
        self._of_person = {person: known for person, known in self._of_person.items() if known != account}

    def keys(self, account: AccountId) -> Sequence[PeerId]:
        """All keys of an account, also those that were ended, the first one first."""
        return self._keys.get(account, ())

    def lasting(self, account: AccountId) -> list[PeerId]:
        """The keys by which a decision about a person is written down: the first one, and all that were not ended."""
        return [key for key in self.keys(account) if key not in self.ended or account_of(key) == account]

    def together(self, keys: Iterable[PeerId]) -> list[PeerId]:
        """The lasting keys of the people who have these, person by person, and those that were never let in."""
        return list(dict.fromkeys(each for key in keys for each in self.lasting(self.of(key)) or [key]))

    def among(self, account: AccountId, keys: Container[PeerId]) -> bool:
        """Whether a person is among those that some keys name."""
        return any(key in keys for key in self.lasting(account))


class _Holder(NamedTuple):
    """Who has a name; of two the lesser one keeps it."""

    at: float
    key: PeerId
    account: AccountId
    name: str
    here: bool


class TakenNames:
    """Whose each name is, by what it looks like."""

    def __init__(self) -> None:
        self._holders: dict[str, _Holder] = {}
        self.instead: dict[AccountId, str] = {}
        """Names of those whose own one somebody had earlier, at another backbone."""

    def holder(self, look: str) -> PeerId | None:
        """The key that has a name of these looks; None: nobody has."""
        found = self._holders.get(look)
        return None if found is None else found.key

    def take(self, name: str, key: PeerId, account: AccountId, *, at: float, here: bool) -> None:
        """Note a name; of two people the one has it who got it earlier, where two backbones have given it.

        Args:
            name: As it is written.
            key: The first key that has it.
            account: Whose it is.
            at: When it was given, Unix seconds.
            here: This backbone gave it, maybe before a rule, when it gave alike names, which both keep.
        """
        mine = _Holder(at, key, account, name, here)
        for look in looks(name):
            other = self._holders.setdefault(look, mine)
            first, last = sorted((other, mine))
            if other.account == account or not (other.here and here):
                self._holders[look] = first
            if other.account != account and not (other.here and here):
                self.instead[last.account] = with_digits(last.name, last.key)
                self.instead.pop(first.account, None)
