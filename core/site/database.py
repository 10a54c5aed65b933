"""The site's database: SQLite in the charter's folder, or PostgreSQL by its address.

One thread has the one connection, so nothing here happens at the same time as something else, and what a transaction
has read holds until it ends.  What waits meanwhile is committed together: one sync of the disk for all of it.  Nobody
trains, joins by an invitation or renews a pass by this database; where it cannot be used, each call raises a
`DatabaseProblem` with a sentence, and the next one tries again.

To add tables: declare them in a module of their own with `METADATA` of `core.site.tables`, as the tables there; write a
module with a function `upgrade(op)` that makes them in `core/site/migrations`, and add its name to the end of
`MIGRATIONS` there.  Where somebody else has added one meanwhile, yours comes behind it.  Columns have bounds, moments
are Unix seconds (`Named[float]`), and `tests/unit/site/test_database.py` holds the tables against the migrations.
To use them: `await database.do(act)`, where `act` takes a `Connection`, runs in the database's thread, and may raise.
"""

import asyncio
import logging
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, NoSuchModuleError
from sqlalchemy.pool import NullPool

from core.base.problems import BadInput, Problem, Sentence
from core.site.migrations import MIGRATIONS, upgrade, version_of

_LOG = logging.getLogger(__name__)

Result = TypeVar("Result")
Act = Callable[[Connection], Any]

FILE: Final = "site.sqlite"
QUEUE_MAX: Final = 256
"""Number of transactions that wait; a further one is refused."""
GROUP_MAX: Final = 64
"""Number of transactions that are committed together."""
WAIT_S: Final = 5
"""Seconds for a connection, and for a lock that another program has."""
STATEMENT_S: Final = 20
"""Seconds for one statement of PostgreSQL's."""
_LOCKED: Final = ("locked", "timeout")
_DAMAGED: Final = ("malformed", "not a database")
_FULL: Final = ("is full", "No space left")


class DatabaseProblem(Problem):
    """The database cannot be used at present.

    Args:
        why: Completes the code `database.WHY`.
        message: The same as a sentence.
        hint: What to do.
    """

    def __init__(self, why: str, message: str, /, *values: object, hint: str | Sentence = "") -> None:
        super().__init__(message, *values, hint=hint)
        self.code = f"database.{why}"


def database_url(address: str, folder: Path) -> URL:
    """Where the database is.

    Args:
        address: PostgreSQL's, as an organiser gives it; empty: a file in the folder.
        folder: The charter's.

    Raises:
        BadInput: it is not an address of a database that can be used here.
    """
    if not address:
        return URL.create("sqlite", database=str(folder / FILE))
    hint = "For example: --database postgresql://potluck@localhost/potluck"
    try:
        url = make_url(address)
    except (ArgumentError, ValueError) as error:  # the error repeats the address, which may have a password
        raise BadInput("This is not the address of a database.", hint=hint) from error
    if url.drivername not in {"postgresql", "postgres"} or not url.database:
        raise BadInput("This is not the address of a database of PostgreSQL's.", hint=hint)
    return url.set(drivername="postgresql+psycopg")


