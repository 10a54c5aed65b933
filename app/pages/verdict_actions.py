"""What a person can do about a verdict: overrule a rule, change it, look for the others or the cause, or leave."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

from PySide6.QtWidgets import QPushButton

from app.engine.store import Store
from app.views.actions import Actions
from app.words import text
from core.api import moderation, training_part, updates
from core.api import verdict as verdicts
from core.api.sentence import later
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
        "gpu_program": "gpu_programs",
        "in_use_memory": "in_use_memory_bytes",
        "fan": "fan_rpm_max",
        "meter_high": "meter_max",
        "meter_low": "meter_min",
        "metered": "use_metered",
        "month": "month_bytes",
    }
)
"""By reason of a rest, the setting that has the rule (`core.api.settings.FIELDS`)."""


def _change(setting: str, actions: Actions) -> None:
    actions.rule_asked.emit(setting)


def _look_at(link: str, actions: Actions) -> None:
    actions.link_asked.emit(link)


_NOW: Final = Offer(later("Contribute now for 1 hour"), lambda actions: actions.snooze.insist.trigger())
_LOOK_BACK: Final = Offer(later("See what happened"), lambda actions: actions.pages["activity"].trigger())
_TRY: Final = Offer(later("Try now"), lambda actions: actions.try_asked.emit())
_CHECK: Final = Offer(later("Check this computer"), lambda actions: actions.check_asked.emit())
_LEAVE: Final = Offer(later("Leave it"), lambda actions: actions.leave_asked.emit())
_GET: Final = Offer(later("Get the training part…"), lambda actions: actions.part_asked.emit())
_UPDATE: Final = Offer(later("Update Potluck…"), lambda actions: actions.update_asked.emit())
_AGAIN: Final = Offer(later("Ask again"), lambda actions: actions.try_asked.emit())
MENDS: Final[Mapping[str, tuple[Offer, ...]]] = MappingProxyType(
    {
        verdicts.SHUT_OUT: (_LEAVE, _AGAIN),
        training_part.NEEDS_PART: (_GET,),
        updates.NEWER: (_UPDATE,),
    }
)
"""By reason of a problem, what mends it."""
_MOVED: Final = later("Look at the one that goes on…")
_LIMITS: Final = later("Change the limits…")
_RULE: Final = later("Change this rule…")
OFFERS_MAX: Final = 2


def offers_of(verdict: Verdict) -> tuple[Offer, ...]:
    """The actions that are offered with a verdict, the first choice first.  Pausing is the switch's, beside it."""
    match verdict.code, verdict.reason:
        case VerdictCode.PROBLEM, reason:
            return MENDS.get(reason, (_LOOK_BACK,))
        case VerdictCode.CONTRIBUTING, training_part.NO_PART:
            return (_GET,)
        case VerdictCode.NOT_CONNECTED, "offline" | "pass_ended":
            return _TRY, _CHECK
        case VerdictCode.NOT_CONNECTED, "no_network":
            return (_CHECK,)
        case VerdictCode.RESTING, moderation.MOVED:
            return (Offer(_MOVED, partial(_look_at, str(verdict.args.get("link", "")))), _LEAVE)
        case VerdictCode.RESTING, moderation.CLOSED:
            return (_LEAVE,)
        case VerdictCode.RESTING, "metered" | "month" as rule:  # nothing overrules these
            return (Offer(_LIMITS, partial(_change, RULES[rule])),)
        case VerdictCode.RESTING, rule if rule in RULES:
            return _NOW, Offer(_RULE, partial(_change, RULES[rule]))
    return ()


class OfferButton(QPushButton):
    """Shows one of the offers of the present verdict, or nothing.

    Args:
        store: Has the verdict.
        actions: Do what is offered.
        place: Which of the offers.
    """

    def __init__(self, store: Store, actions: Actions, place: int) -> None:
        super().__init__()
        self._store, self._actions, self._place = store, actions, place
        self.clicked.connect(self._do)
        store.changed.connect(self._follow)
        self._follow()

    @property
    def _offer(self) -> Offer | None:
        offers = offers_of(self._store.verdict) if self._store.snapshot is not None else ()
        return offers[self._place] if self._place < len(offers) else None

    def _follow(self) -> None:
        offer = self._offer
        self.setVisible(offer is not None)
        if offer is not None:
            self.setText(text.tr(offer.words))

    def _do(self) -> None:
        if (offer := self._offer) is not None:
            offer.does(self._actions)
