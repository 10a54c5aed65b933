"""The sentences of the pages, which `app.words.text` has no room for.  All go through `tr`."""

from datetime import date, datetime, timedelta

from PySide6.QtCore import QLocale

from app.words.text import count, decimal, duration, full, one_line, per_hundred, plain, size, tr
from core.api.happenings import HAPPENINGS, happening
from core.api.modes import UseMode
from core.api.numbers import amount
from core.api.reports import DayGift, GiftHistory, MachineView, TeamView
from core.api.sample_text import sample_sentence
from core.api.sentence import Sentence, recalled
from core.api.snapshot import Activity, HostingView, LeaderboardRow, LossView, Notice, Snapshot
from core.api.turns import WORDS, WhyNot
from core.api.verdict import SENTENCES, SHUT_OUT, Verdict, VerdictCode, headline, sentence

WEEK_DAYS = 7


def moment(unix_s: float) -> str:
    """A time of this day as 14:05, another as 24 Nov 14:05."""
    when = datetime.fromtimestamp(unix_s).astimezone()
    today = datetime.now().astimezone().date() == when.date()
    if today:
        return f"{when:%H:%M}"
    return tr("{day} {month} {clock}", when.day, _month(when), f"{when:%H:%M}")


def stale(unix_s: float) -> str:
    """Above what an engine said that is gone."""
    return tr("Not connected: this is what was known at {moment}.", moment(unix_s))


# Home


def reason(verdict: Verdict) -> str:
    """Why Potluck does what it does, without the numbers that Home shows as a picture."""
    if verdict.code is VerdictCode.CONTRIBUTING and verdict.reason in {"training", "averaging"}:
        others = verdict.args.get("others", 0)
        company = {0: tr("alone for now"), 1: tr("together with one other")}.get(
            int(others), tr("together with {others} others", others)
        )
        if verdict.reason == "averaging":
            return tr("Putting everyone's work into the model, {company}.", company)
        return tr("Training {company}.", company)
    if verdict.code is VerdictCode.RESTING and verdict.reason == "finished":
        return tr("Finished: that was the last step that was asked for.")
    if verdict.code is VerdictCode.RESTING and verdict.reason == "ended":
        return tr("Finished: the model has reached the end of its schedule. Nothing is computed.")
    said = sentence(verdict).told(tr)
    if verdict.code is VerdictCode.PROBLEM:
        said = f"{said} {recalled(str(verdict.args.get('hint', '')), verdict.said).told(tr)}"
    return one_line(said)


def pot(snapshot: Snapshot) -> str:
    """How full the pot is, and how much of it is mine."""
    target = snapshot.collaboration.target_samples if snapshot.collaboration is not None else 0
    if target <= 0 or snapshot.verdict.reason == SHUT_OUT:
        return ""
    if snapshot.verdict.code is VerdictCode.NOT_CONNECTED and snapshot.activity is not Activity.TRAINING:
        mine = tr("{mine} samples from this computer wait until others are there again.")
        return mine.format(mine=count(snapshot.me.samples_pending))
    if snapshot.epoch_samples >= target:
        return tr("The pot is full: everyone's samples become the next step of the model.")
    return tr(
        "{samples} of {target} samples for the model's next step, {mine} from this computer",
        count(snapshot.epoch_samples),
        count(target),
        count(snapshot.me.samples_pending),
    )


def sample(snapshot: Snapshot) -> str:
    """What a sample is, and how many make a step; empty before there is a collaboration."""
    known = snapshot.collaboration
    if known is None:
        return ""
    said = sample_sentence(known.task, known.sample_size).told(tr)
    step = tr("The model takes a step when {samples} of them are computed, on all computers together.")
    return f"{said} {step.format(samples=count(known.target_samples))}"


def guesses(meaning: LossView) -> str:
    """What the model can do, in words; empty until it was measured."""
    if meaning.score is None or meaning.score.right is None:
        return ""
    return tr(
        "It gets {right} {guesses} right, in examples that it has never seen.",
        per_hundred(meaning.score.right),
        one_line(tr(meaning.guesses)),
    )


def unmeasured() -> str:
    """What stands in the place of what the model can do, before this computer has measured it."""
    return tr("What it can do is measured every few steps; that is still to come.")


def gift(today: DayGift) -> str:
    """What came of a day's time, in plain units."""
    if today.samples:
        said = tr("{samples} samples went into steps of the model.", count(today.samples))
    else:
        said = tr("Nothing went into a step of the model yet today.")
    traffic = tr("{sent} sent, {received} received.")
    power = tr(" About {kwh} kWh.", decimal(amount(kwh, decimals=2))) if (kwh := kilowatt_hours(today)) else ""
    return f"{said} {traffic.format(sent=size(today.bytes_sent), received=size(today.bytes_received))}{power}"


def hosting(view: HostingView | None, today: DayGift) -> str:
    """What this computer does for the experts of a mixture; empty: the model has none, or none lived here today."""
    if view is None or not (view.experts or today.answered):
        return ""
    answered = count(today.answered)
    if not view.experts:
        return tr("Experts that lived here answered {requests} requests today.", answered)
    if view.experts == 1:
        return tr("Hosting one expert: {requests} requests answered today.", answered)
    return tr("Hosting {experts} experts: {requests} requests answered today.", count(view.experts), answered)


def kilowatt_hours(*days: DayGift) -> float:
    """What these days took; 0: too little to be told."""
    kwh = sum(one.joules for one in days) / 3.6e6
    return kwh if kwh >= 0.005 else 0.0


def last_days(history: GiftHistory, today: DayGift, number: int) -> list[tuple[date, float]]:
    """Each of the last days with its seconds of contributing, today last."""
    given = {one.day: one.seconds for one in (*history.days, today)}
    last = date.fromisoformat(today.day)
    shown = [last - timedelta(days=ago) for ago in reversed(range(number))]
    return [(one, given.get(one.isoformat(), 0.0)) for one in shown]


