"""What a person can do about a verdict: overrule the rule for a while, or change it."""

from collections.abc import Callable, Mapping
from functools import partial
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


RULES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "battery": "on_battery",
        "battery_low": "battery_percent",
        "in_use": "in_use",
        "schedule": "hours",
        "program": "programs",
        "full_screen": "full_screen",
        "busy": "busy_percent",
        "heat": "celsius_max",
        "watts": "watts_max",
        "gpu_in_use": "in_use_gpu",
        "gpu_busy": "gpu_busy_percent",
        "gpu_heat": "celsius_max",
        "gpu_watts": "watts_max",
        "metered": "use_metered",
        "month": "month_bytes",
    }
)
"""By reason of a rest, the setting that has the rule (`core.api.settings.FIELDS`)."""


def _change(setting: str, actions: Actions) -> None:
    actions.rule_asked.emit(setting)


def _insist(actions: Actions) -> None:
    actions.snooze.insist.trigger()


def _look_back(actions: Actions) -> None:
    actions.pages["activity"].trigger()


_NOW = Offer(text.later("Contribute now for 1 hour"), _insist)
_LOOK_BACK: Final = Offer(text.later("See what happened"), _look_back)
_NOTHING: Final = frozenset(("finished", "ended", "left"))
OFFERS: Final[Mapping[str, Offer]] = MappingProxyType(
    {
        reason: Offer(text.later("Change the limits…"), partial(_change, RULES[reason]))
        for reason in ("metered", "month")
    }
)
"""By reason of a rest; other rules can be overruled.  Pausing is the switch's, beside the headline."""


def offer_of(verdict: Verdict) -> Offer | None:
    """The action that is offered with a verdict; None: there is none."""
    if verdict.code is VerdictCode.PROBLEM:
        return _LOOK_BACK
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


class RuleButton(QPushButton):
    """Opens the settings at the rule that is the reason of a rest, beside the button that overrules it."""

    def __init__(self, store: Store, actions: Actions) -> None:
        super().__init__(text.tr("Change this rule…"))
        self._store = store
        self.clicked.connect(lambda: actions.rule_asked.emit(RULES.get(store.verdict.reason, "")))
        store.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        verdict = self._store.verdict
        rests = self._store.snapshot is not None and verdict.code is VerdictCode.RESTING
        self.setVisible(rests and verdict.reason in RULES and verdict.reason not in OFFERS)
