"""Runs a script that measures a rival, with a Python in which that rival is installed."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import psutil

from core.base.problems import BadInput, Problem


async def figures_of(python: Path, script: Path, arguments: Sequence[str], *, limit_s: float) -> dict[str, Any]:
    """Run a rival's script, and read the last object of JSON that it prints.

    Ctrl-C in the terminal does not reach the script: it is killed when the waiting is cancelled.

    Args:
        python: Interpreter with the rival.
        script: The script, in its own folder.
        arguments: Its command line.
        limit_s: It and its children are killed after this many seconds.

    Raises:
        BadInput: there is no such Python or script, or the system cannot run it.
        Problem: the script failed or takes too long.
    """
    _check(python, script)
    try:
        process = await asyncio.create_subprocess_exec(
            str(python),
            script.name,
            *arguments,
            cwd=script.parent,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    except OSError as error:  # not executable, of another kind of computer, its interpreter gone
        raise BadInput(f"{python} cannot be run: {error.strerror}.") from error
    try:
        async with asyncio.timeout(limit_s):
            out, _ = await process.communicate()
    except TimeoutError as error:
        raise Problem(f"The measurement {script.name} takes too long.") from error
    finally:
        await _end(process)
    return _last_object(out, script.name)


def _check(python: Path, script: Path) -> None:
    if not python.is_file() or not script.is_file():
        raise BadInput(f"There is no {python} or no {script}.")


def _last_object(out: bytes, name: str) -> dict[str, Any]:
    for line in reversed(out.splitlines()):
        try:
            return msgspec.json.decode(line, type=dict[str, Any])
        except msgspec.MsgspecError:
            continue
    raise Problem(f"The measurement {name} printed no figures.", hint="What it wrote above says why.")


async def _end(process: asyncio.subprocess.Process) -> None:
    """End it and what it has started, even what is stopped, and what a script that has failed leaves running."""
    if process.returncode is not None:
        if sys.platform != "win32":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # its session: nothing else ends it, no Ctrl-C reaches it
        return
    try:
        family = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        family = []
    process.kill()
    for member in family:
        try:
            member.kill()
        except psutil.NoSuchProcess:
            continue
    await process.wait()
