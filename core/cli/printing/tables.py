"""Snapshots in a few aligned lines of plain text.  Text of strangers is made harmless first."""

from collections.abc import Container, Sequence
from datetime import datetime
from typing import Any

from core.api.data_state import DataView, why_stalled
from core.api.hints import hint_sentence
from core.api.modes import SUBJECTS, UseMode, UseSwitch
from core.api.numbers import amount, company, gathered, per_hundred, volume
from core.api.snapshot import CurvePoint, LeaderboardRow, LossView, Notice, Snapshot
from core.api.turns import WORDS
from core.api.verdict import headline, next_try
from core.base.problems import printable


def rate(samples_per_s: float) -> str:
    """A speed: one decimal below a hundred."""
    return f"{samples_per_s:.1f}" if samples_per_s < 99.95 else amount(samples_per_s)


def newest_loss(curve: Sequence[CurvePoint]) -> tuple[float | None, float | None]:
    """The newest known training loss and held-out loss."""
    training = next((point.loss_training for point in reversed(curve) if point.loss_training is not None), None)
    heldout = next((point.loss_heldout for point in reversed(curve) if point.loss_heldout is not None), None)
    return training, heldout


def status_text(snapshot: Snapshot) -> str:
    """The engine's state in a few lines."""
    collaboration = snapshot.collaboration
    training, heldout = newest_loss(snapshot.curve)
    said = f"{snapshot.sentence} {next_try(snapshot.verdict, snapshot.time)}".rstrip()
    rows = [("", f"{headline(snapshot.verdict)}. {printable(said)}")]
    if snapshot.problem is not None and snapshot.problem.hint:
        rows.append(("What to do", printable(snapshot.problem.hint)))
    if collaboration is not None:
        rows.append(("Collaboration", printable(f"{collaboration.name}, organised by {collaboration.organiser}")))
        samples = gathered(snapshot.epoch_samples, collaboration.target_samples)
        rows.append(("Epoch", f"{amount(snapshot.epoch)}, {samples}"))
    rows += [("Not served", f"{printable(passed.name)}: {WORDS[passed.why]}") for passed in snapshot.passed_over]
    if training is not None or heldout is not None:
        losses = [(training, "in training"), (heldout, "on held-out text")]
        known = [f"{loss:.3f} {where}" for loss, where in losses if loss is not None]
        meaning = collaboration.loss if collaboration is not None else LossView()
        known += [f"{score.loss:.3f} for {name} alone" for name, score in meaning.baselines.items()]
        rows.append(("Loss", printable(", ".join(known) + (f" ({meaning.unit})" if meaning.unit else ""))))
        if meaning.score is not None and meaning.score.right is not None:
            right = f"{per_hundred(meaning.score.right)} {meaning.guesses} right"
            rows.append(("Model", printable(f"{right}, in examples that it has never seen")))
    here = company(snapshot.volunteers, snapshot.always_on)
    rows += [
        ("Here", f"{here}, {rate(snapshot.samples_per_s)} samples/s together"),
        (
            "This computer",
            f"{printable(snapshot.me.name)}, {rate(snapshot.me.samples_per_s)} samples/s"
            + (f", computed on: {printable(snapshot.me.device)}" if snapshot.me.device else ""),
        ),
        ("Given", _given(snapshot)),
        ("Switch", _switches(snapshot)),
    ]
    if snapshot.data is not None:
        rows.append(("Text", printable(_data(snapshot.data))))
    if (hosting := snapshot.hosting) is not None:
        wait = f", 95 of 100 within {max(1, round(1000 * hosting.wait_s))} ms" if hosting.wait_s else ""
        answered = f"{amount(snapshot.today.answered)} requests answered today{wait}"
        lives = f"hosting {hosting.experts:,}" if hosting.experts else "none lives here now"
        rows.append(("Experts", f"{lives}: {answered}" if hosting.experts or snapshot.today.answered else lives))
    mine = snapshot.me
    if mine.line_up_bytes_per_s and mine.line_down_bytes_per_s:
        up, down = (megabits(each) for each in (mine.line_up_bytes_per_s, mine.line_down_bytes_per_s))
        trip = f"; {max(1, round(1000 * mine.line_trip_s))} ms there and back" if mine.line_trip_s else ""
        rows.append(("Line", f"at least {up} Mbit/s up and {down} Mbit/s down, as seen while averaging{trip}"))
    if snapshot.reach is not None:
        rows.append(("Network", f"{snapshot.reach.sentence} {snapshot.reach.advice}".strip()))
    if hint := hint_sentence(snapshot.hint):
        rows.append(("Hint", f"{hint} As in: potluck settings upload none"))
    return "\n".join(f"{name:<14} {text}" if name else text for name, text in rows)