def days(seconds: list[float]) -> str:
    """A row of days in words."""
    active = sum(one > 0 for one in seconds)
    if not active:
        return tr("No contribution in the last {days} days yet.", len(seconds))
    return tr("{duration} on {active} of {days} days", duration(sum(seconds)), active, len(seconds))


def day(one: date) -> str:
    """A day as Tue 24 Nov."""
    name = QLocale().dayName(one.isoweekday(), QLocale.FormatType.ShortFormat)
    return tr("{name} {day} {month}", name, one.day, _month(one))


def _month(one: date) -> str:
    name = QLocale().monthName(one.month, QLocale.FormatType.ShortFormat)
    return name if one.year == datetime.now().astimezone().year else f"{name} {one.year}"


# Collaborations


def why_not(name: str, why: WhyNot) -> str:
    """Why a collaboration that was joined is not served."""
    return tr("{name} {reason}.", plain(name), tr(WORDS[why]))


def passed_over(snapshot: Snapshot) -> str:
    """Why another collaboration is served than the one that comes first; empty: it is that one."""
    return " ".join(why_not(each.name, each.why) for each in snapshot.passed_over)


# My computer


def machine(view: MachineView) -> dict[str, str]:
    """The facts of My computer, by their names."""
    return {
        "name": view.name,
        "system": view.system,
        "processor": view.processor,
        "threads": tr("{used} of {all}", view.threads_used, view.threads),
        "device": tr(view.device),
        "memory": tr(
            "{used} used by Potluck; {free} of {all} free",
            size(view.memory_used_bytes),
            size(view.memory_free_bytes),
            size(view.memory_bytes),
        ),
        "disk": tr("{used} used by Potluck; {free} free", size(view.disk_used_bytes), size(view.disk_free_bytes)),
        "home": view.home,
    }


def card(snapshot: Snapshot, name: str) -> str:
    """What a graphics card may do now, and why it may not."""
    reason = snapshot.cards.get(name)
    if reason is None:
        return tr("May compute")
    if reason.code is not VerdictCode.PAUSED:
        return one_line(sentence(reason).told(tr))
    if reason.reason in {"", "until"}:
        return tr("Rests: Potluck is paused")
    if snapshot.switches.named(name).at(snapshot.time) is not UseMode.NEVER:
        return tr("Paused by you, as all cards are")
    if reason.until is None:
        return tr("Paused by you")
    return tr("Paused by you until {moment}", moment(reason.until))


def level(word: str) -> str:
    """How a finding is to be taken, for a screen reader."""
    return {"fine": tr("In order"), "note": tr("Note"), "problem": tr("Problem")}.get(word, word[:20])


def findings(levels: list[str]) -> str:
    """The sum of a check."""
    if not levels:
        return tr("The check could not be run. On the command line it is: potluck doctor")
    problems = levels.count("problem")
    if problems:
        return tr("{number} of {all} checks found something that has to be mended.", problems, len(levels))
    return tr("Potluck can work here: {all} checks, no problem.", len(levels))


# Activity


def notice(row: Notice) -> str:
    """What happened, in a sentence; of a verdict in the person's language."""
    kind, _, rest = row.code.partition(".")
    code, _, reason = rest.partition(".")
    if kind == "verdict" and code == VerdictCode.CONTRIBUTING:
        return full(headline(Verdict(code=VerdictCode.CONTRIBUTING)).told(tr))
    made = recalled(row.text, row.said)
    if kind == "verdict" and code in set(VerdictCode) and (VerdictCode(code), reason) in SENTENCES:
        made = sentence(Verdict(code=VerdictCode(code), reason=reason, args=row.args, said=row.said))
    if row.code in HAPPENINGS:
        made = happening(row.code, row.args, row.said)
    return one_line((made if str(made) == row.text else Sentence(row.text)).told(tr))


# People


def week_bars(snapshot: Snapshot) -> str:
    """What the bars of the leaderboard show; empty before one was seen."""
    if not snapshot.week_since:
        return ""
    first, now = date.fromisoformat(snapshot.week_since), datetime.fromtimestamp(snapshot.time).astimezone().date()
    if (now - first).days >= WEEK_DAYS:
        return tr("The bars show who gave how much in the last 7 days.")
    return tr("The bars show who gave how much since {day}, when this computer first saw the leaderboard.", day(first))


def place(rows: list[LeaderboardRow]) -> str:
    """Where I stand, and how far the next ones are."""
    mine = next((row for row in rows if row.is_me), None)
    if mine is None:
        return tr("You are not on the leaderboard yet: it counts what has become part of the model.")
    said = [tr("You are number {rank} of {all}.", count(mine.rank), count(len(rows)))]
    above = next((row for row in rows if row.rank == mine.rank - 1), None)
    below = next((row for row in rows if row.rank == mine.rank + 1), None)
    if above is not None:
        gap = tr("{samples} samples more to reach {name}.")
        said.append(gap.format(samples=count(above.samples - mine.samples), name=plain(above.name) or above.peer))
    if below is not None:
        lead = tr("{name} is {samples} behind.")
        said.append(lead.format(samples=count(mine.samples - below.samples), name=plain(below.name) or below.peer))
    return " ".join(said)


def team(view: TeamView) -> str:
    """Where the person's team stands, and how far the next one is; empty: there is no team."""
    if not view.name:
        return ""
    said = [tr("Your team {team} is number {rank} of {all}.", plain(view.name), count(view.rank), count(view.teams))]
    if view.missing:
        said.append(tr("{samples} samples more to reach {name}.", count(view.missing), plain(view.next_name)))
    return " ".join(said)
