"""Accounts: who somebody is by what a way in has proven, and whether that lets them in."""

import secrets
from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy import Connection, delete, func, insert, select, update

from core.base.content import digest
from core.base.site.requests import WaitingPerson
from core.base.site.ways import Admit
from core.site.tables import (
    ACCOUNT_BYTES,
    NAME_LETTERS,
    REASON_LETTERS,
    SUBJECT_LETTERS,
    WORDS_LETTERS,
    AccountState,
    account,
    credential,
    request,
    session,
)

ACCOUNTS_MAX: Final = 1_000_000
OPEN_MAX: Final = 10_000
"""Number of requests that wait for a moderator."""
WAITING_SHOWN_MAX: Final = 1000
AGAIN_S: Final = 86_400.0
"""Seconds after which somebody who was denied may ask again."""
_LEFT: Final = "left:"
"""Begins the subjects of accounts that were taken out; `_left` makes them."""


class SignInError(Exception):
    """Somebody does not get in.

    Args:
        error: wrong_credentials, not_listed, asked, denied, full, away, expired, or another word of the protocol's.
        words: Why, and what to do, as sentences.
    """

    def __init__(self, error: str, words: str) -> None:
        super().__init__(words)
        self.error = error
        self.words = words


class ProvenPerson(NamedTuple):
    """Somebody, as a way in has proven it.

    Attributes:
        kind: The way in.
        issuer: Who says so; empty: this site.
        subject: Whom it means.
        name: A wish, for a new account.
        aliases: Names, chosen by themselves, by which a list may know them; case does not count.
        organisations: Those that the issuer says they are members of.
    """

    kind: str
    issuer: str
    subject: str
    name: str
    aliases: Sequence[str] = ()
    organisations: Sequence[str] = ()


class Account(NamedTuple):
    """Somebody who can sign in, and what a moderator has said.

    Attributes:
        id: The database's.
        name: The wished one.
        state: Whether a ticket is given.
        reason: Of the last moderator's answer; empty: there was none.
    """

    id: bytes
    name: str
    state: AccountState
    reason: str = ""

    @property
    def refusal(self) -> SignInError | None:
        """Why this account gets no ticket; None: it gets one."""
        if self.state is AccountState.ASKED:
            return SignInError("asked", "A moderator has not answered yet. Potluck goes on asking.")
        if self.state is AccountState.DENIED:
            return SignInError("denied", f"A moderator has said no. {self.reason}".strip())
        return None


def check_listed(identity: ProvenPerson, admit: Admit, listed: Sequence[str], organisations: Sequence[str]) -> None:
    """Refuse somebody who is not listed, where only listed people come in.

    A line of digits means a subject, never a name: anybody can choose a name of digits.

    Raises:
        SignInError: so it is.
    """
    wanted, own = {each.casefold() for each in organisations}, {each.casefold() for each in identity.organisations}
    names = {each.casefold() for each in identity.aliases if not each.isdecimal()}
    known = identity.subject in listed or not names.isdisjoint(each.casefold() for each in listed)
    if admit is Admit.LISTED and not known and not wanted & own:
        raise SignInError("not_listed", "You are not on this collaboration's list. Ask its organiser.")


def find(connection: Connection, kind: str, issuer: str, subject: str) -> tuple[Account, str] | None:
    """An account and its secret, which is empty where the account was taken out; None: nobody has this credential."""
    columns = (account.c.id, account.c.name, account.c.state, credential.c.secret)
    subjects = credential.c.subject.in_((subject, _left(subject)))
    mine = (credential.c.kind == kind, credential.c.issuer == issuer, subjects)
    row = connection.execute(select(*columns).join_from(credential, account).where(*mine)).first()
    return None if row is None else (_account(connection, row[:3]), row[3])


def account_named(connection: Connection, of: bytes) -> Account | None:
    """The account with this number; None: it was taken out."""
    columns = (account.c.id, account.c.name, account.c.state)
    row = connection.execute(select(*columns).where(account.c.id == of)).one_or_none()
    return None if row is None else _account(connection, row)


def enter(
    connection: Connection, identity: ProvenPerson, admit: Admit, now: float, *, secret: str = "", words: str = ""
) -> Account:
    """The account of somebody, made where there is none; of a new one that has to be let in a moderator is asked.

    Args:
        connection: To the database.
        identity: Who it is.
        admit: Who gets in this way.
        now: Unix seconds.
        secret: What the way keeps of a new one's secret.
        words: What a new one says to the moderators.

    Raises:
        SignInError: there are as many as can be.
        IntegrityError: somebody has made the same account meanwhile.
    """
    kind, issuer, subject, *_ = identity
    found = find(connection, kind, issuer, subject)
    wanted = AccountState.ASKED if admit is Admit.ASKED else AccountState.ACTIVE
    if found is not None:
        known, _ = found
        if not known.name:  # it was taken out, and what a moderator has said holds
            known = known._replace(name=identity.name[:NAME_LETTERS])
            connection.execute(update(account).where(account.c.id == known.id).values(name=known.name))
        if known.state is AccountState.ASKED and wanted is AccountState.ACTIVE:
            connection.execute(update(account).where(account.c.id == known.id).values(state=wanted))
            return known._replace(state=wanted)
        return known
    if connection.execute(select(func.count()).select_from(account)).scalar_one() >= ACCOUNTS_MAX:
        raise SignInError("full", "There are as many accounts here as there may be. Ask the organiser.")
    number, name = secrets.token_bytes(ACCOUNT_BYTES), identity.name[:NAME_LETTERS]
    connection.execute(insert(account).values(id=number, name=name, state=wanted, created=now))
    key = {"kind": kind, "issuer": issuer, "subject": subject[:SUBJECT_LETTERS]}
    connection.execute(insert(credential).values(account=number, secret=secret, **key))
    if wanted is AccountState.ASKED:
        _ask(connection, number, words, now)
    return Account(number, name, state=wanted)


