"""`potluck demo`: a whole collaboration on this computer, in a window or in the terminal."""

import argparse
import asyncio
import contextlib
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from core.api.snapshot import Activity, Notice, Snapshot
from core.base.problems import BadInput, Busy, Problem, WorkerProblem
from core.cli.progress import LiveLine
from core.control.client import ControlClient, NotRunning, read_engine_file
from core.control.intents import Evaluation
from core.durable import make_directory
from core.embedded import EmbeddedOptions, own_command, volunteer_homes
from core.leash import stop_on_signals
from core.paths import Home
from core.workers.worker import open_log

EXIT_APART = 1
DIFFERENCE_MAX = 1e-5
START_TIMEOUT_S = 60.0
FINISH_TIMEOUT_S = 120.0
GOODBYE_TIMEOUT_S = 20.0
NOT_YET = frozenset({Activity.STARTING, Activity.JOINING, Activity.CATCHING_UP, Activity.PROBLEM})
"""Activities before the first epoch of a run."""


class Done(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="done"):
    """The last line of `--json`: what this run came to."""

    collaboration: str
    epochs: int
    """Optimiser steps of this run."""
    epoch: int
    """Steps of the collaboration in all its runs."""
    peers: int
    """Volunteers that hold the last state."""
    loss_first: float
    loss_last: float
    loss_unigram: float
    """Masked-word losses on held-out text, nats."""
    parameters_max_difference: float
    """Largest absolute difference of any parameter between any two volunteers, after the last epoch."""
    samples: int
    """Averaged in this run."""
    seconds: float


class Progress(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="progress"):
    """A line of `--json` whenever an epoch ends or the activity changes."""

    epoch: int
    activity: str
    sentence: str
    peers: int
    samples_per_s: float
    loss_training: float | None
    loss_heldout: float | None


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of the demo in the terminal."""

    home: Home
    options: EmbeddedOptions
    json: bool
    started: float


def run(args: argparse.Namespace) -> int:
    """`potluck demo`; see `potluck demo --help`."""
    home = Home.find(args.home)
    home.create()
    options = EmbeddedOptions(peers=args.peers, text=_text_folder(args.text), epochs=args.epochs)
    if not args.headless and _has_window():
        return _open_window(home, options)
    return asyncio.run(_in_terminal(_Run(home, options, args.json, time.monotonic())))


def engine_arguments(home: Home, options: EmbeddedOptions) -> list[str]:
    """The command line of the engine that brings the embedded collaboration along."""
    words = ["engine", "--home", str(home.directory), "--embedded", "--peers", str(options.peers)]
    if options.text is not None:
        words += ["--text", str(options.text)]
    if options.epochs is not None:
        words += ["--epochs", str(options.epochs)]
    return words


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


def _text_folder(folder: Path | None) -> Path | None:
    if folder is None:
        return None
    folder = folder.expanduser().absolute()
    if not str(folder).isprintable():
        raise BadInput("The name of this folder has letters that cannot be shown.", hint="Rename the folder.")
    if not folder.is_dir():
        raise BadInput(f"There is no folder {folder}.", hint="Name a folder that holds text files.")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise BadInput(f"The folder {folder} cannot be read.", hint="Check its permissions.")
    return folder


def _has_window() -> bool:
    screen = os.name == "nt" or sys.platform == "darwin" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    return bool(screen) and importlib.util.find_spec("PySide6") is not None


def _open_window(home: Home, options: EmbeddedOptions) -> int:
    """Start the engine in the background and the app in front of it."""
    if not _answers(home):
        make_directory(home.logs)
        with open_log(home.logs / "engine.log") as log:
            engine = subprocess.Popen(
                [*own_command("", "core"), *engine_arguments(home, options), "--stay", "--json"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=os.name != "nt",
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        _wait_for_engine(home, engine)
    return subprocess.call([*own_command("app", "app"), "--home", str(home.directory)])


def _answers(home: Home) -> bool:
    """Whether an engine runs on this home."""

    async def ask() -> bool:
        try:
            async with ControlClient.connect(home):
                return True
        except (NotRunning, TimeoutError):
            return False

    return asyncio.run(ask())


def _wait_for_engine(home: Home, engine: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if engine.poll() is not None:
            raise _ended((home.logs / "engine.log").read_text(errors="replace").splitlines()[-20:])
        file = read_engine_file(home)
        if file is not None and file.pid == engine.pid:
            return
        time.sleep(0.05)
    raise WorkerProblem("The engine did not start.", hint=f"The log {home.logs / 'engine.log'} says why.")


async def _in_terminal(run: _Run) -> int:
    if _running_elsewhere(run.home) and await asyncio.to_thread(_answers, run.home):
        raise Busy("Potluck is already running here.", hint="See it with: potluck status. Stop it with: potluck quit.")
    stop = asyncio.Event()
    stop_on_signals(stop.set)
    make_directory(run.home.logs)
    process = await _start(run)
    try:
        watching = asyncio.create_task(_watch(run, process))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({watching, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if stop.is_set():
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
            print("Stopping; the next start goes on from the last epoch.", file=sys.stderr)
            return 130
        done = await watching
    finally:
        await _end(process)
    _say_done(run, done)
    return 0 if _together(run, done) else EXIT_APART


def _running_elsewhere(home: Home) -> bool:
    return read_engine_file(home) is not None


async def _start(run: _Run) -> asyncio.subprocess.Process:
    """The engine, on our leash, in a session of its own so that Ctrl-C reaches us alone."""
    with open_log(run.home.logs / "engine.log") as log:
        return await asyncio.create_subprocess_exec(
            *own_command("", "core"),
            *engine_arguments(run.home, run.options),
            "--leash",
            "--json",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            start_new_session=os.name != "nt",
        )


async def _end(process: asyncio.subprocess.Process) -> None:
    """Let go of the leash; the engine says goodbye and ends, with all that it started."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), 20.0)
    except TimeoutError:
        process.kill()
        await process.wait()


