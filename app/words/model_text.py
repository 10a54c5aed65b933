"""The sentences of Model: how far it is, how fast it goes, and when it will be farther.  All go through `tr`."""

import math
from datetime import datetime

from app.words.page_text import day, moment
from app.words.text import chart, count, one_line, per_hundred, per_second, tr
from core.api.snapshot import CurvePoint, LossView, Snapshot

DAY_S = 86_400.0
FORESEEN_S = 300 * DAY_S
"""Nobody's pace tells more of the future: a day and a month name a date within a year."""
GROWN_LEAST = 0.05
"""Growth of what is right from which a goal is foretold: less may be chance."""
FARTHER = 2
"""Times as many steps as at the first look."""


def details(points: list[CurvePoint], meaning: LossView) -> str:
    """What the curves show, in the unit of those who know it."""
    unit = f" ({tr(meaning.unit)})" if meaning.unit else ""
    said = tr("The curves show the loss{unit}: it is 0 for a model that never errs.", unit)
    return f"{said} {chart(points, meaning)}"


def speeds(snapshot: Snapshot) -> str:
    """How fast it goes, together and here."""
    return tr(
        "{all} samples a second together, {mine} of them on this computer",
        per_second(snapshot.samples_per_s),
        per_second(snapshot.me.samples_per_s),
    )


def step(snapshot: Snapshot) -> str:
    """How far the model is, and when it is done, as fast as it goes now."""
    known = snapshot.collaboration
    if known is None or known.last_epoch is None:
        return tr("Step {step}", count(snapshot.epoch))
    said = tr("Step {step} of {last}").format(step=count(snapshot.epoch), last=count(known.last_epoch))
    ends = _due(snapshot, known.last_epoch)
    if ends is None:
        return said
    if ends - snapshot.time < DAY_S:
        return tr("{step}; at this pace it is done at {moment}", said, moment(ends))
    return tr("{step}; at this pace it is done on {day}", said, _day_of(ends))


def goal(snapshot: Snapshot) -> str:
    """When the model will get the next ten of a hundred right that it guesses; empty: what was seen here does not tell.

    What is right grows with the logarithm of the steps for a while, less later: so only the next ten are foretold.
    """
    known, first = snapshot.collaboration, snapshot.me.first
    if known is None or first is None or known.loss.score is None or known.loss.epoch is None:
        return ""
    before, now, epoch = first.score.right, known.loss.score.right, known.loss.epoch
    if before is None or now is None or now - before < GROWN_LEAST or not 0 < first.epoch * FARTHER <= epoch:
        return ""
    wanted = (math.floor(10 * now) + 1) / 10
    reached = epoch * (epoch / first.epoch) ** ((wanted - now) / (now - before))
    if wanted >= 1 or reached > (known.last_epoch or math.inf) or (due := _due(snapshot, reached)) is None:
        return ""
    guesses = one_line(tr(known.loss.guesses))
    if due - snapshot.time < DAY_S:
        return tr(
            "At this pace it gets {right} {guesses} right at {moment}.", per_hundred(wanted), guesses, moment(due)
        )
    return tr("At this pace it gets {right} {guesses} right on {day}.", per_hundred(wanted), guesses, _day_of(due))


def _due(snapshot: Snapshot, epoch: float) -> float | None:
    """When a step is taken, as fast as it goes now, Unix seconds; None: nobody knows, or it is taken already."""
    known, speed = snapshot.collaboration, snapshot.samples_per_s
    if known is None or not speed > 0:
        return None
    left_s = (epoch - snapshot.epoch) * known.target_samples / speed
    return snapshot.time + left_s if 0 < left_s < FORESEEN_S else None


def _day_of(unix_s: float) -> str:
    return day(datetime.fromtimestamp(unix_s).astimezone().date())
