"""What pages ask the engine for when they are opened: the last answers, and when they came."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

from PySide6.QtCore import QObject, Signal

from app.engine.intents import Intents
from core.api.moderation import CopiesView, ModerationView, PeopleView
from core.api.reports import GiftHistory, MachineView, ReceiptList, TeamView, TrustView
from core.api.settings import Wish
from core.api.snapshot import Notice

T = TypeVar("T")
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

    def last(self, kind: type[T]) -> T | None:
        """The newest answer of one of the types in KINDS; None: not told yet."""
        return next((answer for answer in self._answers.values() if isinstance(answer, kind)), None)

    @property
    def activity(self) -> list[Notice]:
        """What happened, the oldest first; empty: not told yet."""
        answer = self._answers.get("activity")
        return [one for one in answer if isinstance(one, Notice)] if isinstance(answer, list) else []