async def _watch(run: _Run, process: asyncio.subprocess.Process) -> Done:
    """Follow the engine until the last epoch is done everywhere."""
    said = asyncio.create_task(_last_lines(process))
    shown = LiveLine(sys.stderr)
    following = asyncio.create_task(_follow(run, process, shown))
    try:
        await asyncio.wait({following, said}, return_when=asyncio.FIRST_COMPLETED)
        if following.done() and not isinstance(following.exception(), NotRunning):
            return following.result()
        with contextlib.suppress(TimeoutError):
            lines = await asyncio.wait_for(said, GOODBYE_TIMEOUT_S)
            if await asyncio.wait_for(process.wait(), GOODBYE_TIMEOUT_S) == 0:
                raise NotRunning("The engine was told to stop.", hint="The next start goes on from the last epoch.")
            raise _ended(lines)
        return following.result()
    finally:
        shown.close()
        for task in (following, said):
            task.cancel()


async def _last_lines(process: asyncio.subprocess.Process) -> list[str]:
    """The engine's last words, of which its problem is the only one; complete once it has ended."""
    lines: list[str] = []
    assert process.stdout is not None
    while line := await process.stdout.readline():
        lines = [*lines[-20:], line.decode(errors="replace").rstrip()]
    return lines


def _ended(lines: list[str]) -> Problem:
    """Why the engine ended by itself: the problem that it printed, if it printed one."""
    for line in reversed(lines):
        with contextlib.suppress(msgspec.MsgspecError, TypeError, KeyError):
            said = msgspec.json.decode(line, type=dict[str, str])
            if said.get("event") == "problem":
                problem = WorkerProblem(said["message"], hint=said.get("hint", ""))
                problem.code = said["code"]
                return problem
    text = f" It said: {lines[-1]}" if lines else ""
    return WorkerProblem(f"The engine ended by itself.{text}", hint="The log engine.log in its home says more.")


async def _follow(run: _Run, process: asyncio.subprocess.Process, shown: LiveLine) -> Done:
    await _listening(run.home, process)
    async with ControlClient.connect(run.home) as client:
        first: Snapshot | None = None
        said: tuple[int, str] | None = None
        if not (await client.snapshot()).contributing:
            shown.message("Contributing was paused here; whoever starts the demo wants it on.")
            await client.call("resume")
        async for news in client.notifications():
            match news:
                case Notice(level=level, text=text) if level != "info" and not run.json:
                    shown.message(text)
                case Snapshot():
                    if not run.json:
                        shown.update(news)
                    elif (news.epoch, news.activity.value) != said:
                        said = (news.epoch, news.activity.value)
                        _print(_progress(news))
                    if first is None and news.activity not in NOT_YET:
                        first = news
                    if news.activity is Activity.PROBLEM and news.problem is not None:
                        raise _shown_problem(news)
                    if news.activity is Activity.FINISHED and first is not None:
                        return await _conclude(run, client, first)
    raise NotRunning("The engine has stopped.", hint="Start again.")


