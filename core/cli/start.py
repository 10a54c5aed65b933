"""The programs of `potluck engine` and `potluck backbone`."""

import argparse
import asyncio
import logging
import sys
from collections.abc import Coroutine
from pathlib import Path
from random import SystemRandom

from aiohttp.http_exceptions import HttpProcessingError

from core.backbone.charter import load_charter
from core.backbone.link import Link, parse_link
from core.backbone.serve import Ports, serve_backbone
from core.base.problems import BadInput, Problem
from core.cli.options import text_folder
from core.engine.embedded import LOOPBACK, Embedded, EmbeddedOptions
from core.engine.engine import Engine
from core.engine.options import EngineOptions
from core.net.clock import Clock
from core.net.interfaces import is_loopback
from core.net.name_resolver import is_literal, is_name
from core.storage.paths import Home
from core.system.parent_watch import stop_on_signals, watch_parent

EXIT_PROBLEM = 2
MIB = 1024 * 1024
EVERYWHERE = "0.0.0.0"  # noqa: S104 - a peer is there to be reached


def run_engine(args: argparse.Namespace) -> int:
    """`potluck engine`; see `potluck engine --help`."""
    _log_to_stderr()
    if args.join is None and not args.embedded:
        raise BadInput(
            "No collaboration is named.", hint="Give its link with --join, or bring one along with --embedded."
        )
    return asyncio.run(_run_engine(args))


def run_backbone(args: argparse.Namespace) -> int:
    """`potluck backbone`; see `potluck backbone --help`."""
    _log_to_stderr()
    charter = load_charter(args.charter.expanduser().absolute())
    bind, host = args.bind or EVERYWHERE, _told(args.host or LOOPBACK)
    if is_loopback(host) and not is_loopback(bind):
        print(
            "potluck: This link works on this computer only. "
            "For others, name an address at which they find it: --host ADDRESS",
            file=sys.stderr,
        )
    ports = Ports(args.port, args.desk_port)
    help_bytes = args.averaging_memory * MIB
    asyncio.run(
        serve_backbone(
            charter=charter, bind=bind, host=host, with_parent=args.with_parent, ports=ports, help_bytes=help_bytes
        )
    )
    return 0


async def _run_engine(args: argparse.Namespace) -> int:
    clock = Clock()
    home = Home.find(args.home)
    home.create()
    text = text_folder(args.text)
    embedded = _embedded(args, home, text)
    engine_options = EngineOptions(
        home=home,
        name=args.name or "",
        bind=args.bind or (LOOPBACK if args.embedded else EVERYWHERE),
        host=_told(args.host or (LOOPBACK if args.embedded else "")),
        port=args.port,
        threads=args.threads or 1,
        text=text,
        last_epoch=args.last_epoch,
        evaluate_first=args.embedded,
        help_bytes=_help_bytes(args),
        stay=args.stay,
    )
    engine = Engine(engine_options, clock)
    await engine.open()
    stop_on_signals(engine.stop)
    if args.with_parent:
        watch_parent(engine.stop)
    try:
        return await _until_quit(_work(engine, embedded, args), engine)
    except Problem as problem:
        if not args.stay:
            raise
        engine.fail(problem)
        await engine.until_quit()
        return EXIT_PROBLEM
    finally:
        await engine.close()


async def _work(engine: Engine, embedded: Embedded | None, args: argparse.Namespace) -> None:
    """Take part, with or without an embedded collaboration."""
    try:
        if embedded is None:
            await engine.serve(parse_link(args.join))
        else:
            await _work_embedded(engine, embedded)
    except BaseExceptionGroup as errors:
        raise _first_problem(errors) from errors


async def _work_embedded(engine: Engine, embedded: Embedded) -> None:
    embedded.stage = engine.stage
    charter = await embedded.found()
    engine.stop_after(embedded.last_epoch(charter))
    linked: asyncio.Future[Link] = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as group:
        others = group.create_task(embedded.run(charter, linked.set_result))
        await engine.serve(await linked)
        others.cancel()


async def _until_quit(work: Coroutine[None, None, None], engine: Engine) -> int:
    """Do the work; when somebody wants to quit while it is still being prepared, let it go."""
    working = asyncio.ensure_future(work)
    quitting = asyncio.ensure_future(engine.until_quit())
    await asyncio.wait({working, quitting}, return_when=asyncio.FIRST_COMPLETED)
    quitting.cancel()
    if not working.done() and not engine.serving:
        working.cancel()
    try:
        await working
    except asyncio.CancelledError:
        return 0
    return 0


def _embedded(args: argparse.Namespace, home: Home, text: Path | None) -> Embedded | None:
    if not args.embedded:
        return None
    options = EmbeddedOptions(peers=args.peers, text=text, epochs=args.epochs, delayed=args.delayed, task=args.task)
    return Embedded(home=home, options=options, random=SystemRandom())


def _help_bytes(args: argparse.Namespace) -> int:
    """Memory of an engine that only helps; 0: it trains.

    Raises:
        BadInput: it is to help nobody, or with nothing.
    """
    if not args.helper:
        return 0
    if args.embedded or not args.averaging_memory:
        raise BadInput(
            "A helper averages what others have trained.",
            hint="Name their collaboration with --join, and give it memory with --averaging-memory.",
        )
    return int(args.averaging_memory) * MIB


def _told(host: str) -> str:
    """An address that others can be told; empty: the one that they see.

    Raises:
        BadInput: nobody could call it.
    """
    if host and not is_literal(host) and not is_name(host):
        raise BadInput(
            f"{host[:60]!a} is no address that others could call.",
            hint="Write an IP address, or a name such as potluck.example.org, without a port.",
        )
    return host


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


def _log_to_stderr() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("aiohttp.server").addFilter(_by_us)
    logging.getLogger("quic").setLevel(logging.WARNING)
    logging.getLogger("zeroconf").setLevel(logging.ERROR)


def _by_us(record: logging.LogRecord) -> bool:
    """Whether a log record comes from this program; no stranger's garbage shall fill the disk."""
    return record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError)
