"""Teams, and what people have chosen."""

import sqlalchemy as sa
from alembic.operations import Operations


def upgrade(op: Operations) -> None:
    """Make both tables and their index."""
    op.create_table(
        "team",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("founder", sa.LargeBinary(16), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_team"),
        sa.UniqueConstraint("name", name="uq_team_name"),
    )
    op.create_table(
        "member",
        sa.Column("account", sa.LargeBinary(16), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("team", sa.Integer(), nullable=True),
        sa.Column("exported", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("account", name="pk_member"),
        sa.UniqueConstraint("number", name="uq_member_number"),
        sa.ForeignKeyConstraint(["team"], ["team.number"], ondelete="SET NULL", name="fk_member_team_team"),
    )
    op.create_index("ix_member_team", "member", ["team"])
