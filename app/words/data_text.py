"""Sentences about the text that a model learns from: where it comes from, how it comes, and what is kept of it."""

from collections.abc import Sequence

from app.words.text import count, full, one_line, percent, size, tr
from core.api.data_state import DataView, SourceView, called, runs_short, why_stalled
from core.api.snapshot import Snapshot
from core.api.verdict import VerdictCode


def trouble(snapshot: Snapshot) -> str:
    """A sentence that data do not come and are soon used up; empty: they last, or the verdict says it."""
    view = snapshot.data
    if view is None or snapshot.verdict.code is not VerdictCode.CONTRIBUTING:
        return ""
    if not runs_short(view, snapshot.me.samples_per_s):
        return ""
    stalled = one_line(why_stalled(view.code, view.args).told(tr))
    return tr("{stalled} Training goes on with what is here.", stalled)


def flow(view: DataView | None) -> str:
    """What is read, how fast, and what lies ready."""
    if view is None:
        return tr("None is read now.")
    ready = tr("{rows} samples lie ready", count(view.rows_ready))
    if view.code:
        return f"{one_line(why_stalled(view.code, view.args).told(tr))} {full(ready)}"
    rate = tr("{size} a second", size(round(view.rate_bytes_s)))
    reading = tr("reading {name}", one_line(view.reading)) if view.reading else ""
    return ", ".join(part for part in (reading, rate, ready) if part)


def kept(view: DataView | None) -> str:
    """What of it lies on the disk, and what of that is for others."""
    if view is None:
        return ""
    here = tr("{size} here for training", size(view.stored_bytes))
    if not view.shared_bytes:
        return here
    shared = tr("{size} kept for others, {given} given to them", size(view.shared_bytes), size(view.given_bytes))
    return f"{here}, {shared}"


def sources(found: Sequence[SourceView]) -> str:
    """Where it comes from, with the shares where there are several."""
    named = (one_line(called(source, tr)) for source in found)
    if len(found) == 1:
        return next(named)
    shares = (percent(source.share) for source in found)
    return "; ".join(tr("{share} from {source}", share, source) for share, source in zip(shares, named, strict=True))


def rights(found: Sequence[SourceView]) -> str:
    """Its licences and who made it, as far as the organiser says that."""
    said = (", ".join(one_line(word) for word in (source.licence, source.credit) if word) for source in found)
    return "; ".join(dict.fromkeys(words for words in said if words)) or tr("The organiser does not say.")
