"""The network that this computer is in: whether its use costs the person, of which kind it is, where its router is."""

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

ANSWER_S: Final = 8.0
"""PowerShell needs seconds to start."""
ANSWER_BYTES_MAX: Final = 64 * 1024
Medium = Literal["cable", "wifi", "mobile", "unknown"]
Ask = Callable[[Sequence[str]], Awaitable[str]]
"""Runs a program of the system; what it printed, empty when it is not there or fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSense:
    """Findings of this look at the present network."""

    metered: bool | None = None
    """Whether the system treats the connection as one that costs; None: it does not tell."""
    medium: Medium = "unknown"
    gateway: str | None = None
    """The default router's IPv4 address."""


async def sense_network(ask: Ask | None = None, *, platform: str = sys.platform) -> NetworkSense:
    """Ask the system; takes some seconds at most, and never fails."""
    from core.schedule.senses import linux, macos, windows  # noqa: PLC0415 - they import this module

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
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
