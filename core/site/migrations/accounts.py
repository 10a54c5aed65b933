"""The first tables: accounts, credentials, sessions, requests."""

import sqlalchemy as sa
from alembic.operations import Operations


def upgrade(op: Operations) -> None:
    """Make the four tables and their indexes."""
    op.create_table(
        "account",
        sa.Column("id", sa.LargeBinary(16), nullable=False),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_account"),
    )
    op.create_table(
        "credential",
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("issuer", sa.String(255), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("account", sa.LargeBinary(16), nullable=False),
        sa.Column("secret", sa.String(255), nullable=False),
        sa.PrimaryKeyConstraint("kind", "issuer", "subject", name="pk_credential"),
        _of_account("credential"),
    )
    op.create_table(
        "session",
        sa.Column("digest", sa.LargeBinary(32), nullable=False),
        sa.Column("account", sa.LargeBinary(16), nullable=True),
        sa.Column("moderator", sa.LargeBinary(32), nullable=True),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.Column("token", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_session"),
        _of_account("session"),
    )
    op.create_table(
        "request",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("account", sa.LargeBinary(16), nullable=False),
        sa.Column("words", sa.String(500), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("moderator", sa.String(80), nullable=False),
        sa.Column("decision", sa.String(8), nullable=False),
        sa.Column("reason", sa.String(300), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_request"),
        _of_account("request"),
    )
    for table in ("credential", "session", "request"):
        op.create_index(f"ix_{table}_account", table, ["account"])


def _of_account(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_account_account"
    return sa.ForeignKeyConstraint(["account"], ["account.id"], ondelete="CASCADE", name=name)
