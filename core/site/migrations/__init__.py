"""What has changed in the tables since the first version, one module for each change, in order.

The number of changes that a database has had stands in its table `schema_version`.  Alembic makes them, on SQLite and
on PostgreSQL alike, and is imported for that only.
"""

from importlib import import_module
from typing import Final

from sqlalchemy import Column, Connection, Integer, MetaData, Table, inspect, select

MIGRATIONS: Final = ("accounts", "days", "teams")
"""Names of the modules, the first one first.  A new one comes last; one that is on `main` never changes."""

_VERSION: Final = Table("schema_version", MetaData(), Column("number", Integer, primary_key=True, autoincrement=False))


def version_of(connection: Connection) -> int:
    """Number of changes that the database has had; 0: it is empty."""
    if not inspect(connection).has_table(_VERSION.name):
        return 0
    return int(connection.execute(select(_VERSION.c.number)).scalar_one())


def upgrade(connection: Connection) -> None:
    """Make the changes that are missing, in the transaction that is open."""
    from alembic.migration import MigrationContext  # noqa: PLC0415 - 11 MiB, and most starts need none
    from alembic.operations import Operations  # noqa: PLC0415

    operations = Operations(MigrationContext.configure(connection))
    known = version_of(connection)
    for name in MIGRATIONS[known:]:
        import_module(f"{__name__}.{name}").upgrade(operations)
    _VERSION.create(connection, checkfirst=True)
    connection.execute(_VERSION.delete())
    connection.execute(_VERSION.insert().values(number=len(MIGRATIONS)))