def _data(view: DataView) -> str:
    """How the text comes to this computer."""
    said = [str(why_stalled(view.code, view.args)).rstrip(".")] if view.code else []
    if not view.code:
        reading = f" of {view.reading}" if view.reading else ""
        said.append(f"{volume(view.rate_bytes_s)}/s{reading}")
    said += [f"{amount(view.rows_ready)} samples ready", f"{volume(view.stored_bytes)} on the disk"]
    if view.network_bytes:
        said.append(f"{volume(view.network_bytes)} from the network")
    if view.left_out:
        said.append(f"{amount(view.left_out)} of {amount(view.documents + view.left_out)} documents left out")
    if view.shared_bytes:
        said.append(f"{volume(view.shared_bytes)} kept for others, {volume(view.given_bytes)} given to them")
    return ", ".join(said)


def _switches(snapshot: Snapshot) -> str:
    """Where the person's switches stand; those that stand where everybody's do are left out."""
    said = ["contributing" if snapshot.contributing else "paused"]
    for subject in (*SUBJECTS, *snapshot.switches.cards):
        switch = snapshot.switches.named(subject)
        if switch.at(snapshot.time) is not UseMode.RULES or switch.ends(snapshot.time) is not None:
            said.append(f"{subject} {switch_text(switch, snapshot.time)}")
    return "; ".join(said)


def switch_text(switch: UseSwitch, now: float) -> str:
    """Where a switch stands, and how long.

    Args:
        switch: As it is kept.
        now: Unix seconds.
    """
    words = {UseMode.ALWAYS: "always", UseMode.RULES: "by the rules", UseMode.NEVER: "never"}
    meanwhile = {**words, UseMode.ALWAYS: "on", UseMode.NEVER: "off"}
    ends = switch.ends(now)
    if ends is None:
        return words[switch.at(now)]
    moment = datetime.fromtimestamp(ends).astimezone()
    return f"{meanwhile[switch.at(now)]} until {moment:%A %H:%M}, then {words[switch.mode]}"


def megabits(bytes_per_s: float) -> str:
    """A line's speed in Mbit/s, with two digits that mean something."""
    speed = bytes_per_s * 8 / 1e6
    return rate(speed) if speed >= 1 else f"{speed:.2g}"


def _given(snapshot: Snapshot) -> str:
    """This computer's contributions, in all steps."""
    steps = "1 step" if snapshot.me.epochs == 1 else f"{amount(snapshot.me.epochs)} steps"
    said = [f"{amount(snapshot.me.samples)} samples in {steps} of the model" if snapshot.me.samples else "nothing yet"]
    for row in snapshot.leaderboard:
        if row.is_me and row.rounds:
            said.append(f"averaged {amount(row.reduced)} numbers in {amount(row.rounds)} rounds")
        if row.is_me and row.relayed_bytes:
            said.append(f"passed on {volume(row.relayed_bytes)} for others")
    return ", ".join(said)


def leaderboard_text(standings: Sequence[LeaderboardRow]) -> str:
    """The leaderboard as a table; `*` marks this computer.

    Rounds, numbers averaged and bytes passed on for others are what the receipts of rounds say; shards shared and rows
    answered today are what those say who got them.
    """
    if not standings:
        return "Nobody has contributed yet."
    rows = [
        (
            *("", "Rank", "Name", "Samples", "Share", "Epochs", "Rounds", "Averaged", "Passed on"),
            *("Shared today", "Answered today"),
        )
    ]
    rows += [
        (
            "*" if row.is_me else "",
            str(row.rank),
            printable(row.name) + (" (shut out)" if row.revoked else ""),
            amount(row.samples),
            f"{row.share:.1%}",
            amount(row.epochs),
            amount(row.rounds),
            amount(row.reduced),
            volume(row.relayed_bytes) if row.relayed_bytes else "",
            volume(row.shared_bytes) if row.shared_bytes else "",
            amount(row.answered_rows) if row.answered_rows else "",
        )
        for row in standings
    ]
    return columns(rows, left={0, 2})


def columns(rows: Sequence[Sequence[str]], *, left: Container[int]) -> str:
    """Rows of one length, in aligned columns.

    Args:
        rows: At least one.
        left: Columns that begin at one place; the others end there.
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if column in left else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def notice_text(notice: Notice) -> str:
    """One notice on one line, in the local time."""
    moment = datetime.fromtimestamp(notice.time).astimezone()
    mark = "" if notice.level == "info" else f"{notice.level}: "
    return f"{moment:%Y-%m-%d %H:%M:%S}  {mark}{printable(notice.text)}"


def losses_of(found: dict[str, Any]) -> str:
    """Lines that say which files, or records of them, could not be read, and why; empty: all could."""
    more = found["loss_count"] - len(found["losses"])
    said = [one["words"] for one in found["losses"]] + [f"and {amount(more)} more"] * (more > 0)
    return "".join(f"  {'' if number else 'not read':11}{printable(one)}\n" for number, one in enumerate(said))
