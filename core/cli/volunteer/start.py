"""The program behind `potluck engine`: from its options to its end, engine after engine."""

import argparse
import asyncio
import contextlib
import logging
import os
from collections.abc import Coroutine
from random import SystemRandom

from core.api.crash_report import watch
from core.api.snapshot import Notice
from core.backbone.link import Link, parse_link
from core.base.problems import BadInput, NoTrainingPart, Problem, ShutOut, printable
from core.cli.parsing.options import recipe_file, text_folder
from core.cli.printing.say import say_problem
from core.cli.running import EVERYWHERE, MIB, log_to_stderr
from core.engine.embedded import Embedded, EmbeddedOptions, own_threads
from core.engine.engine import FAILED, Engine
from core.engine.hosting import Hosting
from core.engine.installation import EngineOptions
from core.engine.remembered.collaborations import Collaborations
from core.engine.turn_taking import TurnTaking
from core.net.addresses.hosts import read_host
from core.net.addresses.interfaces import LOOPBACK
from core.net.clock import Clock
from core.parts import part
from core.schedule.sense_source import NoSenses, SenseSource
from core.schedule.senses.child import SensesChild
from core.storage.paths import Home
from core.system.atomic_files import make_directory
from core.system.child_process import trains
from core.system.parent_watch import stop_on_signals, watch_parent
from core.system.startup import EXIT_SHUT_OUT
from core.system.usage import raise_file_limit
from core.updates.launcher import go_on
from core.workers.frames import MetricFiles

RENEWS = -1
"""In the place of an exit code: the newest version is to go on."""

_LOG = logging.getLogger("potluck")


def run_engine(args: argparse.Namespace) -> int:
    """`potluck engine`; see `potluck engine --help`."""
    log_to_stderr()
    raise_file_limit()
    watch(Home.find(args.home).directory, "engine")
    try:
        code = asyncio.run(_run_engine(args))
    except ShutOut as problem:
        say_problem(problem, json=args.json)
        return EXIT_SHUT_OUT
    return go_on() if code == RENEWS else code


async def _run_engine(args: argparse.Namespace) -> int:
    """Run an engine, and again one as often as a client asks for it: then the current collaboration goes first."""
    home, clock = Home.find(args.home), Clock()
    home.create()
    args.text = text_folder(args.text)
    running, ended = list[Engine](), asyncio.Event()

    def stop() -> None:
        ended.set()
        for engine in running:
            engine.life.end()

    stop_on_signals(stop)
    if args.with_parent:
        watch_parent(stop)
    hosting = Hosting(home, SystemRandom())
    try:
        return await _run_each(args, clock, running, hosting, ended)
    finally:
        await hosting.close()


async def _run_each(
    args: argparse.Namespace, clock: Clock, running: list[Engine], hosting: Hosting, ended: asyncio.Event
) -> int:
    """Run engine after engine.

    Args:
        args: What the person typed.
        clock: The time.
        running: Has the present one.
        hosting: What this computer does for collaborations of its own.
        ended: This process was told to end, which may be while there is no engine.

    Returns:
        The exit code, or `RENEWS`.
    """
    home = Home.find(args.home)
    collaborations = Collaborations(home)
    named = parse_link(args.join) if args.join is not None else None
    alone = args.embedded
    while True:
        await asyncio.to_thread(part.use, home.directory, whole=True)
        link = None if alone else named or collaborations.current
        if link is None and running and not args.or_embedded:
            return 0  # the last one was left
        if link is None and not args.embedded and not args.or_embedded:
            raise BadInput(
                "This computer takes part in no collaboration.",
                hint="Join one with its link: in the window, or with potluck join LINK. Alone: potluck demo --headless",
            )
        running[:] = [Engine(_engine_options(args, home, alone=link is None), clock, _senses(home))]
        if ended.is_set():
            running[0].life.end()
        running[0].life.installation.notices.listen(log_notice if args.stay else _log_in_passing)
        code = await _run_once(running[0], link, args, hosting)
        if not running[0].life.again:
            return RENEWS if running[0].life.renews else code
        alone, named = False, None


def _senses(home: Home) -> SenseSource:
    """The senses of an engine: one of its own process, unless POTLUCK_SENSES=off."""
    if os.environ.get("POTLUCK_SENSES", "").lower() == "off":
        return NoSenses()
    make_directory(home.logs)
    return SensesChild(home.logs / "senses.log", SystemRandom())


async def _run_once(engine: Engine, link: Link | None, args: argparse.Namespace, hosting: Hosting) -> int:
    """Run an engine from its claim of the home to its goodbye."""
    await engine.open()
    hosting.begin()
    watching = asyncio.create_task(engine.keep_watch())
    watching.add_done_callback(lambda _: engine.life.end())  # a mistake in it ends the engine
    collaborations = Collaborations(Home.find(args.home))
    try:
        if link is not None and link != collaborations.current:
            collaborations.keep(link)
        return await _until_quit(_work(engine, link, args), engine)
    except Problem as problem:
        engine.fail(problem)
        if not args.stay:
            raise
        await engine.life.quit.wait()
        return 0
    finally:
        watching.cancel()
        await engine.close()
        with contextlib.suppress(asyncio.CancelledError):
            await watching


