"""Every sentence of the window, and how numbers are written.

All go through `tr`, so that a translation is a Qt catalogue of the context "potluck".
"""

import html
import math
import re
from collections.abc import Iterable

from PySide6.QtCore import QCoreApplication, QLocale

from core.api import numbers
from core.api import verdict as verdicts
from core.api.commands import ModelEvaluation
from core.api.hints import hint_sentence
from core.api.numbers import amount
from core.api.sentence import Sentence, recalled
from core.api.snapshot import BACKBONE, HELPER, VOLUNTEER, Activity, CurvePoint, LossView, ProblemView, Snapshot
from core.api.verdict import Verdict

NOTHING = "–"  # noqa: RUF001 - the dash of an empty cell


def tr(sentence: str, *values: object) -> str:
    """The sentence in the person's language.

    Args:
        sentence: In English, perhaps with fields.
        values: What stands in the fields, in the order in which they come first.
    """
    return Sentence(sentence, *values).told(lambda text: QCoreApplication.translate("potluck", text) if text else "")


def unmarked(title: str) -> str:
    """A title without its mnemonic, which other scripts have in brackets: "Port" for "&Port" and for "Port (&P)"."""
    return re.sub(r" \(&\w\)|&", "", title)


def full(words: str) -> str:
    """Words as a sentence, with the full stop of the person's language."""
    return tr("{words}.", words)


def told(text: str, said: Iterable[Sentence]) -> str:
    """What engine or a command tells, in the person's language.

    Args:
        text: In English.
        said: How it is made, where it has values.
    """
    return recalled(text, said).told(tr)


# Numbers


def decimal(number: str) -> str:
    """A number that is written with a point, with the person's sign in its place."""
    return number.replace(".", QLocale().decimalPoint())


def digits() -> QLocale:
    """How a number box writes: with the person's decimal sign, and 0 to 9 as in all other numbers here."""
    own = QLocale()
    return own if own.zeroDigit() == "0" else QLocale(QLocale.Language.English)


def count(number: int) -> str:
    """12 288; from ten million on 12.3 M."""
    if abs(number) >= 10_000_000:
        return tr("{number} M", decimal(amount(number / 1e6, decimals=1)))
    return amount(number)


def per_second(rate: float) -> str:
    """Samples a second: 0.42, 3.4, 104."""
    if not math.isfinite(rate) or rate <= 0:
        return "0"
    return decimal(f"{rate:.2f}" if rate < 1 else f"{rate:.1f}") if rate < 10 else count(round(rate))


def percent(share: float) -> str:
    """0.314 is 31 %; what is more than nothing is never 0 %."""
    if 0 < share < 0.01:
        return "<1 %"
    return f"{round(share * 100)} %"


def size(number: int) -> str:
    """Bytes: 640 B, 12 kB, 3.4 MB."""
    if number < 1000:
        return f"{number} B"
    for unit in ("kB", "MB", "GB"):
        number_in_unit = number / 1000 ** (1 + ("kB", "MB", "GB").index(unit))
        if number_in_unit < 999.5 or unit == "GB":
            return (
                decimal(f"{number_in_unit:.1f} {unit}") if number_in_unit < 10 else f"{amount(number_in_unit)} {unit}"
            )
    raise AssertionError


def duration(seconds: float) -> str:
    """45 s, 12 min, 3 h 05 min, 2 d 4 h."""
    whole = int(max(0.0, seconds))
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if minutes == 0:
        return f"{whole} s"
    if hours == 0:
        return f"{minutes} min"
    return f"{hours} h {minutes % 60:02} min" if days == 0 else f"{days} d {hours % 24} h"


def loss(value: float, unit: str = "") -> str:
    """A loss as people compare them, in a unit of its task: 6.31 nats."""
    return f"{decimal(f'{value:.2f}')} {tr(unit)}".rstrip()


def per_hundred(share: float) -> str:
    """A share of guesses: "35 of 100"."""
    return tr("{number} of 100", round(100 * share))


