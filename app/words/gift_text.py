"""The sentences of My gift.  All go through `tr`."""

from collections.abc import Sequence
from datetime import date

from app.words.page_text import day, kilowatt_hours
from app.words.text import count, decimal, duration, loss, one_line, per_hundred, size, tr
from core.api.numbers import amount
from core.api.reports import DayGift, GiftHistory, ReceiptList, ReceiptView
from core.api.snapshot import LossView, Mine

PHONE_KWH = 0.015
"""A full charge of a phone: a battery of about 13 Wh (3,500 mAh at 3.85 V), and what its charger loses."""
FRIDGE_KWH = 0.5
"""A day of a fridge with a freezer, of the energy label's middle classes (180 kWh a year)."""


def all_given(me: Mine) -> str:
    """What the model counts of this computer, and the time that it gave."""
    return tr(
        "{epochs} of the model's steps have your work in them: {samples} samples, in {duration} of contributing.",
        count(me.epochs),
        count(me.samples),
        duration(me.contributing_s),
    )


def since_came(me: Mine, meaning: LossView) -> str:
    """How the model has changed since this computer looked at it first; empty: there is nothing to compare yet."""
    first, now, epoch = me.first, meaning.score, meaning.epoch
    if first is None or now is None or epoch is None or epoch <= first.epoch:
        return ""
    if first.score.right is not None and now.right is not None:
        before, guesses = f"{round(100 * first.score.right)}", one_line(tr(meaning.guesses))
        return tr(
            "Since you came it went from {before} to {now} {guesses} right.", before, per_hundred(now.right), guesses
        )
    before = loss(first.score.loss, meaning.unit)
    return tr("Since you came its loss went from {before} to {now}.", before, loss(now.loss, meaning.unit))


def week(monday: date, days: Sequence[DayGift]) -> str:
    """What a week came to, in a sentence.

    Args:
        monday: Its first day.
        days: Those of it on which something was given.
    """
    active = tr("{number} days", count(len(days))) if len(days) > 1 else tr("one day")
    return tr(
        "In the week from {day} this computer gave {duration} on {days}, and {samples} samples went into steps of the "
        "model.",
        day(monday),
        duration(sum(one.seconds for one in days)),
        active,
        count(sum(one.samples for one in days)),
    )


def pending(me: Mine) -> str:
    """What was computed and has not become part of the model."""
    if not me.samples_pending:
        return ""
    return tr("{samples} more are computed and wait for the next round.", count(me.samples_pending))


def device(me: Mine) -> str:
    """What this computer computes on."""
    return tr("Computed on: {device}", one_line(tr(me.device))) if me.device else ""


def streak(days_in_a_row: int) -> str:
    """Days in a row with a gift; empty where there is none."""
    if days_in_a_row < 2:
        return ""
    return tr("{days} days in a row", count(days_in_a_row))


def credit(receipts: ReceiptList, me: Mine) -> str:
    """What receipts tell beside what the model counts: work that it has not kept, and what was done for the others."""
    said = []
    if receipts.samples > me.samples:
        averaged = tr(
            "By their receipts, {samples} samples were averaged: the model counts fewer, because a round was not kept "
            "or has only just ended."
        )
        said.append(averaged.format(samples=count(receipts.samples)))
    if receipts.reduced:
        averaged = tr("Averaged {numbers} numbers for everybody in {rounds} rounds.")
        said.append(averaged.format(numbers=count(receipts.reduced), rounds=count(receipts.rounds)))
    if receipts.relayed_bytes:
        said.append(tr("Passed on {size} for computers that cannot be called.", size(receipts.relayed_bytes)))
    return " ".join(said)


def energy(history: GiftHistory) -> str:
    """What the shown days took of electricity, and what that means; empty where nothing is known."""
    kwh = kilowatt_hours(*history.days)
    if not kwh:
        return ""
    said = [tr("About {kwh} kWh", decimal(amount(kwh, decimals=2)))]
    if history.kwh_cents:
        said.append(tr("{money} in your money", decimal(amount(kwh * history.kwh_cents / 100, decimals=2))))
    if history.kwh_grams:
        kilos = decimal(amount(kwh * history.kwh_grams / 1000, decimals=2))
        said.append(tr("{kilos} kg of carbon dioxide", kilos))
    return f"{', '.join(said)}. {_as_known(kwh)}"


def _as_known(kwh: float) -> str:
    """An amount of electricity beside something that people have at home."""
    if kwh < FRIDGE_KWH:
        return tr("That is as much as {number} charges of a phone take.", count(max(1, round(kwh / PHONE_KWH))))
    return tr("That is as much as a fridge takes in {number} days.", decimal(amount(kwh / FRIDGE_KWH, decimals=0)))


def receipt_short(row: ReceiptView) -> str:
    """What became of this computer's part of a round, in a few words."""
    words = {
        "accepted": tr("Averaged"),
        "alone": tr("Signed by nobody else"),
        "helped": tr("Helped to average"),
        "nothing": tr("Did not arrive in time"),
        "invalid": tr("Signatures do not fit"),
    }
    return "  " + words.get(row.verdict, row.verdict[:20])


def receipt(row: ReceiptView) -> str:
    """The same in whole sentences, with who has signed it."""
    words = {
        "accepted": tr("The others have signed that it was averaged."),
        "alone": tr("It was averaged, but nobody else has signed that, which proves nothing to others."),
        "helped": tr("This computer averaged or passed on what others had computed, and had no samples of its own."),
        "nothing": tr("It arrived too late or not at all: the round went on without it. The connection may be slow."),
        "invalid": tr("The receipt is not what its members signed: somebody or the disk has changed it."),
    }
    signed = tr(
        "Step {epoch}, signed by {signed} of {members}.", count(row.epoch), count(row.signed), count(row.members)
    )
    return f"{words.get(row.verdict, '')} {signed}".strip()