def ask_again(connection: Connection, of: Account, words: str, now: float) -> None:
    """Ask the moderators once more, a day after they have said no.

    Raises:
        SignInError: that is too early.
    """
    last = select(func.max(request.c.at)).where(request.c.account == of.id)
    if of.state is not AccountState.DENIED or now < (connection.execute(last).scalar_one() or 0) + AGAIN_S:
        raise SignInError("too_often", "You can ask again a day after your last request.")
    connection.execute(update(account).where(account.c.id == of.id).values(state=AccountState.ASKED))
    _ask(connection, of.id, words, now)


def answer(connection: Connection, number: int, *, yes: bool, reason: str, moderator: str) -> bool:
    """A moderator's answer to a request; whether it counts: each is answered once.

    Args:
        connection: To the database.
        number: The request's.
        yes: Whether the person is let in.
        reason: What they read.
        moderator: Who answers.
    """
    state = AccountState.ACTIVE if yes else AccountState.DENIED
    said = {"decision": state, "reason": reason[:REASON_LETTERS], "moderator": moderator[:80]}
    mine = (request.c.id == number, request.c.decision == "")
    if connection.execute(update(request).where(*mine).values(**said)).rowcount != 1:
        return False
    of = select(request.c.account).where(request.c.id == number).scalar_subquery()
    connection.execute(update(account).where(account.c.id == of).values(state=state))
    return True


def waiting(connection: Connection) -> tuple[WaitingPerson, ...]:
    """Those who wait for a moderator, who asked first at the beginning; `WAITING_SHOWN_MAX` at most."""
    columns = (request.c.id, account.c.name, request.c.words, request.c.at)
    asked = select(*columns).join_from(request, account).where(request.c.decision == "").order_by(request.c.id)
    return tuple(WaitingPerson(*row) for row in connection.execute(asked.limit(WAITING_SHOWN_MAX)).all())


def take_out(connection: Connection, of: Account, *, shut_out: bool) -> bool:
    """Forget somebody, with all that is kept here: credentials, sessions and requests.

    Where a moderator has said no, the answer stays: the account keeps its number, its state and digests of its
    subjects, so that the same credential finds it again.

    Args:
        connection: To the database.
        of: Whose it is.
        shut_out: Whether the backbone holds something against them.

    Returns:
        Whether all is forgotten.
    """
    state = connection.execute(select(account.c.state).where(account.c.id == of.id)).scalar_one_or_none()
    if state != AccountState.DENIED and not shut_out:
        connection.execute(delete(account).where(account.c.id == of.id))
        return True
    columns = (credential.c.kind, credential.c.issuer, credential.c.subject)
    own = select(*columns).where(credential.c.account == of.id, credential.c.subject.not_like(f"{_LEFT}%"))
    for kind, issuer, subject in connection.execute(own).all():
        one = (credential.c.kind == kind, credential.c.issuer == issuer, credential.c.subject == subject)
        connection.execute(update(credential).where(*one).values(subject=_left(subject), secret=""))
    connection.execute(update(account).where(account.c.id == of.id).values(name=""))
    connection.execute(update(request).where(request.c.account == of.id).values(words=""))
    connection.execute(delete(session).where(session.c.account == of.id))
    return False


def _left(subject: str) -> str:
    """What is kept of the subject of somebody who has left."""
    return _LEFT + digest(subject.encode()).hex()


def _ask(connection: Connection, of: bytes, words: str, now: float) -> None:
    waiting = select(func.count()).select_from(request).where(request.c.decision == "")
    if connection.execute(waiting).scalar_one() >= OPEN_MAX:
        raise SignInError("full", "Too many people wait for a moderator. Try again another day.")
    values = {"account": of, "words": words[:WORDS_LETTERS], "at": now, "moderator": "", "decision": "", "reason": ""}
    connection.execute(insert(request).values(**values))


def _account(connection: Connection, row: Sequence[object]) -> Account:
    number, name, state = row
    assert isinstance(number, bytes)
    last = select(request.c.reason).where(request.c.account == number).order_by(request.c.id.desc()).limit(1)
    reason = connection.execute(last).scalar_one_or_none() or ""
    return Account(number, str(name), state=AccountState(str(state)), reason=reason)
