"""The database of the site, on SQLite and, where it is installed, on PostgreSQL."""

import asyncio
import os
import shutil
import socket
import sqlite3
import stat
import subprocess
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import URL, Connection, Engine, event, func, make_url, select
from sqlalchemy.exc import DataError, IntegrityError

from core.base.problems import BadInput
from core.site import database, history, migrations, teams
from core.site.database import FILE, Database, DatabaseProblem, database_url
from core.site.tables import METADATA, AccountState, account, credential

SERVER = next((path for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)


@pytest.fixture(scope="module")
def postgres() -> Iterator[URL]:
    """A server of its own, which ends with this file."""
    if SERVER is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    with tempfile.TemporaryDirectory() as folder, socket.socket() as held:
        user: dict[str, str] = {}
        if os.getuid() == 0:  # the server refuses to run as root
            user = {"user": "postgres"}
            shutil.chown(folder, "postgres")
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        held.close()

        def run(program: str, *words: str) -> None:
            where = {"cwd": "/", "stdout": subprocess.DEVNULL}
            subprocess.run([SERVER / program, "-D", f"{folder}/data", *words], check=True, **where, **user)

        run("initdb", "-A", "trust", "-U", "potluck", "--no-sync")
        run("pg_ctl", "-w", "-l", f"{folder}/log", "-o", f"-p {port} -k {folder} -h 127.0.0.1", "start")
        yield make_url(f"postgresql+psycopg://potluck@127.0.0.1:{port}/postgres")
        run("pg_ctl", "-m", "immediate", "stop")


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> URL:
    if request.param == "sqlite":
        return database_url("", tmp_path)
    url: URL = request.getfixturevalue("postgres")

    async def emptied(here: Database) -> None:
        await here.do(lambda connection: connection.exec_driver_sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public"))

    using(url, emptied)
    return url


def using(url: URL, test: Callable[[Database], Awaitable[None]]) -> None:
    async def run() -> None:
        here = Database(url)
        try:
            await test(here)
        finally:
            here.close()

    asyncio.run(run())


def entered(number: int) -> Callable[[Connection], None]:
    def act(connection: Connection) -> None:
        values = {"id": number.to_bytes(16, "big"), "name": f"one {number}", "created": 1e9 + number}
        connection.execute(account.insert().values(state=AccountState.ACTIVE, **values))

    return act


def count(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(account)).scalar_one()


def test_migrations_make_the_tables_that_are_declared(url: URL) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    async def test(here: Database) -> None:
        differences = await here.do(lambda it: compare_metadata(MigrationContext.configure(it), METADATA))
        assert [one for one in differences if "schema_version" not in str(one)] == []
        assert {history.person_day.name, teams.team.name} < METADATA.tables.keys()

    using(url, test)


def test_what_was_written_is_there_after_a_restart(url: URL) -> None:
    async def write(here: Database) -> None:
        await asyncio.gather(*(here.do(entered(number)) for number in range(200)))

    async def read(here: Database) -> None:
        assert await here.do(count) == 200
        row = (await here.do(lambda it: it.execute(select(account).where(account.c.name == "one 7")).all()))[0]
        assert (row.id, row.name, row.created) == ((7).to_bytes(16, "big"), "one 7", 1e9 + 7)

    using(url, write)
    using(url, read)


def test_failure_undoes_its_own_transaction_only(url: URL) -> None:
    def failing(connection: Connection) -> None:
        entered(5)(connection)
        raise ZeroDivisionError

    async def test(here: Database) -> None:
        await here.do(entered(1))
        acts = [entered(2), entered(1), failing, entered(3)]
        outcomes = await asyncio.gather(*map(here.do, acts), return_exceptions=True)
        assert [type(one) for one in outcomes] == [type(None), IntegrityError, ZeroDivisionError, type(None)]
        assert await here.do(count) == 3

    using(url, test)


def test_text_that_cannot_be_kept_fails_its_own_transaction_only(url: URL) -> None:
    def nul(connection: Connection) -> None:
        values = {"id": bytes(16), "name": "A\0da", "state": AccountState.ACTIVE, "created": 1e9}
        connection.execute(account.insert().values(**values))

    async def test(here: Database) -> None:
        outcomes = await asyncio.gather(*map(here.do, [entered(1), nul, entered(2)]), return_exceptions=True)
        refused = type(None) if url.drivername == "sqlite" else DataError
        assert [type(one) for one in outcomes] == [type(None), refused, type(None)]

    using(url, test)


def test_account_takes_all_that_is_its_own_along(url: URL) -> None:
    def known(connection: Connection) -> None:
        values = {"kind": "passphrase", "issuer": "", "subject": "ada", "secret": ""}
        connection.execute(credential.insert().values(account=(1).to_bytes(16, "big"), **values))

    async def test(here: Database) -> None:
        with pytest.raises(IntegrityError):
            await here.do(known)
        await here.do(entered(1))
        await here.do(known)
        await here.do(lambda connection: connection.execute(account.delete()).rowcount)
        assert await here.do(lambda it: it.execute(select(credential)).all()) == []

    using(url, test)


def test_transactions_that_wait_are_committed_together(tmp_path: Path) -> None:
    commits: list[int] = []
    gate, begun = threading.Event(), threading.Event()

    def held(_: Connection) -> None:
        begun.set()
        gate.wait()

    async def test(here: Database) -> None:
        await here.do(count)
        event.listen(Engine, "commit", lambda _: commits.append(1))
        first = asyncio.create_task(here.do(held))
        await asyncio.to_thread(begun.wait)
        others = [asyncio.create_task(here.do(entered(number))) for number in range(database.QUEUE_MAX + 3)]
        await asyncio.sleep(0)
        gate.set()
        outcomes = await asyncio.gather(first, *others, return_exceptions=True)
        refused = [one for one in outcomes if isinstance(one, DatabaseProblem)]
        assert [one.code for one in refused] == ["database.busy"] * 3
        assert len(commits) == 1 + database.QUEUE_MAX // database.GROUP_MAX

    using(database_url("", tmp_path), test)


def test_database_that_is_deleted_is_gone_until_it_is_back(tmp_path: Path) -> None:
    url, file = database_url("", tmp_path), tmp_path / FILE

    async def test(here: Database) -> None:
        await here.do(entered(1))
        moved = file.rename(tmp_path / "elsewhere")
        for _ in range(2):
            with pytest.raises(DatabaseProblem) as raised:
                await here.do(entered(2))
            assert raised.value.code == "database.gone"
        assert not file.exists()
        moved.rename(file)
        await here.do(entered(3))
        assert await here.do(count) == 2

    using(url, test)


def test_locked_database_is_told_and_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "WAIT_S", 0.05)
    url = database_url("", tmp_path)

    async def test(here: Database) -> None:
        await here.do(entered(1))
        other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseProblem) as raised:
            await here.do(entered(2))
        assert raised.value.code == "database.locked"
        other.execute("ROLLBACK")
        other.close()
        await here.do(entered(2))

    using(url, test)


