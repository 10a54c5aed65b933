"""A copy of the model is checked before it is offered, in a process of its own: this one has no torch."""

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from core.backbone.charter import Charter
from core.base.problems import Problem
from core.system.child_process import own_command, trains
from core.system.reports import answer

_LOG = logging.getLogger(__name__)
CHECKED: Final = "checked"
FIRST_MEASURED: Final = 0.5
"""Fraction of a check that is done when the model is measured with which everybody begins."""
FIRST_MODEL_S: Final = 3600.0
"""Upper bound on the time for the model with which everybody begins.  No stranger decides about it."""
SLOWER: Final = 10
"""Upper bound on the time for a copy, in multiples of that time.  Both have the same arithmetic and the same text."""


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

    Where this computer cannot check, for want of torch, memory or speed, the log says so, and the copy counts as good.
    The child reports when it has measured the model with which everybody begins: a copy that takes many times as long
    is not waited for, and refused.

    Args:
        charter: The collaboration.
        copy: The file, which is a stranger's.
    """
    if not trains():
        _LOG.warning("copies of the model are not checked: torch is not installed here")
        return CopyCheck()
    where = ("--manifest", charter.manifest_path, "--blobs", charter.blobs, "--state", copy)
    command = [*own_command("use-model", "core.training.programs.use"), *map(str, where), "--with-parent", "check"]
    asked = asyncio.get_running_loop().time()
    first_s = 0.0
    try:
        async with asyncio.timeout(FIRST_MODEL_S) as bound:

            def measured(said: dict[str, Any]) -> None:
                nonlocal first_s
                if said.get("fraction") != FIRST_MEASURED:
                    return
                now = asyncio.get_running_loop().time()
                first_s = now - asked
                bound.reschedule(now + SLOWER * first_s)

            said = await answer(command, (CHECKED,), progress=measured)
    except TimeoutError:
        if first_s:
            return CopyCheck(f"Its check took {SLOWER} times as long as that of the model with which everybody begins.")
        _LOG.warning("copies of the model are not checked: this computer takes more than %g s", FIRST_MODEL_S)
        return CopyCheck()
    except (Problem, OSError) as problem:  # the system gives no further process, or an update has moved the program
        _LOG.warning("a copy of the model could not be checked: %s", problem)
        return CopyCheck()
    return CopyCheck(said["fault"], said["loss"])
