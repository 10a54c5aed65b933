"""The outcome of a run of the demo: whether its volunteers hold the same model, and how much that model has learned."""

import asyncio
import contextlib
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from core.api.commands import ModelEvaluation
from core.api.numbers import amount, company, per_hundred
from core.api.score import Filled, Score
from core.api.snapshot import Activity, Snapshot
from core.base.problems import WorkerProblem, printable
from core.cli.printing.say import model_commands
from core.control.client import ControlClient
from core.control.engine_file import NoAnswer, NotRunning
from core.engine.embedded import EmbeddedOptions, volunteer_homes
from core.storage.paths import Home

DIFFERENCE_MAX = 1e-5
FINISH_TIMEOUT_S = 120.0


class DemoDone(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="done"):
    """The last line of `--json`: what this run came to."""

    collaboration: str
    epochs: int
    """Optimiser steps of this run."""
    epoch: int
    """Steps of the collaboration in all its runs."""
    peers: int
    """Volunteers that hold the last state."""
    loss_name: str
    """What is measured on held-out text, such as "masked-word loss"."""
    loss_unit: str
    guesses: str
    """What `right` is a share of, such as "blanks"."""
    loss_first: float
    loss_last: float
    right: float | None
    """The share of the held-out text's blanks that the last state fills right; None: the task has none."""
    baselines: dict[str, Score]
    """Scores of models that know only one thing, by that thing."""
    filled: tuple[Filled, ...]
    """Pieces of the held-out text as the last state fills them."""
    parameters_max_difference: float
    """Largest absolute difference of any parameter between any two volunteers, after the last epoch."""
    samples: int
    """Averaged in this run."""
    has_experts: bool
    """Whether parts of the model live on the volunteers' computers: it is exported, and not tried."""
    seconds: float


class DemoProgress(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="progress"):
    """A line of `--json` whenever an epoch ends or the activity changes."""

    epoch: int
    activity: str
    sentence: str
    peers: int
    """Volunteers that are here."""
    samples_per_s: float
    loss_training: float | None
    loss_heldout: float | None


@dataclass(frozen=True, slots=True)
class DemoRun:
    """One run of the demo in the terminal."""

    home: Home
    options: EmbeddedOptions
    json: bool
    started: float


def parameters_max_difference(files: Sequence[Path]) -> float:
    """The largest absolute difference of any parameter between any two of these checkpoints."""
    from safetensors.numpy import load_file  # noqa: PLC0415 - only needed at the end of a demo

    states = [load_file(path) for path in files]
    names = [name for name in states[0] if name.startswith("parameter")]
    if not names or any(set(state) != set(states[0]) for state in states):
        raise WorkerProblem("The volunteers' checkpoints do not have the same parameters.")
    lowest = {name: np.minimum.reduce([state[name] for state in states]) for name in names}
    highest = {name: np.maximum.reduce([state[name] for state in states]) for name in names}
    return max(float(np.max(highest[name] - lowest[name], initial=0.0)) for name in names)


def progress_of(news: Snapshot) -> DemoProgress:
    """The line of `--json` for this state of the engine."""
    training = [point.loss_training for point in news.curve if point.loss_training is not None]
    heldout = [point.loss_heldout for point in news.curve if point.loss_heldout is not None]
    return DemoProgress(
        epoch=news.epoch,
        activity=news.activity.value,
        sentence=news.sentence,
        peers=news.volunteers,
        samples_per_s=round(news.samples_per_s, 2),
        loss_training=training[-1] if training else None,
        loss_heldout=heldout[-1] if heldout else None,
    )


