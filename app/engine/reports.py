"""What pages ask the engine for when they are opened: the last answers, and when they came."""

from collections.abc import Mapping
from types import MappingProxyType

from PySide6.QtCore import QObject, Signal

from app.engine.intents import Intents
from core.api.moderation import CopiesView, ModerationView, PeopleView
from core.api.reports import GiftHistory, MachineView, ReceiptList, TeamView, TrustView
from core.api.settings import Wish
from core.api.snapshot import Notice

KINDS: Mapping[str, object] = MappingProxyType(
    {
        "history": GiftHistory,
        "receipts": ReceiptList,
        "machine": MachineView,
        "trust": TrustView,
        "team": TeamView,
        "moderation": ModerationView,
        "people": PeopleView,
        "copies": CopiesView,
        "activity": list[Notice],
    }
)
"""Types of the answers, by method."""


class Reports(QObject):
    """Asks, and keeps what was answered last.  An engine that does not know a method leaves the page as it was."""

    came = Signal(str)
    """A method whose answer is there."""

    def __init__(self, intents: Intents, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._intents = intents
        self._answers: dict[str, object] = {}

    def ask(self, method: str, params: Wish | None = None) -> None:
        """Have `came` emitted for one of KINDS, if an engine is there."""
        self._intents.ask(method, params)

    def sign(self, proposal: str) -> None:
        """Agree to a proposal of moderators."""
        self._intents.ask("moderate", {"act": "sign", "who": proposal})

    def go_back(self, copy: str, words: str) -> None:
        """Propose that everybody goes back to a copy of the model, and say why."""
        self._intents.ask("moderate", {"act": "go_back", "who": copy, "words": words})

    def answer_drill(self) -> None:
        """Sign that this moderator can still sign."""
        self._intents.ask("moderate", {"act": "drill"})

    def put(self, method: str, answer: object) -> None:
        """The engine has answered."""
        if answer != self._answers.get(method):
            self._answers[method] = answer
            self.came.emit(method)

    @property
    def history(self) -> GiftHistory | None:
        """What was given by day; None: not told yet."""
        answer = self._answers.get("history")
        return answer if isinstance(answer, GiftHistory) else None

    @property
    def receipts(self) -> ReceiptList | None:
        """The rounds of this computer; None: not told yet."""
        answer = self._answers.get("receipts")
        return answer if isinstance(answer, ReceiptList) else None

    @property
    def machine(self) -> MachineView | None:
        """This computer; None: not told yet."""
        answer = self._answers.get("machine")
        return answer if isinstance(answer, MachineView) else None

    @property
    def trust(self) -> TrustView | None:
        """The keys; None: not told yet."""
        answer = self._answers.get("trust")
        return answer if isinstance(answer, TrustView) else None

    @property
    def team(self) -> TeamView | None:
        """The person's team; None: not told yet."""
        answer = self._answers.get("team")
        return answer if isinstance(answer, TeamView) else None

    @property
    def moderation(self) -> ModerationView | None:
        """Who decides, and what waits for signatures; None: not told yet."""
        answer = self._answers.get("moderation")
        return answer if isinstance(answer, ModerationView) else None

    @property
    def people(self) -> PeopleView | None:
        """People as moderators see them; None: not told yet."""
        answer = self._answers.get("people")
        return answer if isinstance(answer, PeopleView) else None

    @property
    def copies(self) -> CopiesView | None:
        """Copies of the model that a backbone keeps; None: not told yet."""
        answer = self._answers.get("copies")
        return answer if isinstance(answer, CopiesView) else None

    @property
    def activity(self) -> list[Notice]:
        """What happened, the oldest first; empty: not told yet."""
        answer = self._answers.get("activity")
        return [one for one in answer if isinstance(one, Notice)] if isinstance(answer, list) else []
