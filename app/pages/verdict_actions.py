"""What a person can do about a verdict: one action for each, in one table."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from PySide6.QtWidgets import QPushButton

from app import text
from app.store import Store
from app.views.actions import Actions
from core.api.verdict import Verdict, VerdictCode


class Offer(NamedTuple):
    """A button's words, and what it does."""

    words: str
    does: Callable[[Actions], object]


def _settings(actions: Actions) -> None:
    actions.settings.trigger()


def _insist(actions: Actions) -> None:
    actions.snooze.insist.trigger()


_NOW = Offer(text.later("Contribute now for 1 hour"), _insist)
_LIMITS = Offer(text.later("Change the limits…"), _settings)
_NOTHING: Final = frozenset(("finished", "ended"))
OFFERS: Final[Mapping[str, Offer]] = MappingProxyType({"metered": _LIMITS, "month": _LIMITS})
"""By reason of a rest; other rules can be overruled.  Pausing is the switch's, beside the headline."""


def offer_of(verdict: Verdict) -> Offer | None:
    """The action that is offered with a verdict; None: there is none."""
    if verdict.code is not VerdictCode.RESTING or verdict.reason in _NOTHING:
        return None
    return OFFERS.get(verdict.reason, _NOW)


class ActionButton(QPushButton):
    """Shows the offer of the present verdict, or nothing."""

    def __init__(self, store: Store, actions: Actions) -> None:
        super().__init__()
        self._store, self._actions = store, actions
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
            offer.does(self._actions)
