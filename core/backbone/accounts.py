"""Whose the keys are that were let in: each person has an account, and one key for each computer.

It follows from the admission log alone (`core.backbone.admission_log`).  The first key makes the account; who is banned
or held is so with all keys, and a key that its own account has ended is nothing that is held against the others.
"""

from collections.abc import Container, Iterable, Sequence
from typing import Final

from core.base.ids import AccountId, PeerId, account_of

KEYS_MAX: Final = 10
"""Number of keys of an account, with those that were ended."""


class Accounts:
    """All accounts, by key."""

    def __init__(self) -> None:
        self._of: dict[PeerId, AccountId] = {}
        self._keys: dict[AccountId, list[PeerId]] = {}
        self.ended: dict[PeerId, float] = {}
        """Keys that their own account has ended, and when, Unix seconds."""

    def enter(self, key: PeerId, account: AccountId | None) -> None:
        """Note a key that was let in, as a further one of an account, or as the first of its own."""
        self._of[key] = account or account_of(key)
        self._keys.setdefault(self._of[key], []).append(key)

    def of(self, key: PeerId) -> AccountId:
        """Whose key it is, or would be as the first of an account."""
        return self._of.get(key) or account_of(key)

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
