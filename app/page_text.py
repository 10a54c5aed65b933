"""The sentences of the pages, which `app.text` has no room for.  All go through `tr`."""

from datetime import datetime

from app.text import count, one_line, per_second, plain, tr
from core.api.numbers import per_hundred
from core.api.snapshot import LeaderboardRow, LossView, Snapshot
from core.api.verdict import Verdict, VerdictCode, sentence


def moment(unix_s: float) -> str:
    """A time of this day as 14:05, another as 24 Nov 14:05."""
    when = datetime.fromtimestamp(unix_s).astimezone()
    today = datetime.now().astimezone().date() == when.date()
    return f"{when:%H:%M}" if today else f"{when.day} {when:%b %H:%M}"


def stale(unix_s: float) -> str:
    """Above what an engine said that is gone."""
    return tr("Not connected: this is what was known at {moment}.").format(moment=moment(unix_s))


# Home


def reason(verdict: Verdict) -> str:
    """Why Potluck does what it does, without the numbers that Home shows as a picture."""
    if verdict.code is VerdictCode.CONTRIBUTING and verdict.reason in {"training", "averaging"}:
        others = verdict.args.get("others", 0)
        company = {0: tr("alone for now"), 1: tr("together with one other")}.get(
            int(others), tr("together with {others} others").format(others=others)
        )
        if verdict.reason == "averaging":
            return tr("Putting everyone's work into the model, {company}.").format(company=company)
        return tr("Training {company}.").format(company=company)
    if verdict.code is VerdictCode.RESTING and verdict.reason == "finished":
        return tr("Finished: that was the last step that was asked for.")
    if verdict.code is VerdictCode.RESTING and verdict.reason == "ended":
        return tr("Finished: the model has reached the end of its schedule. Nothing is computed.")
    return one_line(sentence(verdict, tr))


def pot(snapshot: Snapshot) -> str:
    """How full the pot is, and how much of it is mine."""
    target = snapshot.collaboration.target_samples if snapshot.collaboration is not None else 0
    if target <= 0:
        return ""
    if snapshot.epoch_samples >= target:
        return tr("The pot is full: everyone's samples become the next step of the model.")
    return tr("{samples} of {target} samples for the model's next step, {mine} from this computer").format(
        samples=count(snapshot.epoch_samples), target=count(target), mine=count(snapshot.me.samples_pending)
    )


def guesses(meaning: LossView) -> str:
    """What the model can do, in words; empty until it was measured."""
    if meaning.score is None or meaning.score.right is None:
        return ""
    return tr("It fills {right} {guesses} right, in text that it has never seen.").format(
        right=per_hundred(meaning.score.right), guesses=one_line(tr(meaning.guesses))
    )


# Model


def axis(meaning: LossView) -> str:
    """What a curve shows, and in which direction it is good."""
    unit = f" ({tr(meaning.unit)})" if meaning.unit else ""
    return tr("loss{unit} by epoch; lower is better").format(unit=unit)


def speeds(snapshot: Snapshot) -> str:
    """How fast it goes, together and here."""
    return tr("{all} samples a second together, {mine} of them on this computer").format(
        all=per_second(snapshot.samples_per_s), mine=per_second(snapshot.me.samples_per_s)
    )


def step(snapshot: Snapshot) -> str:
    """How far the model is."""
    return tr("Epoch {epoch}").format(epoch=count(snapshot.epoch))


# People


def place(rows: list[LeaderboardRow]) -> str:
    """Where I stand, and how far the next ones are."""
    mine = next((row for row in rows if row.is_me), None)
    if mine is None:
        return tr("You are not on the leaderboard yet: it counts what has become part of the model.")
    said = [tr("You are number {rank} of {all}.").format(rank=count(mine.rank), all=count(len(rows)))]
    above = next((row for row in rows if row.rank == mine.rank - 1), None)
    below = next((row for row in rows if row.rank == mine.rank + 1), None)
    if above is not None:
        gap = tr("{samples} samples more to reach {name}.")
        said.append(gap.format(samples=count(above.samples - mine.samples), name=plain(above.name) or above.peer))
    if below is not None:
        lead = tr("{name} is {samples} behind.")
        said.append(lead.format(samples=count(mine.samples - below.samples), name=plain(below.name) or below.peer))
    return " ".join(said)


# About and trust


def about() -> list[tuple[str, str]]:
    """Titles and sentences on what Potluck is, and what it does with this computer's data."""
    return [
        (
            tr("What leaves this computer"),
            tr(
                "Numbers that say how the model should change, never text or files of yours. With them go your name "
                "here, a key that stands for this computer, its address in the network, how fast it computes, and "
                "what it is doing. Every connection is encrypted, and both sides prove who they are."
            ),
        ),
        (
            tr("What comes to this computer"),
            tr(
                "The model, as numbers, and files that the collaboration names by their digest, such as a vocabulary. "
                "Never programs: new code comes with a new version of Potluck only, which you install yourself."
            ),
        ),
        (
            tr("Who may take part"),
            tr(
                "People whom the organiser has let in: each computer has a pass that the organiser's key has signed "
                "and that ends by itself. All members check each other's passes, what each of them gave is signed by "
                "the others, and a computer whose pass is withdrawn is refused by everybody within a minute."
            ),
        ),
        (
            tr("What the organiser cannot do"),
            tr(
                "Look into this computer, run programs on it, or have it do more than you allow: your hours and "
                "limits are kept by this program alone."
            ),
        ),
    ]


def version(number: str) -> str:
    """The program and its version."""
    return tr("Potluck {version}").format(version=number)


def licence() -> str:
    """Under which terms this program may be used, and what it is made with."""
    return tr(
        "Everybody brings a little computing; together it trains one model. Potluck is free software under the "
        "Apache License 2.0, without any warranty."
    )
