"""Moderators and the account of an engine that is not one."""

from core.api.account import AccountView, AccountWish
from core.api.moderation import (
    AuditView,
    CopiesView,
    ModerationOutcome,
    ModerationView,
    ModerationWish,
    PageView,
    PeopleView,
)


class NobodyModerates:
    """Knows of no decisions."""

    def view(self) -> ModerationView:
        """Nobody decides."""
        return ModerationView(False, (), 1, "invited", 0, (), (), ())

    def people(self) -> PeopleView:
        """Nobody is here."""
        return PeopleView(())

    async def page(self) -> PageView:
        """There is none."""
        return PageView("https://potluck.example.org/m/in?code=x")

    async def copies(self) -> CopiesView:
        """Nobody keeps one."""
        return CopiesView(())

    async def audit(self) -> AuditView:
        """Nobody did anything."""
        return AuditView((), 0)

    async def act(self, wish: ModerationWish) -> ModerationOutcome:
        """Nothing comes of it."""
        return ModerationOutcome(done=False, id=wish.act, missing=1)


class OneComputer:
    """Has an account with nothing in it."""

    async def audit(self) -> AuditView:
        """Nobody did anything."""
        return AuditView((), 0)

    async def act(self, wish: AccountWish) -> AccountView:
        """The account stays as it is."""
        return AccountView(name=wish.who, devices=())