async def _listening(home: Home, process: asyncio.subprocess.Process) -> None:
    while True:
        file = read_engine_file(home)
        if file is not None and file.pid == process.pid:
            return
        await asyncio.sleep(0.05)


def _shown_problem(news: Snapshot) -> Problem:
    assert news.problem is not None
    problem = WorkerProblem(news.problem.message, hint=news.problem.hint)
    problem.code = news.problem.code
    return problem


def _progress(news: Snapshot) -> Progress:
    training = [point.loss_training for point in news.curve if point.loss_training is not None]
    heldout = [point.loss_heldout for point in news.curve if point.loss_heldout is not None]
    return Progress(
        epoch=news.epoch,
        activity=news.activity.value,
        sentence=news.sentence,
        peers=sum(peer.role == "volunteer" for peer in news.peers),
        samples_per_s=round(news.samples_per_s, 2),
        loss_training=training[-1] if training else None,
        loss_heldout=heldout[-1] if heldout else None,
    )


async def _conclude(run: _Run, client: ControlClient, first: Snapshot) -> Done:
    """Wait for the companions, compare the parameters, look at the held-out text once more."""
    homes = volunteer_homes(run.home, run.options)
    last = await client.snapshot()
    assert last.collaboration is not None
    await asyncio.gather(*(_finished(home, last.epoch) for home in homes[1:]))
    states = [home.state(last.collaboration.id) / "states" for home in homes]
    files = [file for folder in states for file in _newest(folder, last.epoch)]
    seen = msgspec.convert(await client.call("evaluate"), Evaluation)
    last = await client.snapshot()
    begin = first.epoch
    losses = {point.epoch: point.loss_heldout for point in last.curve if point.loss_heldout is not None}
    earliest = min((epoch for epoch in losses if epoch >= begin), default=seen.epoch)
    return Done(
        collaboration=last.collaboration.id if last.collaboration is not None else "",
        epochs=last.epoch - begin,
        epoch=last.epoch,
        peers=len(files),
        loss_first=losses.get(earliest, seen.loss),
        loss_last=seen.loss,
        loss_unigram=seen.loss_unigram,
        parameters_max_difference=parameters_max_difference(files),
        samples=sum(row.samples for row in last.leaderboard) - sum(row.samples for row in first.leaderboard),
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
    with contextlib.suppress(NotRunning, TimeoutError):
        async with ControlClient.connect(home) as client:
            async for news in client.notifications():
                if isinstance(news, Snapshot) and news.activity is Activity.FINISHED and news.epoch >= epoch:
                    return True
    return False


def _together(run: _Run, done: Done) -> bool:
    """Whether all volunteers hold the same parameters; if not, it is said."""
    if done.peers == run.options.peers and done.parameters_max_difference <= DIFFERENCE_MAX:
        return True
    print(
        f"Only {done.peers} of {run.options.peers} volunteers hold the last state, or their parameters differ: "
        "this is a mistake in Potluck. The folder logs in its home helps to find it.",
        file=sys.stderr,
    )
    return False


def _say_done(run: _Run, done: Done) -> None:
    if run.json:
        _print(done)
        return
    epochs = "1 epoch" if done.epochs == 1 else f"{done.epochs} epochs"
    print(
        f"Done: {epochs} by {done.peers} volunteers, {done.samples:,} samples in {done.seconds:.0f} s.\n"
        f"Masked-word loss on held-out text: {done.loss_first:.3f} before, {done.loss_last:.3f} after "
        f"(a model of word frequencies alone: {done.loss_unigram:.3f}).\n"
        f"Largest difference between the volunteers' parameters: {done.parameters_max_difference:.2g}."
    )


def _print(line: msgspec.Struct) -> None:
    print(msgspec.json.encode(line).decode(), flush=True)
