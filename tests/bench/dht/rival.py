"""Runs the script that measures hivemind's DHT, with a Python in which hivemind is installed."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.bench.script import figures_of

SCRIPT = "bench_dht.py"
LIMIT_S = 1800.0


async def measure(python: Path, scripts: Path, *, nodes: int, processes: int, freeze: bool) -> dict[str, Any]:
    """Run the rival's script, and name its last figures as this program names its own.

    Args:
        python: Interpreter with hivemind.
        scripts: The folder with the script.
        nodes: Number of nodes in all.
        processes: Number of processes that run them.
        freeze: Lost nodes fall silent, instead of being killed: minutes, since a store then takes seconds.

    Raises:
        BadInput: there is no such Python or script.
        Problem: the script failed or takes too long.
    """
    with tempfile.TemporaryDirectory(prefix="potluck-bench-") as logs:
        order = ["--nodes", str(nodes), "--procs", str(processes), "--logdir", logs]
        found = await figures_of(python, scripts / SCRIPT, [*order, *(["--freeze"] if freeze else [])], limit_s=LIMIT_S)
    return renamed(found, silent=freeze)


def renamed(found: Mapping[str, Any], *, silent: bool) -> dict[str, Any]:
    """The rival's figures under this program's names; killed nodes have names of their own."""
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
