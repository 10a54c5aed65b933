"""Days of people, and the ledger of which they were made."""

import sqlalchemy as sa
from alembic.operations import Operations


def upgrade(op: Operations) -> None:
    """Make both tables and their index."""
    op.create_table(
        "person_day",
        sa.Column("account", sa.LargeBinary(16), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("samples", sa.BigInteger(), nullable=False),
        sa.Column("undone", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("account", "day", name="pk_person_day"),
    )
    op.create_index("ix_person_day_day", "person_day", ["day"])
    op.create_table(
        "ledger_seen",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("origin", sa.String(16), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_ledger_seen"),
    )
