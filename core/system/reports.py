"""A child process that reports on its work in lines of JSON."""

import asyncio
import contextlib
import json
import os
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any, BinaryIO

from core.base.data_source import SECRETS
from core.base.problems import BadInput, NoSpace, Problem, UserProblem, WorkerProblem

LINE_BYTES_MAX = 1024 * 1024
END_S = 5.0


Reports = AsyncIterator[dict[str, Any]]


@asynccontextmanager
async def reports(
    command: Sequence[str], *, log: BinaryIO | None = None, secrets: Mapping[str, str] = MappingProxyType({})
) -> AsyncIterator[Reports]:
    """Start a child, and give what it prints, object by object, until its output ends.

    The child is told to end by the end of its standard input.  Where the block is left by an exception, it is killed.

    Args:
        command: The program and its arguments.
        log: Where its errors go; None: to this process's own.
        secrets: Credentials, which the child finds in the variable `SECRETS`; a command line is there for all to read.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=log,
        env={**os.environ, SECRETS: json.dumps(dict(secrets))} if secrets else None,
        limit=LINE_BYTES_MAX,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        start_new_session=os.name != "nt",  # Ctrl-C reaches this process only
    )
    try:
        yield _lines(process)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        raise
    finally:
        await end(process)


async def _lines(process: asyncio.subprocess.Process) -> Reports:
    """The objects that the child prints.

    Raises:
        Problem: the child reports one, or ended by itself with a failure.
    """
    assert process.stdout is not None
    while line := await process.stdout.readline():
        said = json.loads(line)
        if said["event"] == "problem":
            kinds: dict[str, type[Problem]] = {"bad_input": BadInput, "no_space": NoSpace, "worker": WorkerProblem}
            raise kinds.get(said["code"], UserProblem)(said["message"], hint=said["hint"])
        yield said
    if code := await process.wait():
        raise WorkerProblem(f"A part of Potluck ended with code {code}.", hint="What it printed or logged says why.")


async def end(process: asyncio.subprocess.Process) -> None:
    """Close a child's standard input, and make sure that it ends."""
    if process.stdin is not None:
        process.stdin.close()
    if process.returncode is None:
        try:
            await asyncio.wait_for(process.wait(), END_S)
        except TimeoutError:
            process.kill()
            await process.wait()