# What is happening


def activity(value: str) -> str:
    """A peer's activity, in a word or two.  An unknown one is shown as it is, shortened."""
    words = {
        Activity.STARTING: tr("Starting"),
        Activity.JOINING: tr("Joining"),
        Activity.WAITING: tr("Waiting"),
        Activity.CATCHING_UP: tr("Catching up"),
        Activity.TRAINING: tr("Training"),
        Activity.AVERAGING: tr("Averaging"),
        Activity.HELPING: tr("Helping"),
        Activity.PAUSED: tr("Paused"),
        Activity.FINISHED: tr("Finished"),
        Activity.PROBLEM: tr("Problem"),
    }
    return words[Activity(value)] if value in list(Activity) else value[:20]


def role(value: str) -> str:
    """A peer's role in the collaboration."""
    return {VOLUNTEER: tr("Volunteer"), BACKBONE: tr("Always on"), HELPER: tr("Helper")}.get(value, value[:20])


def headline(verdict: Verdict) -> str:
    """What Potluck is doing, in a word or two."""
    return verdicts.headline(verdict).told(tr)


def sentence(verdict: Verdict) -> str:
    """What Potluck is doing, and why."""
    return one_line(verdicts.sentence(verdict).told(tr))


def name(person: str, peer: str, is_me: bool) -> str:  # noqa: FBT001 - a field of the row
    """A peer's name in a table."""
    shown = plain(person) or plain(peer)
    return tr("{name} (you)", shown) if is_me else shown


def one_line(words: str) -> str:
    """Without line breaks, control and direction characters."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in words[:1000]).split())


def plain(words: str) -> str:
    """Text of a stranger, on one line, at most 60 letters."""
    shown = one_line(words)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"


def tooltip(words: str) -> str:
    """Words as a tooltip, which would read what looks like HTML as HTML."""
    return f"<p>{html.escape(words)}</p>" if words else ""


def collaboration(snapshot: Snapshot) -> str:
    """The collaboration's name and its organiser."""
    known = snapshot.collaboration
    if known is None:
        return ""
    return tr("{name}, organised by {organiser}", plain(tr(known.name)), plain(tr(known.organiser)))


def window_title(snapshot: Snapshot | None, *, far: str = "") -> str:
    """The title of the main window.

    Args:
        snapshot: What it shows.
        far: Another computer, which it is about; empty: this one.
    """
    parts = [plain(far)] if far else []
    if snapshot is not None and snapshot.collaboration is not None:
        parts.append(plain(tr(snapshot.collaboration.name)))
    return title(" – ".join(parts))  # noqa: RUF001 - as below


def title(about: str) -> str:
    """The title of a window.

    Args:
        about: What it shows; empty: Potluck as a whole.
    """
    return f"{about} – Potluck" if about else "Potluck"  # noqa: RUF001 - the dash of window titles


def where_it_hides(*, tray: bool) -> str:
    """Where a window that was closed is found again."""
    if tray:
        return tr("Its icon beside the clock brings the window back.")
    return tr("The window is minimised then: this desktop has no place for icons.")


def here(snapshot: Snapshot) -> str:
    """How many volunteers are here, and apart from them who is always on."""
    if not snapshot.peers:
        return tr("nobody here yet")
    number = snapshot.volunteers
    trains = tr("1 volunteer here") if number == 1 else tr("{number} volunteers here", count(number))
    return f"{trains}, {tr('{number} always on', count(on))}" if (on := snapshot.always_on) else trains


def reach(snapshot: Snapshot) -> str:
    """How other volunteers reach this computer, and what would help; empty where all are on this computer."""
    known = snapshot.reach
    return one_line(f"{told(known.sentence, known.said)} {told(known.advice, known.said)}") if known is not None else ""


def hint(snapshot: Snapshot) -> str:
    """What the person could change for everybody's good; empty: nothing is known."""
    return one_line(hint_sentence(snapshot.hint, tr, speed=lambda rate: decimal(numbers.speed(rate))))


