"""The child process that has torch, for commands that use a model."""

import asyncio
import tempfile
from collections.abc import Sequence
from typing import Any, Final

from core.base.problems import WorkerProblem
from core.cli.model.kept_model import KeptModel, KeptState
from core.system.child_process import own_command
from core.system.progress_bar import ProgressBar
from core.system.reports import answer

ANSWERS = ("exported", "filled", "continued")
LOADING: Final = "Loading the model"
STDERR_CHARS = 300
"""Letters that are shown of the end of what a failed child wrote."""


def use_model(kept: KeptModel, state: KeptState, words: Sequence[str], bar: ProgressBar) -> dict[str, Any]:
    """Run `core.training.programs.use` on a state, show its progress, and return what it found.

    Args:
        kept: The collaboration.
        state: The state.
        words: What to do with it.
        bar: Shows how far it is.

    Raises:
        NoTrainingPart: torch is not here.
        UserProblem: the child says so.
        WorkerProblem: it failed.
    """
    where = ["--manifest", str(kept.manifest_path), "--blobs", str(kept.blobs), "--state", str(state.path)]
    command = [*own_command("use-model", "core.training.programs.use"), *where, "--with-parent", *words]
    bar.show(0.0, LOADING, part=LOADING)
    with tempfile.TemporaryFile() as errors:
        try:
            return asyncio.run(
                answer(
                    command,
                    ANSWERS,
                    progress=lambda line: bar.show(line["fraction"], line["text"], part=LOADING),
                    log=errors,
                )
            )
        except WorkerProblem as problem:
            errors.seek(0)
            last = errors.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise WorkerProblem(problem.message, hint=last[-STDERR_CHARS:] or problem.hint) from problem
        finally:
            bar.clear()
