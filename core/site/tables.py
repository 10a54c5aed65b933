"""Accounts, their credentials, sessions and requests, as the database has them.

What must outlive this database is elsewhere: keys and names of members in the backbone's admission log, decisions in
signed records.  So an account here is somebody who can sign in; whose computers are whose, the admission log says.
"""

from enum import StrEnum
from typing import Final

from sqlalchemy import Column, ForeignKey, LargeBinary, MetaData, Named, String, Table, TypedColumns

METADATA: Final = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_label)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)
"""All tables; a name for each constraint, so that a migration can change it."""

ACCOUNT_BYTES: Final = 16
NAME_LETTERS: Final = 40
SUBJECT_LETTERS: Final = 255
WORDS_LETTERS: Final = 500
REASON_LETTERS: Final = 300


class AccountState(StrEnum):
    """Whether somebody who signs in gets a ticket."""

    ACTIVE = "active"
    ASKED = "asked"
    """A moderator has not answered yet."""
    DENIED = "denied"


class AccountColumns(TypedColumns):
    """Somebody who can sign in, by one credential or several."""

    id: Named[bytes] = Column(LargeBinary(ACCOUNT_BYTES), primary_key=True)
    """Random.  The admission log notes it beside each key that a ticket of this account has let in."""
    name: Named[str] = Column(String(NAME_LETTERS))
    """The wished one; the admission log says which one it became."""
    state: Named[str] = Column(String(8))
    created: Named[float]
    """Unix seconds, as all moments here."""


class CredentialColumns(TypedColumns):
    """The proof by which an account is known: a passphrase, or a subject of an issuer."""

    kind: Named[str] = Column(String(16), primary_key=True)
    """The way in."""
    issuer: Named[str] = Column(String(255), primary_key=True)
    """Who says so; empty: this site."""
    subject: Named[str] = Column(String(SUBJECT_LETTERS), primary_key=True)
    """The person, in the words of the issuer, which never change and are never given to another."""
    account: Named[bytes] = Column(LargeBinary(ACCOUNT_BYTES), ForeignKey("account.id", ondelete="CASCADE"), index=True)
    secret: Named[str] = Column(String(255))
    """Argon2's digest of a passphrase; empty: the issuer keeps the secret."""


class SessionColumns(TypedColumns):
    """A browser that is signed in; its cookie has the secret, this table the digest."""

    digest: Named[bytes] = Column(LargeBinary(32), primary_key=True)
    account: Named[bytes | None] = Column(
        LargeBinary(ACCOUNT_BYTES), ForeignKey("account.id", ondelete="CASCADE"), index=True
    )
    moderator: Named[bytes | None] = Column(LargeBinary(32))
    """The key of a moderator, who needs no account."""
    created: Named[float]
    expires: Named[float]
    token: Named[str] = Column(String(32))
    """What each form of this session says."""


class RequestColumns(TypedColumns):
    """Somebody asks to be let in, and what a moderator said."""

    id: Named[int] = Column(primary_key=True)
    account: Named[bytes] = Column(LargeBinary(ACCOUNT_BYTES), ForeignKey("account.id", ondelete="CASCADE"), index=True)
    words: Named[str] = Column(String(WORDS_LETTERS))
    at: Named[float]
    moderator: Named[str] = Column(String(80))
    """Who answered; empty: nobody yet."""
    decision: Named[str] = Column(String(8))
    """`AccountState` that the account got; empty: none yet."""
    reason: Named[str] = Column(String(REASON_LETTERS))


account: Final = Table("account", METADATA, AccountColumns)
credential: Final = Table("credential", METADATA, CredentialColumns)
session: Final = Table("session", METADATA, SessionColumns)
request: Final = Table("request", METADATA, RequestColumns)
