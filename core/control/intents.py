"""The interface of an engine that the control service uses."""

from collections.abc import Mapping
from typing import Protocol

from core.api.account import AccountView, AccountWish
from core.api.commands import ModelEvaluation
from core.api.moderation import (
    AuditView,
    CopiesView,
    ModerationOutcome,
    ModerationView,
    ModerationWish,
    PageView,
    PeopleView,
)
from core.api.reports import ExpertsView, GiftHistory, MachineView, ReceiptList, TeamView, TrustView
from core.api.settings import PortTest, SettingsView
from core.api.snapshot import Notice, Snapshot


class ReportSource(Protocol):
    """What a client asks for on demand, and snapshots do not have."""

    async def history(self, days: int) -> GiftHistory:
        """What this computer gave on the last days."""

    async def receipts(self, since: int) -> ReceiptList:
        """The rounds that this computer was in, after a unix second."""

    async def machine(self) -> MachineView:
        """This computer, and what Potluck uses of it."""

    def trust(self) -> TrustView:
        """The keys of this computer and the organiser, as people compare them."""

    async def team(self) -> TeamView:
        """The person's team on the collaboration's page, and its place."""

    async def activity(self) -> list[Notice]:
        """The newest notices, those of earlier runs too."""

    async def experts(self, gather_s: float) -> ExpertsView:
        """Who hosts which expert; copies of all are gathered here for so long."""


class Moderators(Protocol):
    """What a moderator does by the key of this computer."""

    def view(self) -> ModerationView:
        """Who decides, what waits for signatures, who is held."""

    def people(self) -> PeopleView:
        """Who takes part, who gave what, and how far their parts lie from the others'."""

    async def copies(self) -> CopiesView:
        """To which copies of the model everybody could go back."""

    async def audit(self) -> AuditView:
        """What moderators did, as a backbone has written it down."""

    async def page(self) -> PageView:
        """Where this moderator signs in at the page of the collaboration."""

    async def act(self, wish: ModerationWish) -> ModerationOutcome:
        """Sign what a moderator wants, and hand it to the others."""


class AccountHolder(Protocol):
    """What a person does with their own computers."""

    async def act(self, wish: AccountWish) -> AccountView:
        """Ask the backbone for what the person wants."""


class Renewing(Protocol):
    """What becomes of a newer version of the program."""

    def switch(self) -> None:
        """Go on as it between two rounds; returns before that."""


class Intents(Protocol):
    """A person's possible intents.  A Problem that is raised becomes the client's answer."""

    @property
    def reports(self) -> ReportSource:
        """Answers that only some clients want."""

    @property
    def moderation(self) -> Moderators:
        """What moderators see, and what they do."""

    @property
    def account(self) -> AccountHolder:
        """The computers that are the person's own."""

    @property
    def updating(self) -> Renewing:
        """The way to a newer version."""

    def snapshot(self) -> Snapshot:
        """The engine's whole present state, to be shown."""

    async def turn(self, what: str = "computing", until: float | None = None, *, on: bool) -> None:
        """Switch something (`core.api.modes.SWITCHED`) off, until a moment in unix seconds or for good, or on again.

        It is then used by the rules; until a moment, in spite of them.
        """

    def try_now(self) -> None:
        """Ask the backbone now that does not answer, before its turn, or that has refused this computer, again."""

    async def quit(self) -> None:
        """Stop the engine; returns before it has stopped, so that the answer still goes out."""

    async def restart(self) -> None:
        """Stop the engine and begin anew in the same process; returns before that."""

    async def evaluate(self) -> ModelEvaluation:
        """Have the worker evaluate the held-out text."""

    def settings(self) -> SettingsView:
        """The person's settings of the network."""

    def configure(self, wish: Mapping[str, object]) -> SettingsView:
        """Change some of it; the wish (core.api.settings.Wish) is not checked yet."""

    async def test_port(self) -> PortTest:
        """Have other peers call this computer's port."""
