"""Child processes that are spoken to by pipes, and those that report on their work in lines of JSON."""

import asyncio
import contextlib
import json
import logging
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any, BinaryIO

import msgspec

from core.base.data_source import SECRETS
from core.base.problems import BadInput, NoSpace, Problem, Said, UserProblem, WorkerProblem

LINE_BYTES_MAX = 1024 * 1024
END_S = 5.0
PROGRESS = "progress"
LOGGED_CHARS = 300


Reports = AsyncIterator[dict[str, Any]]
_LOG = logging.getLogger(__name__)


async def answer(
    command: Sequence[str],
    events: Collection[str],
    *,
    progress: Callable[[dict[str, Any]], None] = lambda _: None,
    log: BinaryIO | None = None,
    secrets: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """What a child finds that is started for one answer.

    Args:
        command: The program and its arguments.
        events: What the answer may be called.
        progress: Given each report `progress` before it.
        log: As for `reports`.
        secrets: As for `reports`.

    Raises:
        Problem: the child reports one.
        WorkerProblem: it ended without an answer.
    """
    async with reports(command, (PROGRESS, *events), log=log, secrets=secrets) as said:
        async for line in said:
            if line["event"] != PROGRESS:
                return line
            progress(line)
    raise WorkerProblem("A part of Potluck ended without an answer.", hint="What it printed or logged says why.")


@asynccontextmanager
async def reports(
    command: Sequence[str],
    events: Collection[str],
    *,
    log: BinaryIO | None = None,
    secrets: Mapping[str, str] = MappingProxyType({}),
) -> AsyncIterator[Reports]:
    """Start a child, and give what it prints, object by object, until its output ends.

    The child is told to end by the end of its standard input.  Where the block is left by an exception, it is killed.

    Args:
        command: The program and its arguments.
        events: Those that the caller has a case for; any other line is logged, and that is all.
        log: Where its errors go; None: to this process's own.
        secrets: Credentials, which the child finds in the variable `SECRETS`; a command line is there for all to read.
    """
    environ = {SECRETS: json.dumps(dict(secrets))} if secrets else {}
    process = await start(command, log=log, environ=environ, apart=True)
    try:
        yield _lines(process, events)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        raise
    finally:
        await end(process)


async def _lines(process: asyncio.subprocess.Process, events: Collection[str]) -> Reports:
    """The objects that the child prints.

    Args:
        process: The child.
        events: Those that are given.

    Raises:
        Problem: the child reports one, or ended by itself with a failure.
    """
    assert process.stdout is not None
    while line := await _line(process.stdout):
        said = _report(line)
        if said.get("event") == "problem":
            kinds: dict[str, type[Problem]] = {"bad_input": BadInput, "no_space": NoSpace, "worker": WorkerProblem}
            made = msgspec.convert(said.get("said", ()), Said)
            kind = kinds.get(said.get("code", ""), UserProblem)
            raise kind(str(said.get("message")), hint=str(said.get("hint", "")), said=made)
        if said.get("event") in events:
            yield said
        else:
            _LOG.warning("A part of Potluck says: %s", line.decode(errors="replace").rstrip()[:LOGGED_CHARS])
    if code := await process.wait():
        raise WorkerProblem(
            "A part of Potluck ended with code {code}.", code, hint="What it printed or logged says why."
        )


async def _line(stream: asyncio.StreamReader) -> bytes:
    """The next line; one that is longer than `LINE_BYTES_MAX` says nothing."""
    try:
        return await stream.readline()
    except ValueError:
        return b"{}\n"


def _report(line: bytes) -> dict[str, Any]:
    """The object on a line; an empty one where a library has printed something else."""
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


async def start(
    command: Sequence[str],
    *,
    log: BinaryIO | int | None = None,
    environ: Mapping[str, str] = MappingProxyType({}),
    line_bytes_max: int = LINE_BYTES_MAX,
    apart: bool = False,
) -> asyncio.subprocess.Process:
    """Start a child with a pipe to its standard input, whose end ends it, and one from its output; it has no window.

    Args:
        command: The program and its arguments.
        log: Where its errors go; None: to this process's own.
        environ: Variables that it has beside this process's, or in their place.
        line_bytes_max: Upper bound on a line of its output.
        apart: Whether Ctrl-C reaches this process only.

    Raises:
        OSError: it cannot be started.
    """
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=log,
        env={**os.environ, **environ},
        limit=line_bytes_max,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        start_new_session=apart and os.name != "nt",
    )


async def end(process: asyncio.subprocess.Process, *, patience_s: float = END_S) -> None:
    """Close a child's standard input, and make sure that it ends.

    Args:
        process: The child, which ends by itself when its input does.
        patience_s: Time after which it is killed.
    """
    if process.stdin is not None:
        process.stdin.close()
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await process.wait()
    finally:  # also where this is cancelled meanwhile
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
