"""Runs the script that measures hivemind's DHT, with a Python in which hivemind is installed."""

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import psutil

from core.base.problems import BadInput, Problem

SCRIPT = "bench_dht.py"
LIMIT_S = 1800.0


async def measure(python: Path, scripts: Path, *, nodes: int, processes: int, freeze: bool) -> dict[str, Any]:
    """What the script prints, with the names of its last figures as ours.

    Args:
        python: Has hivemind.
        scripts: The folder with the script.
        nodes: In all.
        processes: In which they run.
        freeze: The nodes that are lost fall silent, instead of being killed: minutes, since a store then takes seconds.

    Raises:
        BadInput: there is no such Python or script.
        Problem: the script failed or takes too long.
    """
    _check(python, scripts)
    with tempfile.TemporaryDirectory(prefix="potluck-bench-") as logs:
        order = [str(python), SCRIPT, "--nodes", str(nodes), "--procs", str(processes), "--logdir", logs]
        process = await asyncio.create_subprocess_exec(
            *order, *(["--freeze"] if freeze else []), cwd=scripts, stdout=asyncio.subprocess.PIPE
        )
        try:
            async with asyncio.timeout(LIMIT_S):
                out, _ = await process.communicate()
        except TimeoutError as error:
            raise Problem("The measurement of hivemind takes too long.") from error
        finally:
            await _end(process)
    return renamed(_last_object(out), silent=freeze)


def renamed(found: Mapping[str, Any], *, silent: bool) -> dict[str, Any]:
    """Its figures under our names; nodes that were killed and not silenced have names of their own."""
    kind = "silent" if silent else "killed"
    names = {
        "get_after_kill": f"get_{kind}",
        "get_after_kill_again": f"get_{kind}_again",
        "store_after_kill": f"store_{kind}",
    }
    return {names.get(name, name): value for name, value in found.items()}


def flattened(found: Mapping[str, Any]) -> dict[str, float]:
    """Its numbers, those of an operation as "operation.figure"."""
    flat: dict[str, float] = {}
    for name, value in found.items():
        match value:
            case bool():
                pass
            case int() | float():
                flat[name] = float(value)
            case Mapping():
                flat |= {f"{name}.{inner}": number for inner, number in flattened(value).items()}
            case _:
                pass
    return flat


def _check(python: Path, scripts: Path) -> None:
    if not python.is_file() or not (scripts / SCRIPT).is_file():
        raise BadInput(f"There is no {python} or no {scripts / SCRIPT}.")


def _last_object(out: bytes) -> dict[str, Any]:
    for line in reversed(out.splitlines()):
        try:
            return msgspec.json.decode(line, type=dict[str, Any])
        except msgspec.MsgspecError:
            continue
    raise Problem("The measurement of hivemind printed no figures.", hint="What it wrote above says why.")


async def _end(process: asyncio.subprocess.Process) -> None:
    """End it and what it has started, even what is stopped."""
    if process.returncode is not None:
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
