"""`potluck demo`: a whole collaboration on this computer, in a window or in the terminal."""

import argparse
import asyncio
import contextlib
import importlib.util
import os
import subprocess
import sys
import time

import msgspec

from core.api.snapshot import Activity, Notice, ProblemView, Snapshot
from core.base.problems import Busy, Problem, Sentence, WorkerProblem
from core.cli.parsing.options import recipe_file, text_folder
from core.cli.printing.progress import LiveLine
from core.cli.volunteer.outcome import DemoDone, DemoRun, conclude, progress_of, say_done, say_line, together
from core.control.client import ControlClient
from core.control.engine_file import NotRunning, read_engine_file
from core.engine.embedded import EmbeddedOptions
from core.storage.paths import Home
from core.system.atomic_files import make_directory
from core.system.child_process import open_log, own_command
from core.system.parent_watch import stop_on_signals
from core.system.reports import end, start

EXIT_APART = 1
START_TIMEOUT_S = 60.0
GOODBYE_TIMEOUT_S = 20.0
NOT_YET = frozenset({Activity.STARTING, Activity.JOINING, Activity.CATCHING_UP, Activity.PROBLEM})
"""Activities before the first epoch of a run."""


def run(args: argparse.Namespace) -> int:
    """`potluck demo`; see `potluck demo --help`."""
    home = Home.find(args.home)
    home.create()
    text = text_folder(args.text)
    recipe = recipe_file(args.recipe)
    options = EmbeddedOptions(peers=args.peers, text=text, epochs=args.epochs, delayed=args.delayed, recipe=recipe)
    options.read_recipe()  # what is wrong with it is said before anything starts
    if not args.headless and _has_window():
        return _open_window(home, options)
    return asyncio.run(_in_terminal(DemoRun(home, options, args.json, time.monotonic())))


def engine_arguments(home: Home, options: EmbeddedOptions) -> list[str]:
    """The command line of the engine that brings the embedded collaboration along."""
    return ["engine", "--home", str(home.directory), "--embedded", *_options(options)]


def _options(options: EmbeddedOptions) -> list[str]:
    words = ["--peers", str(options.peers), "--recipe", str(options.recipe)]
    if options.text is not None:
        words += ["--text", str(options.text)]
    if options.epochs is not None:
        words += ["--epochs", str(options.epochs)]
    if options.delayed:
        words.append("--delayed")
    return words


def _has_window() -> bool:
    screen = os.name == "nt" or sys.platform == "darwin" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    return bool(screen) and importlib.util.find_spec("PySide6") is not None


def _open_window(home: Home, options: EmbeddedOptions) -> int:
    """Start the engine in the background and the app in front of it."""
    if not _answers(home):
        make_directory(home.logs)
        with open_log(home.logs / "engine.log") as log:
            engine = subprocess.Popen(
                [*own_command(), *engine_arguments(home, options), "--stay", "--json"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=os.name != "nt",
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        _wait_for_engine(home, engine)
    again = _options(options)  # an engine that was killed goes on with the same text and recipe
    return subprocess.call([*own_command("app", "app"), "--home", str(home.directory), "--engine", *again])


def _answers(home: Home) -> bool:
    """Whether an engine runs on this home."""

    async def ask() -> bool:
        try:
            async with ControlClient.connect(home):
                return True
        except NotRunning:
            return False

    return asyncio.run(ask())


def _wait_for_engine(home: Home, engine: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if engine.poll() is not None:
            raise _ended(home, (home.logs / "engine.log").read_text(errors="replace").splitlines()[-20:])
        file = read_engine_file(home)
        if file is not None and file.pid == engine.pid:
            return
        time.sleep(0.05)
    raise WorkerProblem("The engine did not start.", home.logs / "engine.log", hint="The log {logs} says why.")


async def _in_terminal(run: DemoRun) -> int:
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
        await end(process, patience_s=GOODBYE_TIMEOUT_S)  # the engine says goodbye and ends, with all that it started
    say_done(run, done)
    return 0 if together(run, done) else EXIT_APART


def _running_elsewhere(home: Home) -> bool:
    return read_engine_file(home) is not None


async def _start(run: DemoRun) -> asyncio.subprocess.Process:
    """Start the engine, which ends with this process, in a session of its own so that Ctrl-C reaches only this one."""
    command = [*own_command(), *engine_arguments(run.home, run.options), "--with-parent", "--json"]
    with open_log(run.home.logs / "engine.log") as log:
        return await start(command, log=log, apart=True)


async def _watch(run: DemoRun, process: asyncio.subprocess.Process) -> DemoDone:
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
                raise NotRunning("The engine was told to stop.", hint="The next start goes on from the last step.")
            raise _ended(run.home, lines)
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


def _ended(home: Home, lines: list[str]) -> Problem:
    """Why the engine ended by itself: the problem that it printed, if it printed one."""
    for line in reversed(lines):
        with contextlib.suppress(msgspec.MsgspecError):
            return _again(msgspec.json.decode(line, type=ProblemView))
    said = (
        Sentence("The engine ended by itself. It said: {line}", lines[-1]) if lines else "The engine ended by itself."
    )
    return WorkerProblem(said, hint=Sentence("The log {logs} says more.", home.logs / "engine.log"))


async def _follow(run: DemoRun, process: asyncio.subprocess.Process, shown: LiveLine) -> DemoDone:
    await _listening(run.home, process)
    async with ControlClient.connect(run.home) as client:
        first: Snapshot | None = None
        last: Snapshot | None = None
        if not (await client.snapshot()).contributing:
            shown.message("Contributing was paused here; the demo switches it on.")
            await client.call("resume")
        async for news in client.notifications():
            match news:
                case Notice(level=level, text=text) if level != "info" and not run.json:
                    shown.message(text)
                case Snapshot():
                    _tell(run, shown, news=news, last=last)
                    last = news
                    if first is None and news.activity not in NOT_YET:
                        first = news
                    if news.problem is not None and ends_the_run(news, begun=first is not None):
                        raise _again(news.problem)
                    if news.activity is Activity.FINISHED and first is not None:
                        return await conclude(run, client, first)
    raise NotRunning("The engine has stopped.", hint="Start again.")


def _tell(run: DemoRun, shown: LiveLine, *, news: Snapshot, last: Snapshot | None) -> None:
    """Show a state; as JSON only if its epoch or activity differs from the last one's."""
    if run.json:
        if last is None or (news.epoch, news.activity) != (last.epoch, last.activity):
            say_line(progress_of(news))
        return
    shown.update(news)
    if news.rests and (last is None or not last.rests) and news.contributing:
        shown.message(f"{news.sentence} To train in spite of your rules: potluck resume --for 1h")
    if news.problem is not None and (last is None or last.problem != news.problem):
        shown.message(f"{news.problem.message} {news.problem.hint}".strip())


def ends_the_run(news: Snapshot, *, begun: bool) -> bool:
    """Whether a problem is in the way for good.

    Before training has begun any is; later not one of the training process, which is started again.
    """
    if news.activity is not Activity.PROBLEM or news.problem is None:
        return False
    return not begun or news.problem.code != WorkerProblem.code


async def _listening(home: Home, process: asyncio.subprocess.Process) -> None:
    while True:
        file = read_engine_file(home)
        if file is not None and file.pid == process.pid:
            return
        await asyncio.sleep(0.05)


def _again(view: ProblemView) -> Problem:
    """The engine's problem, as if it had been raised here."""
    problem = WorkerProblem(view.message, hint=view.hint, said=view.said)
    problem.code = view.code
    return problem