class Database:
    """Runs transactions one after another, in a thread of its own, from the first one on.

    Args:
        url: From `database_url`.
    """

    def __init__(self, url: URL) -> None:
        self._file = Path(url.database or "") if url.drivername == "sqlite" else None
        self._place = url.render_as_string(hide_password=True) if self._file is None else str(self._file)
        self._url = url
        self._engine: Engine | None = None
        self._connection: Connection | None = None
        self._identity: tuple[int, int] | None = None
        """Device and number of SQLite's file, once it was opened."""
        self._waiting = queue.Queue[tuple[Act, Future[Any]] | None](QUEUE_MAX)
        self._thread: threading.Thread | None = None

    async def do(self, act: Callable[[Connection], Result]) -> Result:
        """Run one transaction; what it returns is on the disk then.

        Args:
            act: Reads and writes; what it raises undoes it, and nothing else.

        Raises:
            DatabaseProblem: the database cannot be used; perhaps nothing of it was written.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="database", daemon=True)
            self._thread.start()
        future = Future[Result]()
        try:
            self._waiting.put_nowait((act, future))
        except queue.Full:
            raise DatabaseProblem("busy", "The database is busy.", hint="Try again in a minute.") from None
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Finish what waits, and end the thread."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        last = False
        while not last:
            waiting = [self._waiting.get()]
            while len(waiting) < GROUP_MAX and not self._waiting.empty():
                waiting.append(self._waiting.get_nowait())
            last = None in waiting
            group = [one for one in waiting if one is not None and one[1].set_running_or_notify_cancel()]
            if group:
                self._commit(group)
        self._disconnect()

    def _commit(self, group: list[tuple[Act, Future[Any]]]) -> None:
        """Run some transactions as one; each of them fails alone, or all of them with the database."""
        outcomes: list[tuple[Any, BaseException | None]] = []
        try:
            connection = self._connected()
            with connection.begin():
                outcomes = [self._outcome(connection, act) for act, _ in group]
        except Exception as error:  # noqa: BLE001 - a mistake of a driver costs this group, not the thread
            self._disconnect()
            problem = error if isinstance(error, Problem) else self._problem(error)
            _LOG.warning("the database cannot be used: %s (%s)", problem, type(error).__name__)
            outcomes = [(None, problem)] * len(group)
        for (_, future), (result, failure) in zip(group, outcomes, strict=True):
            if failure is None:
                future.set_result(result)
            else:
                future.set_exception(failure)

    @staticmethod
    def _outcome(connection: Connection, act: Act) -> tuple[Any, BaseException | None]:
        try:
            with connection.begin_nested():
                return act(connection), None
        except DBAPIError as error:
            if not isinstance(error, IntegrityError | DataError):
                raise
            return None, error
        except Exception as error:  # noqa: BLE001 - the caller's own, which it gets
            return None, error

    def _connected(self) -> Connection:
        """The connection to a database with today's tables.

        Raises:
            DatabaseProblem: a newer version has made it, or its file is gone.
        """
        if self._connection is not None and (self._file is None or _identity(self._file) == self._identity):
            return self._connection
        self._disconnect()
        if self._file is not None:
            if self._identity is not None and not self._file.exists():
                hint = "Bring back a copy of it, or start the backbone again to begin with an empty one."
                raise DatabaseProblem("gone", "The database {file} is gone.", self._file, hint=hint)
            os.close(os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600))
        if self._engine is None:
            self._engine = _engine(self._url)
        self._connection = self._engine.connect()
        with self._connection.begin():
            known = version_of(self._connection)
            if known > len(MIGRATIONS):
                newer = "A newer version of Potluck has made the database {place}."
                raise DatabaseProblem("newer", newer, self._place, hint="Update Potluck here.")
            if known < len(MIGRATIONS):
                if self._file is None:
                    self._connection.execute(text("SELECT pg_advisory_xact_lock(8420)"))  # two that start at once
                upgrade(self._connection)
        self._identity = None if self._file is None else _identity(self._file)
        return self._connection

    def _disconnect(self) -> None:
        """Give the connection up, whatever state it is in."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except Exception as error:  # noqa: BLE001 - it is broken, which is why it is closed
                _LOG.debug("a connection did not close: %s", error)

    def _problem(self, error: Exception) -> DatabaseProblem:
        """What a driver says, in a sentence that does not repeat it: it may have a password."""
        said = str(getattr(error, "orig", error))
        if any(word in said for word in _DAMAGED):
            damaged = "The database {place} is damaged."
            return DatabaseProblem("damaged", damaged, self._place, hint="Bring back a copy of it.")
        if any(word in said for word in _FULL):
            return DatabaseProblem("full", "The disk of the database {place} is full.", self._place)
        if any(word in said for word in _LOCKED) and isinstance(error, DBAPIError):
            locked = "Another program has locked the database {place}."
            return DatabaseProblem("locked", locked, self._place, hint="End that program.")
        hint = "" if self._file is not None else "See that PostgreSQL runs there and lets Potluck in."
        return DatabaseProblem("away", "The database {place} cannot be used.", self._place, hint=hint)


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def _engine(url: URL) -> Engine:
    """What makes connections, each prepared for its kind of database.

    Raises:
        DatabaseProblem: its driver is not installed.
    """
    if url.drivername != "sqlite":
        options = f"-c statement_timeout={STATEMENT_S * 1000} -c lock_timeout={WAIT_S * 1000}"
        arguments = {"connect_timeout": WAIT_S, "options": options, "application_name": "potluck"}
        try:
            return create_engine(url, poolclass=NullPool, connect_args=arguments)
        except (ImportError, NoSuchModuleError) as error:
            hint = 'Install it: pip install "potluck[organiser]"'
            raise DatabaseProblem("driver", "PostgreSQL needs psycopg.", hint=hint) from error
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": WAIT_S, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def prepare(raw: Any, _: object) -> None:
        raw.isolation_level = None  # sqlite3 begins no transactions of its own, so that savepoints work
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "trusted_schema=OFF"):
            raw.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine
