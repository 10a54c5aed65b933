"""Teams, and what else people who have signed in choose about their page: the rules, and the tables.

A member is named by the account under which the backbone has let its computers in, as the board has it.  Only somebody
whose samples have been counted founds a team, so no stranger makes words that others read; and a team, its founder and
its members are shown once samples of theirs have been counted.  What the worst account gains: one name at a time, which
looks like no other team's.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

import msgspec
from sqlalchemy import Column, Connection, ForeignKey, LargeBinary, Named, String, Table, TypedColumns, func, select

from core.base.names import check_name, looks
from core.base.problems import BadInput
from core.site.database import Database
from core.site.tables import ACCOUNT_BYTES, METADATA, NAME_LETTERS

TEAMS_MAX: Final = 1000
MEMBERS_MAX: Final = 100_000
"""Upper bound on the accounts that have chosen something: more than a ledger has rows."""
NOT_YET: Final = "You can found a team once samples of yours have been counted."
FULL: Final = "There are as many teams as there may be. Join one of them."
TAKEN: Final = "Another team is called so, or nearly so. Choose another name."
UNKNOWN: Final = "There is no such team."
HAS_ONE: Final = "You are in a team. Leave it first."
HAS_NONE: Final = "You are in no team."
FOUNDED: Final = "You look after this team. Hand it over to another member first."
NOT_FOUNDER: Final = "Somebody else looks after this team."
NO_MEMBER: Final = "This person is not in your team."

Account = bytes


class TeamColumns(TypedColumns):
    """A team, which has a member at least."""

    number: Named[int] = Column(primary_key=True, autoincrement=False)
    name: Named[str] = Column(String(NAME_LETTERS), unique=True)
    founder: Named[bytes] = Column(LargeBinary(ACCOUNT_BYTES))
    created: Named[float]


class MemberColumns(TypedColumns):
    """What somebody has chosen who has signed in."""

    account: Named[bytes] = Column(LargeBinary(ACCOUNT_BYTES), primary_key=True)
    number: Named[int] = Column(unique=True)
    """Stands for this person in the statistics export."""
    team: Named[int | None] = Column(ForeignKey("team.number", ondelete="SET NULL"), index=True)
    exported: Named[bool]
    """Whether the statistics export names this person."""


team: Final = Table("team", METADATA, TeamColumns)
member: Final = Table("member", METADATA, MemberColumns)


class TeamError(Exception):
    """What somebody wants is not possible; the argument says why, and what to do."""


class Team(msgspec.Struct, frozen=True):
    """One row of the table of teams."""

    number: int
    name: str
    founder: Account
    """Looks after it: founded it, or was given it by whom it had before."""
    created: float
    """Unix seconds."""


class Choices(msgspec.Struct, frozen=True):
    """What all people have chosen, as it was read last."""

    teams: Mapping[int, Team] = MappingProxyType({})
    """By number, the oldest first."""
    team_of: Mapping[Account, int] = MappingProxyType({})
    exported: Mapping[Account, int] = MappingProxyType({})
    """Numbers of those whom the statistics export names."""


NO_CHOICES: Final = Choices()


class Teams:
    """Keeps what people choose, one act after another.

    Args:
        database: The site's.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.now = NO_CHOICES
        """What was read last: empty, until `read` or an act has succeeded."""

    async def read(self) -> Choices:
        """Read everything anew.

        Raises:
            DatabaseProblem: it cannot be read.
        """
        self.now = await self._database.do(_choices)
        return self.now

    async def found(self, account: Account, name: str, now: float, *, has_given: bool) -> int:
        """Found a team, whose first member is its founder; returns its number.

        Args:
            account: Who founds it.
            name: The team's.
            now: Unix seconds.
            has_given: Whether samples of this account have been counted.

        Raises:
            TeamError: the name cannot be used or is taken, or this account may found none.
            DatabaseProblem: it cannot be written.
        """
        if not has_given:
            raise TeamError(NOT_YET)
        try:
            check_name(name)
        except BadInput as problem:
            raise TeamError(f"{problem} {problem.hint}") from problem
        number: int = await self._database.do(partial(_found, account=account, name=name, now=now))
        await self.read()
        return number

    async def join(self, account: Account, number: int) -> None:
        """Become a member of a team.

        Raises:
            TeamError: there is no such team, or this account has one.
            DatabaseProblem: it cannot be written.
        """
        await self._database.do(partial(_join, account=account, number=number))
        await self.read()

    async def leave(self, account: Account) -> None:
        """Be no member any more; a team without members ends.

        Raises:
            TeamError: this account has no team, or looks after it and is not the only member.
            DatabaseProblem: it cannot be written.
        """
        await self._database.do(partial(_leave, account=account))
        await self.read()

    async def hand_over(self, account: Account, to: Account) -> None:
        """Have another member look after the team.

        Raises:
            TeamError: the first does not look after a team, or the second is not in it.
            DatabaseProblem: it cannot be written.
        """
        await self._database.do(partial(_hand_over, account=account, to=to))
        await self.read()

    async def export(self, account: Account, *, wanted: bool) -> None:
        """Have the statistics export name somebody, or not any more.

        Raises:
            TeamError: more people have chosen something than there can be.
            DatabaseProblem: it cannot be written.
        """
        await self._database.do(partial(_choose, account=account, exported=wanted))
        await self.read()

    async def forget(self, account: Account) -> None:
        """Forget what somebody has chosen; a team that they looked after passes to its member with the lowest number.

        Raises:
            DatabaseProblem: it cannot be written.
        """
        await self._database.do(partial(_forget, account=account))
        await self.read()


def _choices(connection: Connection) -> Choices:
    teams = [Team(*row) for row in connection.execute(select(team).order_by(team.c.number))]
    members = connection.execute(select(member)).all()
    return Choices(
        {one.number: one for one in teams},
        {row.account: row.team for row in members if row.team is not None},
        {row.account: row.number for row in members if row.exported},
    )


def _team_of(connection: Connection, account: Account) -> int | None:
    return connection.execute(select(member.c.team).where(member.c.account == account)).scalar()


def _choose(connection: Connection, account: Account, **chosen: int | bool | None) -> None:
    mine = member.c.account == account
    if connection.execute(member.update().where(mine).values(**chosen)).rowcount:
        return
    number = 1 + (connection.execute(select(func.max(member.c.number))).scalar() or 0)
    if number > MEMBERS_MAX:
        raise TeamError(FULL)
    values = {"account": account, "number": number, "team": None, "exported": False, **chosen}
    connection.execute(member.insert().values(**values))


def _found(connection: Connection, account: Account, name: str, now: float) -> int:
    if _team_of(connection, account) is not None:
        raise TeamError(HAS_ONE)
    known = connection.execute(select(team.c.number, team.c.name)).all()
    if len(known) >= TEAMS_MAX:
        raise TeamError(FULL)
    wanted = set(looks(name))
    if any(not wanted.isdisjoint(looks(one.name)) for one in known):
        raise TeamError(TAKEN)
    number = 1 + max((one.number for one in known), default=0)
    connection.execute(team.insert().values(number=number, name=name, founder=account, created=now))
    _choose(connection, account, team=number)
    return number


def _join(connection: Connection, account: Account, number: int) -> None:
    if _team_of(connection, account) is not None:
        raise TeamError(HAS_ONE)
    if connection.execute(select(team.c.number).where(team.c.number == number)).first() is None:
        raise TeamError(UNKNOWN)
    _choose(connection, account, team=number)


def _leave(connection: Connection, account: Account) -> None:
    number = _team_of(connection, account)
    if number is None:
        raise TeamError(HAS_NONE)
    others = connection.execute(select(member.c.account).where(member.c.team == number, member.c.account != account))
    if others.first() is None:
        _end(connection, number)
        return
    if connection.execute(select(team.c.founder).where(team.c.number == number)).scalar_one() == account:
        raise TeamError(FOUNDED)
    _choose(connection, account, team=None)


def _hand_over(connection: Connection, account: Account, to: Account) -> None:
    number = _team_of(connection, account)
    if number is None:
        raise TeamError(HAS_NONE)
    if _team_of(connection, to) != number:
        raise TeamError(NO_MEMBER)
    own = (team.c.number == number, team.c.founder == account)
    if not connection.execute(team.update().where(*own).values(founder=to)).rowcount:
        raise TeamError(NOT_FOUNDER)


def _end(connection: Connection, number: int) -> None:
    connection.execute(member.update().where(member.c.team == number).values(team=None))
    connection.execute(team.delete().where(team.c.number == number))


def _forget(connection: Connection, account: Account) -> None:
    number = _team_of(connection, account)
    connection.execute(member.delete().where(member.c.account == account))
    if number is None:
        return
    next_one = select(member.c.account).where(member.c.team == number).order_by(member.c.number).limit(1)
    heir = connection.execute(next_one).scalar()
    if heir is None:
        _end(connection, number)
    else:
        own = (team.c.number == number, team.c.founder == account)
        connection.execute(team.update().where(*own).values(founder=heir))
