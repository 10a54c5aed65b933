"""The sentences of Model: how far it is, how fast it goes, and when it is done.  All go through `tr`."""

from datetime import datetime

from app.words.page_text import day, moment
from app.words.text import chart, count, per_second, tr
from core.api.snapshot import CurvePoint, LossView, Snapshot

DAY_S = 86_400.0
FORESEEN_S = 300 * DAY_S
"""Nobody's pace tells more of the future: a day and a month name a date within a year."""


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
    left = known.last_epoch - snapshot.epoch
    left_s = left * known.target_samples / snapshot.samples_per_s if snapshot.samples_per_s > 0 else 0.0
    if left <= 0 or not 0 < left_s < FORESEEN_S:
        return said
    ends = datetime.fromtimestamp(snapshot.time + left_s).astimezone()
    if left_s < DAY_S:
        return tr("{step}; at this pace it is done at {moment}", said, moment(ends.timestamp()))
    return tr("{step}; at this pace it is done on {day}", said, day(ends.date()))
