"""A name and a passphrase, of which this site keeps Argon2's digest.

What the worst stranger gains: `EVERY_S` lets a household try one passphrase a second, `NAME_S` one for each name in ten
seconds, `NAMED_S` all households together one for each name a second, so that one of them locks no owner out, and
`QUEUE_MAX` tries wait for one thread.  A name that nobody has takes as long as another, and the answer is the same.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from core.base.names import check_name, looks
from core.base.problems import BadInput
from core.base.rate_limit import RateLimit
from core.base.site.ways import Admit
from core.site.accounts import Account, ProvenPerson, SignInError, enter, find
from core.site.browser import digest
from core.site.database import Database

Result = TypeVar("Result")

KIND: Final = "passphrase"
LETTERS_MIN: Final = 12
LETTERS_MAX: Final = 200
NAME_LETTERS_MAX: Final = 40
EVERY_S: Final = 1.0
EVERY_BURST: Final = 5
"""Tries of one household: one a second, and a few for those who mistype."""
NAME_S: Final = 10.0
NAME_BURST: Final = 30
"""Tries of one household for one name."""
NAMED_S: Final = 1.0
NAMED_BURST: Final = 300
"""Tries of all households for one name: ten of them together lock its owner out."""
NEW_S: Final = 600.0
NEW_BURST: Final = 100
"""New accounts of one household: a lecture comes at once.  Each may be a request that a moderator has to read: of those
`WAITING_SHOWN_MAX` are shown, which one household makes in a week, and no longer in eight hours."""
HOUSEHOLDS_MAX: Final = 8192
QUEUE_MAX: Final = 32
WRONG: Final = ("wrong_credentials", "There is nobody with this name and this passphrase.")
TOO_OFTEN: Final = ("too_often", "Too many tries. Wait for a minute.")
TOO_MANY: Final = (
    "too_often",
    "Many new people have come from this network. Try again in ten minutes, or from another network.",
)
"""`NEW_S` in words."""


class PassphraseWay:
    """Signs people in by what they know.

    Args:
        database: Keeps the digests.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
        self._nobody = self._hasher.hash("a passphrase that nobody has")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="passphrases")
        self._waiting = 0
        self._tries = RateLimit[str](rate_per_s=1 / EVERY_S, burst=EVERY_BURST)
        self._names = RateLimit[tuple[bytes, str]](rate_per_s=1 / NAME_S, burst=NAME_BURST)
        self._named = RateLimit[bytes](rate_per_s=1 / NAMED_S, burst=NAMED_BURST)
        self._new = RateLimit[str](rate_per_s=1 / NEW_S, burst=NEW_BURST, limit=HOUSEHOLDS_MAX)

    async def known(self, name: str, passphrase: str, *, household: str, now: float) -> Account:
        """The account of somebody who knows its passphrase.

        Args:
            name: As it was typed.
            passphrase: As it was typed.
            household: Where they are.
            now: Unix seconds.

        Raises:
            SignInError: they do not, or try too often.
            DatabaseProblem: the database cannot be used.
        """
        subject = _subject(name)
        each = digest(subject)
        own = self._tries.admits(household, now) and self._names.admits((each, household), now)
        if not own or not self._named.admits(each, now):
            raise SignInError(*TOO_OFTEN)
        found = await self._database.do(lambda connection: find(connection, KIND, "", subject))
        secret = (found and found[1]) or self._nobody
        fits = await self._in_thread(lambda: self._fits(secret, passphrase[: LETTERS_MAX + 1]))
        if found is None or not found[1] or not fits:
            raise SignInError(*WRONG)
        return found[0]

    async def new(self, name: str, passphrase: str, words: str, *, admit: Admit, household: str, now: float) -> Account:
        """A new account.

        Args:
            name: As its person wishes.
            passphrase: As it was typed.
            words: For the moderators.
            admit: Who gets in.
            household: Where they are.
            now: Unix seconds.

        Raises:
            SignInError: the name or the passphrase cannot be used, or there are too many.
            DatabaseProblem: the database cannot be used.
        """
        name = name.strip()
        try:
            check_name(name)
        except BadInput as problem:
            raise SignInError("name", f"{problem.message} {problem.hint}".strip()) from problem
        if not LETTERS_MIN <= len(passphrase) <= LETTERS_MAX:
            raise SignInError(
                "passphrase", f"A passphrase has {LETTERS_MIN} to {LETTERS_MAX} letters: four words will do."
            )
        if not self._new.admits(household, now):
            raise SignInError(*TOO_MANY)
        secret = await self._in_thread(lambda: self._hasher.hash(passphrase))
        identity, taken = (
            ProvenPerson(KIND, "", _subject(name), name),
            SignInError("name", "Somebody has this name already."),
        )

        def made(connection: Connection) -> Account:
            if find(connection, KIND, "", identity.subject) is not None:
                raise taken
            return enter(connection, identity, admit, now, secret=secret, words=words)

        try:
            return await self._database.do(made)
        except IntegrityError:
            raise taken from None

    def close(self) -> None:
        """End the thread that checks passphrases."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _in_thread(self, act: Callable[[], Result]) -> Result:
        """Run what takes 36 ms of a core, one after another."""
        if self._waiting >= QUEUE_MAX:
            raise SignInError("busy", "Too many people sign in just now. Try again in a minute.")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, act)
        finally:
            self._waiting -= 1

    def _fits(self, secret: str, passphrase: str) -> bool:
        try:
            return self._hasher.verify(secret, passphrase)
        except (Argon2Error, InvalidHashError):
            return False


def _subject(name: str) -> str:
    """What is equal for all ways to write a name that look the same."""
    return looks(name.strip()[:NAME_LETTERS_MAX])[-1][:255]
