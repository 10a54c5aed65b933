"""Sessions of browsers, in the database: of people who have accounts, and of moderators, who need none."""

import secrets
from typing import Final, NamedTuple

from sqlalchemy import Connection, delete, insert, select

from core.site.browser import SESSION_S, digest
from core.site.tables import session

OF_ONE_MAX: Final = 10
"""Number of sessions of one person; the oldest makes way."""


class BrowserSession(NamedTuple):
    """A browser that is signed in.

    Attributes:
        account: Whose it is; None: a moderator's.
        moderator: The key of a moderator; None: nobody's.
        token: What its forms say.
        digest: Of what its cookie says.
    """

    account: bytes | None
    moderator: bytes | None
    token: str
    digest: bytes


def begin_session(
    connection: Connection,
    now: float,
    *,
    account: bytes | None = None,
    moderator: bytes | None = None,
    seconds: float = SESSION_S,
) -> str:
    """Sign a browser in; returns what its cookie says, always anew.

    Args:
        connection: To the database.
        now: Unix seconds.
        account: Whose it is.
        moderator: Or whose key.
        seconds: How long it lasts.
    """
    value = secrets.token_urlsafe(32)
    connection.execute(delete(session).where(session.c.expires < now))
    own = session.c.account == account if moderator is None else session.c.moderator == moderator
    found = select(session.c.digest).where(own).order_by(session.c.created.desc()).offset(OF_ONE_MAX - 1)
    older = connection.execute(found).scalars().all()
    connection.execute(delete(session).where(session.c.digest.in_(older)))
    kept = {"account": account, "moderator": moderator, "token": secrets.token_hex(16)}
    connection.execute(insert(session).values(digest=digest(value), created=now, expires=now + seconds, **kept))
    return value


def session_of(connection: Connection, value: str, now: float) -> BrowserSession | None:
    """The session of a cookie; None: there is none, or its time is over.

    Args:
        connection: To the database.
        value: What the cookie says.
        now: Unix seconds.
    """
    columns = (session.c.account, session.c.moderator, session.c.token, session.c.digest)
    found = select(*columns).where(session.c.digest == digest(value), session.c.expires >= now)
    row = connection.execute(found).one_or_none()
    return None if row is None else BrowserSession(*row)


def end_session(connection: Connection, of: BrowserSession) -> None:
    """Sign a browser out, at the server as well."""
    connection.execute(delete(session).where(session.c.digest == of.digest))