async def conclude(run: DemoRun, client: ControlClient, first: Snapshot) -> DemoDone:
    """Wait for the companions, compare the parameters, look at the held-out text once more."""
    homes = volunteer_homes(run.home, run.options)
    last = await client.snapshot()
    assert last.collaboration is not None
    await asyncio.gather(*(_finished(home, last.epoch) for home in homes[1:]))
    states = [home.state(last.collaboration.id) / "states" for home in homes]
    files = [file for folder in states for file in _newest(folder, last.epoch)]
    seen = msgspec.convert(await client.call("evaluate"), ModelEvaluation)
    last = await client.snapshot()
    begin = first.epoch
    losses = {point.epoch: point.loss_heldout for point in last.curve if point.loss_heldout is not None}
    earliest = min((epoch for epoch in losses if epoch >= begin), default=seen.epoch)
    return DemoDone(
        collaboration=last.collaboration.id if last.collaboration is not None else "",
        epochs=last.epoch - begin,
        epoch=last.epoch,
        peers=len(files),
        loss_name=seen.meaning.name,
        loss_unit=seen.meaning.unit,
        guesses=seen.meaning.guesses,
        loss_first=losses.get(earliest, seen.score.loss),
        loss_last=seen.score.loss,
        right=seen.score.right,
        baselines=seen.meaning.baselines,
        filled=seen.meaning.filled,
        parameters_max_difference=parameters_max_difference(files),
        samples=sum(row.samples for row in last.leaderboard) - sum(row.samples for row in first.leaderboard),
        has_experts=last.hosting is not None,
        seconds=round(time.monotonic() - run.started, 2),
    )


def _newest(states: Path, epoch: int) -> list[Path]:
    """The checkpoint of an epoch in a folder, as a list of one, or none."""
    found = states.glob(f"state-{epoch:08d}-*.safetensors")
    return sorted(found, key=lambda path: path.stat().st_mtime_ns)[-1:]


async def _finished(home: Home, epoch: int) -> None:
    """Wait until the companion on `home` holds the last state too."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(FINISH_TIMEOUT_S):
            while not await _seen_finished(home, epoch):  # noqa: ASYNC110 - it is another process's
                await asyncio.sleep(0.5)


async def _seen_finished(home: Home, epoch: int) -> bool:
    """Whether the companion on `home` came to its end while it could be reached."""
    with contextlib.suppress(NotRunning, NoAnswer):
        async with ControlClient.connect(home) as client:
            async for news in client.notifications():
                if isinstance(news, Snapshot) and news.activity is Activity.FINISHED and news.epoch >= epoch:
                    return True
    return False


def together(run: DemoRun, done: DemoDone) -> bool:
    """Whether all volunteers hold the same parameters; if not, it is said."""
    if done.peers == run.options.peers and done.parameters_max_difference <= DIFFERENCE_MAX:
        return True
    print(
        f"Only {done.peers} of {run.options.peers} volunteers hold the last state, or their parameters differ: "
        "this is a mistake in Potluck. The folder logs in its home helps to find it.",
        file=sys.stderr,
    )
    return False


def say_done(run: DemoRun, done: DemoDone) -> None:
    """Print what the run came to."""
    if run.json:
        say_line(done)
        return
    epochs = "1 epoch" if done.epochs == 1 else f"{amount(done.epochs)} epochs"
    simpler = ", ".join(f"{name} alone: {score.loss:.3f}" for name, score in done.baselines.items())
    print(
        f"Done: {epochs} by {company(done.peers, 0)}, {amount(done.samples)} samples in {done.seconds:.0f} s.\n"
        f"{done.loss_name.capitalize()} on held-out text, of which less is better: {done.loss_first:.3f} before, "
        f"{done.loss_last:.3f} after ({simpler}).\n{_guessing(done)}"
        f"Largest difference between the volunteers' parameters: {done.parameters_max_difference:.2g}.\n"
        f"The next start goes on from epoch {amount(done.epoch)}. "
        f"To use it: {model_commands(has_experts=done.has_experts)}"
    )


def _guessing(done: DemoDone) -> str:
    """Lines on what the model guesses right, with examples; none where it guesses nothing."""
    if done.right is None:
        return ""
    known = [(name, score.right) for name, score in done.baselines.items() if score.right is not None]
    simpler = "".join(f", {name} alone {per_hundred(right)}" for name, right in known)
    examples = "".join(f"  {printable(each.text)}\n" for each in done.filled)
    said = f"{per_hundred(done.right)} {printable(done.guesses)} right{simpler}."
    return f"{said} As it fills them, with the right words where it is wrong:\n{examples}" if examples else f"{said}\n"


def say_line(line: msgspec.Struct) -> None:
    """Print one object of `--json` on a line."""
    print(msgspec.json.encode(line).decode(), flush=True)