def baseline(name: str, value: float, unit: str = "") -> str:
    """What a model reaches that knows only one thing."""
    known = tr(name)
    return tr("{name} alone: {loss}", known[:1].upper() + known[1:], loss(value, unit))


def alone(name: str) -> str:
    """A model that knows only one thing, beside the curve of one that learns more."""
    known = tr(name)
    return tr("{name} alone", known[:1].upper() + known[1:])


def chart(points: list[CurvePoint], meaning: LossView) -> str:
    """The curve as sentences, for people who cannot see it."""
    training = [(point.epoch, point.loss_training) for point in points if point.loss_training is not None]
    heldout = [(point.epoch, point.loss_heldout) for point in points if point.loss_heldout is not None]
    if not training and not heldout:
        return tr("The curve is empty: it begins with the first step.")
    said = []
    for title, series in ((tr("Training loss"), training), (tr("Held-out loss"), heldout)):
        if series:
            (first_epoch, first), (last_epoch, last) = series[0], series[-1]
            ends = {"first": loss(first, meaning.unit), "last": loss(last, meaning.unit)}
            sentence = tr("{title}: {first} at step {first_epoch}, {last} at step {last_epoch}.")
            said.append(sentence.format(title=title, first_epoch=first_epoch, last_epoch=last_epoch, **ends))
    said += [full(baseline(name, score.loss, meaning.unit)) for name, score in meaning.baselines.items()]
    return " ".join(said)


def guessing(meaning: LossView) -> str:
    """How much the model guesses right, beside models that know only one thing; empty until measured here."""
    if meaning.score is None or meaning.score.right is None or meaning.epoch is None:
        return ""
    said = tr(
        "{right} {guesses} right at step {epoch}",
        per_hundred(meaning.score.right),
        one_line(tr(meaning.guesses)),
        count(meaning.epoch),
    )
    for name, score in meaning.baselines.items():
        if score.right is not None:
            said += tr("; {name} alone {right}", one_line(tr(name)), per_hundred(score.right))
    return said


def evaluated(seen: ModelEvaluation) -> str:
    """The answer to a look at the held-out text: its loss where nothing is guessed."""
    if right := guessing(seen.meaning):
        return full(right)
    unit = seen.meaning.unit
    losses = {"epoch": count(seen.epoch), "loss": loss(seen.score.loss, unit)}
    said = [tr("Held-out loss at step {epoch}: {loss}.").format(**losses)]
    said += [full(baseline(name, score.loss, unit)) for name, score in seen.meaning.baselines.items()]
    return " ".join(said)


# Problems


def problem(view: ProblemView) -> str:
    """What is wrong, and what to do, on one line."""
    return one_line(f"{told(view.message, view.said)} {told(view.hint, view.said)}")


def left(name: str) -> str:
    """The person has left a collaboration."""
    return tr("You have left {collaboration}. What you gave stays in its model.", plain(name))


def engine_away() -> ProblemView:
    """Asked while there was no connection."""
    return ProblemView("away", tr("The engine cannot be reached right now."), tr("Try again in a moment."))


def not_ended() -> ProblemView:
    """Some of it was to be ended by force, and lives."""
    return ProblemView(
        "not_ended", tr("Not all of Potluck could be ended."), tr("End it with the system's task manager, or log out.")
    )


def disk_full(folder: str) -> str:
    """There is no room for an engine's files."""
    return tr(
        "The disk is full: Potluck has no room for its files in {folder}. Free at least 200 MB there.", one_line(folder)
    )


def engine_not_started(why: str) -> str:
    """The system did not allow starting an engine."""
    return tr("The engine could not be started: {why}.", why)


def not_written(path: str, why: str) -> str:
    """The system did not allow writing in the home: in the words of `core.system.atomic_files`."""
    hint = tr("Check that the folder belongs to you and is not read-only.")
    return f"{tr('{path} could not be written: {error}.', one_line(path), why)} {hint}"
