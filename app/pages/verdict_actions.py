"""What a person can do about a verdict: one action for each, in one table."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from PySide6.QtWidgets import QPushButton

from app import text
from app.intents import Intents
from app.store import Store
from app.views.actions import Actions
from core.api.verdict import Verdict, VerdictCode


class Offer(NamedTuple):
    """A button's words, and what it does."""

    words: str
    does: Callable[[Intents, Actions], object]


def _settings(_: Intents, actions: Actions) -> None:
    actions.settings.trigger()


_HOURS = Offer("Change the hours…", _settings)
_LIMITS = Offer("Change the limits…", _settings)
OFFERS: Final[Mapping[tuple[VerdictCode, str], Offer]] = MappingProxyType(
    {
        (VerdictCode.RESTING, "schedule"): _HOURS,
        (VerdictCode.RESTING, "schedule_metered"): _HOURS,
        (VerdictCode.RESTING, "metered"): _LIMITS,
        (VerdictCode.RESTING, "month"): _LIMITS,
    }
)
"""By code and reason.  Pausing and contributing are the switch's, beside the headline."""


def offer_of(verdict: Verdict) -> Offer | None:
    """The action that is offered with a verdict; None: there is none."""
    return OFFERS.get((verdict.code, verdict.reason))


class ActionButton(QPushButton):
    """Shows the offer of the present verdict, or nothing."""

    def __init__(self, store: Store, intents: Intents, actions: Actions) -> None:
        super().__init__()
        self._store, self._intents, self._actions = store, intents, actions
        self.clicked.connect(self._do)
        store.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        offer = offer_of(self._store.verdict) if self._store.snapshot is not None else None
        self.setVisible(offer is not None)
        if offer is not None:
            self.setText(text.tr(offer.words))

    def _do(self) -> None:
        if (offer := offer_of(self._store.verdict)) is not None:
            offer.does(self._intents, self._actions)
