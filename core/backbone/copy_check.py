"""A copy of the model is checked before it is offered, in a process of its own: this one has no torch."""

import importlib.util
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.backbone.charter import Charter
from core.base.problems import Problem
from core.system.child_process import own_command
from core.system.reports import answer

_LOG = logging.getLogger(__name__)
CHECKED: Final = "checked"


@dataclass(frozen=True, slots=True)
class CopyCheck:
    """What is known of a copy.

    Attributes:
        fault: A sentence that says why it is not offered; empty: nothing speaks against it.
        loss: On the held-out text; None: it was not measured.
    """

    fault: str = ""
    loss: float | None = None


async def check_copy(charter: Charter, copy: Path) -> CopyCheck:
    """Have `core.training.programs.use` load a copy as a trainer would, and measure it.

    Where this computer cannot check, for want of torch or memory, the log says so, and the copy counts as good.

    Args:
        charter: The collaboration.
        copy: The file, which is a stranger's.
    """
    if importlib.util.find_spec("torch") is None:
        _LOG.warning("copies of the model are not checked: torch is not installed here")
        return CopyCheck()
    where = ("--manifest", charter.manifest_path, "--blobs", charter.blobs, "--state", copy)
    command = [*own_command("use-model", "core.training.programs.use"), *map(str, where), "--with-parent", "check"]
    try:
        said = await answer(command, (CHECKED,))
    except Problem as problem:
        _LOG.warning("a copy of the model could not be checked: %s", problem)
        return CopyCheck()
    return CopyCheck(said["fault"], said["loss"])