def _engine_options(args: argparse.Namespace, home: Home, *, alone: bool) -> EngineOptions:
    """The options of an engine; one that is alone on this computer with its companions is to be seen by nobody else."""
    return EngineOptions(
        home=home,
        name=args.name or "",
        bind=args.bind or (LOOPBACK if alone else EVERYWHERE),
        host=read_host(args.host or (LOOPBACK if alone else "")),
        port=args.port,
        threads=args.threads or (own_threads(args.peers) if alone else 0),
        text=_embedded_options(args).readable if alone else args.text,
        last_epoch=args.last_epoch,
        metrics=_metric_files(args),
        evaluate_first=alone,
        help_bytes=_help_bytes(args),
        trains=trains(),
        stay=args.stay,
    )


def _metric_files(args: argparse.Namespace) -> MetricFiles:
    """Where the worker, whose working folder is another one, writes metrics."""
    places = {"lines": args.metrics, "prometheus": args.prometheus, "tensorboard": args.tensorboard}
    return MetricFiles(**{name: str(path.expanduser().absolute()) for name, path in places.items() if path is not None})


async def _work(engine: Engine, link: Link | None, args: argparse.Namespace) -> None:
    """Take part in the collaborations that were joined, that of the link first; without a link in an embedded one."""
    try:
        if link is not None:
            kept = Collaborations(Home.find(args.home)).all()
            await TurnTaking(engine, kept, patience_s=args.patience, random=SystemRandom()).serve()
        else:
            await _work_embedded(engine, args)
    except BaseExceptionGroup as errors:
        raise _first_problem(errors) from errors


async def _work_embedded(engine: Engine, args: argparse.Namespace) -> None:
    if not trains():
        raise NoTrainingPart
    embedded = Embedded(
        home=Home.find(args.home),
        options=_embedded_options(args),
        policy=engine.usage_policy,
        random=SystemRandom(),
    )
    embedded.stage = engine.stage
    notices = engine.life.installation.notices
    embedded.begun_again = lambda folder: notices.tell("info", "embedded.again", folder=folder.name)
    charter = await embedded.found()
    engine.stop_after(embedded.last_epoch(charter))
    linked: asyncio.Future[Link] = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as group:
        others = group.create_task(embedded.run(charter, linked.set_result))
        await engine.serve(await linked)
        others.cancel()


def _embedded_options(args: argparse.Namespace) -> EmbeddedOptions:
    return EmbeddedOptions(
        peers=args.peers,
        text=args.text,
        epochs=args.epochs,
        delayed=args.delayed,
        recipe=recipe_file(args.recipe),
    )


async def _until_quit(work: Coroutine[None, None, None], engine: Engine) -> int:
    """Do the work; when somebody wants to quit while it is still being prepared, let it go."""
    working = asyncio.ensure_future(work)
    quitting = asyncio.ensure_future(engine.life.quit.wait())
    await asyncio.wait({working, quitting}, return_when=asyncio.FIRST_COMPLETED)
    quitting.cancel()
    if not working.done() and engine.life.session is None:
        working.cancel()
    try:
        await working
    except asyncio.CancelledError:
        return 0
    return 0


def _help_bytes(args: argparse.Namespace) -> int:
    """Memory of an engine that only helps, since it is to, or has nothing that trains; 0: it trains.

    Raises:
        BadInput: it is to help nobody, or with nothing.
    """
    if not args.helper:
        return 0 if trains() else max(int(args.averaging_memory), 1) * MIB
    if args.embedded or not args.averaging_memory:
        raise BadInput(
            "A helper averages what others have trained.",
            hint="Name their collaboration with --join, and give it memory with --averaging-memory.",
        )
    return int(args.averaging_memory) * MIB


def _first_problem(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The problem in a group of errors; the group itself if there is none."""
    for error in errors.exceptions:
        if isinstance(error, BaseExceptionGroup):
            inner = _first_problem(error)
            if isinstance(inner, Problem):
                return inner
        if isinstance(error, Problem):
            return error
    return errors


def log_notice(notice: Notice) -> None:
    """Write to the log what the window would tell: it is all that a person without one sees."""
    level = {"info": logging.INFO, "warning": logging.WARNING}.get(notice.level, logging.ERROR)
    _LOG.log(level, "%s", printable(notice.text))


def _log_in_passing(notice: Notice) -> None:
    """Write a notice to the log, except the one that ends the program: its last words say that."""
    if notice.code != FAILED:
        log_notice(notice)
