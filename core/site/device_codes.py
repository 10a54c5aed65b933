"""Computers that wait while their person signs in with a browser (RFC 8628).

A program asks for two codes.  It keeps the long one, 256 random bits, by which it asks again and again; its person
reads the short one, eight consonants, in the browser and compares it with what the program shows.  The codes are kept
in memory only: after a restart a program begins anew.

What the worst stranger gains: `OF_ONE_MAX` codes that wait for each household, for `LIFE_S` seconds, and no place of a
household that has fewer; somebody with an account the same where computers wait for a moderator.  Guessing: one of
2**256 long codes, or one of 2.5e10 short ones, `GUESSES` at once and one in `GUESS_S` seconds of a household, each of
which lets in only the guesser's own account.  Somebody who sends their own address to another person could get a
computer into that one's account: so the page asks, and says which computer it is and what to compare.
"""

import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from core.base.rate_limit import RateLimit
from core.site.accounts import SignInError
from core.site.browser import digest

LIFE_S: Final = 900.0
SIGNED_IN_S: Final = 14 * 86_400.0
"""A computer whose person has signed in waits so long for a moderator's answer."""
SIGNED_IN_MAX: Final = 4096
"""Computers that wait so: the oldest of the household with most makes room."""
INTERVAL_S: Final = 5.0
"""A program asks no more often; `SLACK_S` earlier is heeded."""
SLACK_S: Final = 1.0
WAITING_MAX: Final = 4096
OF_ONE_MAX: Final = 64
"""Codes of one household: a class of 30 begins at once."""
GUESSES: Final = 20
GUESS_S: Final = 10.0
LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"
CODE_LETTERS: Final = 8


@dataclass(frozen=True, slots=True)
class WaitingDevice:
    """A computer that waits.

    Attributes:
        code: The short one, as people read it without a dash.
        label: What the computer calls itself.
        household: Where it asks from.
        until: When the code ends, Unix seconds.
        asked: When its program asked last, Unix seconds.
        account: Of who has let it in; None: nobody yet.
        refused: Why it gets nothing; None: it may get a ticket yet.
    """

    code: str
    label: str
    household: str
    until: float
    asked: float
    account: bytes | None = None
    refused: SignInError | None = None


class DeviceCodes:
    """All computers that wait, by the digest of the long code, the oldest first."""

    def __init__(self) -> None:
        self._waiting: dict[bytes, WaitingDevice] = {}
        self._by_code: dict[str, bytes] = {}
        self._signed_in: dict[bytes, WaitingDevice] = {}
        """Those whose person has signed in, in the order in which that happened."""
        self._guesses = RateLimit[str](rate_per_s=1 / GUESS_S, burst=GUESSES)

    def begin(self, label: str, household: str, now: float) -> tuple[str, WaitingDevice]:
        """Have a computer wait; returns the long code.  At `WAITING_MAX` the oldest of who has most makes way.

        Args:
            label: What it calls itself.
            household: Where it asks from.
            now: Unix seconds.

        Raises:
            SignInError: too many of this household wait.
        """
        self._forget(now)
        if sum(one.household == household for one in self._waiting.values()) >= OF_ONE_MAX:
            raise SignInError("too_often", "Too many computers wait for somebody to sign in. Try again later.")
        if len(self._waiting) >= WAITING_MAX:
            self._drop(_oldest_of_most(self._waiting))
        code = "".join(secrets.choice(LETTERS) for _ in range(CODE_LETTERS))
        long, made = secrets.token_urlsafe(32), WaitingDevice(code, label, household, now + LIFE_S, now - INTERVAL_S)
        self._waiting[digest(long)], self._by_code[code] = made, digest(long)
        return long, made

    def poll(self, long: str, household: str, now: float) -> bytes:
        """The account of who has let a computer in; `done` ends its waiting.

        Args:
            long: The long code.
            household: Where it is asked from.
            now: Unix seconds.

        Raises:
            SignInError: authorization_pending, slow_down, expired_token, access_denied or too_often.
        """
        self._forget(now)
        key = digest(long)
        there = self._signed_in if key in self._signed_in else self._waiting
        found = there.get(key)
        if found is None:
            raise self._unknown(household, now)
        if now < found.asked + INTERVAL_S - SLACK_S:
            raise SignInError("slow_down", "Ask no more often than the interval says.")
        there[key] = replace(found, asked=now)
        if found.refused is not None:
            self.done(long)
            raise found.refused
        if found.account is None:
            raise SignInError("authorization_pending", "Nobody has signed in yet.")
        return found.account

    def done(self, long: str) -> None:
        """Forget a computer, which has its ticket, or gets none."""
        key = digest(long)
        self._signed_in.pop(key, None)
        self._drop(key)

    def read(self, code: str, household: str, now: float) -> WaitingDevice:
        """The computer with a short code.

        Args:
            code: As somebody typed it.
            household: Where they are.
            now: Unix seconds.

        Raises:
            SignInError: there is none, or they have tried too often.
        """
        self._forget(now)
        found = self._by_code.get(code)
        if found is None:
            raise self._unknown(household, now)
        return self._waiting[found]

    def let_in(self, code: str, account: bytes, now: float) -> None:
        """Let a computer in; the first answer counts.

        Args:
            code: Its short one.
            account: Whose it becomes.
            now: Unix seconds.
        """
        key = self._by_code.pop(code, None)
        if key is not None:
            self._signed_in[key] = replace(self._waiting.pop(key), account=account, until=now + SIGNED_IN_S)
            if len(self._signed_in) > SIGNED_IN_MAX:
                del self._signed_in[_oldest_of_most(self._signed_in)]

    def refuse(self, code: str, why: SignInError) -> None:
        """Let a computer not in; the first answer counts.

        Args:
            code: Its short one; one that is not known any more is passed over.
            why: What its program is told.
        """
        key = self._by_code.pop(code, None)
        if key is not None:
            self._waiting[key] = replace(self._waiting[key], refused=why)

    def _drop(self, key: bytes) -> None:
        """Forget a computer whose person has not signed in."""
        if (gone := self._waiting.pop(key, None)) is not None:
            self._by_code.pop(gone.code, None)

    def _unknown(self, household: str, now: float) -> SignInError:
        """What a wrong code is answered, which counts against its household."""
        if self._guesses.admits(household, now):
            return SignInError("expired_token", "This code has ended, or is not one. Sign in again.")
        return SignInError("too_often", "Too many tries. Wait for some minutes.")

    def _forget(self, now: float) -> None:
        """Drop those whose time is over; they stand in the order of their ends."""
        while self._waiting and (oldest := next(iter(self._waiting.items())))[1].until < now:
            self._drop(oldest[0])
        while self._signed_in and (first := next(iter(self._signed_in.items())))[1].until < now:
            del self._signed_in[first[0]]


def _oldest_of_most(waiting: Mapping[bytes, WaitingDevice]) -> bytes:
    """The oldest computer of the household that has most of them."""
    numbers = Counter(one.household for one in waiting.values())
    return max(waiting, key=lambda key: numbers[waiting[key].household])  # of equal ones the first


def typed(code: str) -> str:
    """A short code as it is kept, from what somebody typed; empty: it cannot be one."""
    kept = "".join(letter for letter in code.upper() if letter.isalnum())
    return kept if len(kept) == CODE_LETTERS and not set(kept) - set(LETTERS) else ""


def shown(code: str) -> str:
    """A short code as people read it; an empty one stays so."""
    return f"{code[:4]}-{code[4:]}" if code else ""
