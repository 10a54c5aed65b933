"""The child process that has torch, for commands that use a model."""

import importlib.util
import json
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any

from core.base.problems import BadInput, NoSpace, Problem, UserProblem, WorkerProblem
from core.cli.kept_model import KeptModel, KeptState
from core.cli.options import Missing
from core.system.child_process import own_command
from core.system.progress_bar import ProgressBar

STDERR_CHARS = 300
"""Of the end of what a child wrote that failed."""


def use_model(kept: KeptModel, state: KeptState, words: Sequence[str], *, json: bool) -> dict[str, Any]:
    """Run `core.tasks.use` on a state, show its progress in the terminal, and return what it found.

    Args:
        kept: The collaboration.
        state: The state.
        words: What to do with it.
        json: Whether JSON goes to stdout.

    Raises:
        Missing: torch or transformers is not installed.
        UserProblem: the child says so.
        WorkerProblem: it failed.
    """
    for name in ("torch", "transformers"):
        if importlib.util.find_spec(name) is None:
            raise Missing(
                f"This command needs {name}, which is not installed.",
                hint='Install it with: pip install "potluck[train]"',
            )
    bar = ProgressBar(json=json)
    where = ["--manifest", str(kept.manifest_path), "--blobs", str(kept.blobs), "--state", str(state.path)]
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            [*own_command("use-model", "core.tasks.use"), *where, "--with-parent", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        with child:
            said = _last(child, bar)
        bar.clear()
        if said is None:
            errors.seek(0)
            last = errors.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise WorkerProblem("The process with the model ended without an answer.", hint=last[-STDERR_CHARS:])
    if said["event"] == "problem":
        raise _problem(said)
    return said


def _last(child: "subprocess.Popen[bytes]", bar: ProgressBar) -> dict[str, Any] | None:
    """What the child says at the end; None: it ended before."""
    assert child.stdout is not None
    found: dict[str, Any] | None = None
    for line in child.stdout:
        said = json.loads(line)
        if said["event"] == "progress":
            bar.show(said["fraction"], said["text"])
        else:
            found = said
    return found


def _problem(said: dict[str, str]) -> Problem:
    kinds: dict[str, type[Problem]] = {kind.code: kind for kind in (BadInput, NoSpace)}
    return kinds.get(said["code"], UserProblem)(said["message"], hint=said["hint"])
