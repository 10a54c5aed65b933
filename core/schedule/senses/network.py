"""Asks the system about the network that this computer is in."""

import asyncio
import sys
from collections.abc import Sequence
from typing import Final

from core.schedule.senses import linux, macos, windows
from core.schedule.senses.findings import Ask, NetworkSense
from core.system.reports import end

ANSWER_S: Final = 8.0
"""PowerShell needs seconds to start."""
ANSWER_BYTES_MAX: Final = 64 * 1024


async def sense_network(ask: Ask | None = None, *, platform: str = sys.platform) -> NetworkSense:
    """Ask the system; takes some seconds at most, and never fails."""
    ask = ask or ask_program
    match platform:
        case "linux":
            return await linux.network(ask)
        case "darwin":
            return await macos.network(ask)
        case "win32":
            return await windows.network(ask)
        case _:
            return NetworkSense()


async def ask_program(words: Sequence[str], *, timeout_s: float = ANSWER_S) -> str:
    """Run a program of the system for its output; empty when it fails or takes longer."""
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return ""
    try:
        async with asyncio.timeout(timeout_s):
            answer, _ = await process.communicate()
            return answer[:ANSWER_BYTES_MAX].decode(errors="replace") if process.returncode == 0 else ""
    except TimeoutError:
        return ""
    finally:
        await end(process, patience_s=0.0)
