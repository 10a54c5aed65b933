"""Moderators and the account of an engine that is not one."""

from core.api.account import AccountView, AccountWish
from core.api.moderation import ModerationOutcome, ModerationView, ModerationWish


class NobodyModerates:
    """Knows of no decisions."""

    def view(self) -> ModerationView:
        """Nobody decides."""
        return ModerationView(False, (), 1, "invited", 0, (), (), ())

    def act(self, wish: ModerationWish) -> ModerationOutcome:
        """Nothing comes of it."""
        return ModerationOutcome(done=False, id=wish.act, missing=1)


class OneComputer:
    """Has an account with nothing in it."""

    async def act(self, wish: AccountWish) -> AccountView:
        """The account stays as it is."""
        return AccountView(name=wish.who, devices=())