def test_newer_database_is_refused_and_left_alone(url: URL, monkeypatch: pytest.MonkeyPatch) -> None:
    async def made(here: Database) -> None:
        await here.do(entered(1))

    async def refused(here: Database) -> None:
        with pytest.raises(DatabaseProblem) as raised:
            await here.do(count)
        assert raised.value.code == "database.newer"

    using(url, made)
    with monkeypatch.context() as patch:
        patch.setattr(database, "MIGRATIONS", ())
        using(url, refused)

    async def same(here: Database) -> None:
        assert await here.do(count) == 1

    using(url, same)


def test_older_database_gets_what_is_missing(url: URL, monkeypatch: pytest.MonkeyPatch) -> None:
    async def older(here: Database) -> None:
        await here.do(lambda it: it.exec_driver_sql("CREATE TABLE kept (n INTEGER)"))
        await here.do(lambda it: it.exec_driver_sql("INSERT INTO kept VALUES (7)"))

    async def newer(here: Database) -> None:
        await here.do(entered(1))
        assert await here.do(lambda it: it.exec_driver_sql("SELECT n FROM kept").scalar_one()) == 7

    with monkeypatch.context() as patch:
        patch.setattr(database, "MIGRATIONS", ())
        patch.setattr(migrations, "MIGRATIONS", ())
        using(url, older)
    using(url, newer)


@pytest.mark.parametrize("content", [b"not a database at all" * 400, b"SQLite format 3\x00" + b"\x00" * 4000])
def test_damaged_database_is_told_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)

    async def test(here: Database) -> None:
        with pytest.raises(DatabaseProblem) as raised:
            await here.do(count)
        assert raised.value.code == "database.damaged"

    using(database_url("", tmp_path), test)
    assert (tmp_path / FILE).read_bytes() == content


def test_server_that_is_away_is_told_without_its_password() -> None:
    async def test(here: Database) -> None:
        with pytest.raises(DatabaseProblem) as raised:
            await here.do(count)
        assert raised.value.code == "database.away"
        assert "hunter2" not in str(raised.value)

    using(database_url("postgresql://ada:hunter2@127.0.0.1:1/potluck", Path()), test)


@pytest.mark.parametrize("address", ["sqlite:///x", "mysql://a/b", "postgresql://hunter2@", "hunter2", "//:hunter2@/"])
def test_other_addresses_are_refused_without_repeating_them(address: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as raised:
        database_url(address, tmp_path)
    assert "hunter2" not in str(raised.value)


def test_file_is_nobody_elses(tmp_path: Path) -> None:
    using(database_url("", tmp_path), lambda here: here.do(entered(1)))
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {FILE: 0o600}
