"""Runs the program with a check of copies that ends for the first one, and hangs for all others.

python -m tests.process.stuck_check WORDS...     as `python -m core WORDS...`

It writes `stuck` into the charter when the first one hangs.
"""

import asyncio
import runpy
from pathlib import Path
from unittest.mock import patch

from core.backbone import serve
from core.backbone.charter import Charter
from core.backbone.copy_check import CopyCheck, check_copy
from core.backbone.kept_states import STATES, kept_copies


async def stuck(charter: Charter, copy: Path) -> CopyCheck:
    """Check the first copy only."""
    if kept_copies(charter.folder / STATES):
        (charter.folder / "stuck").touch()
        await asyncio.Event().wait()
    return await check_copy(charter, copy)


if __name__ == "__main__":
    patch.object(serve, "check_copy", stuck).start()
    runpy.run_module("core", run_name="__main__")
