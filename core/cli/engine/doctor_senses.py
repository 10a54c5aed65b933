"""What this system tells about itself, for `potluck doctor`: rules can heed nothing else."""

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from random import SystemRandom
from types import MappingProxyType
from typing import Final

from core.schedule.sensed import Sensed
from core.schedule.senses.child import SensesChild

SENSE_S: Final = 2.0
"""Seconds that the senses have to find what there is."""


def sense_now() -> Sensed:
    """Ask all senses for `SENSE_S`; nothing is known where their process does not start."""

    async def ask() -> Sensed:
        with tempfile.TemporaryDirectory() as folder:
            child = SensesChild(Path(folder) / "senses.log", SystemRandom())
            running = asyncio.create_task(child.run())
            await asyncio.sleep(SENSE_S)
            sensed = child.sensed
            running.cancel()
            await asyncio.wait([running])
            return sensed

    return asyncio.run(ask())


def in_words(sensed: Sensed) -> tuple[str, str]:
    """Say what this system tells, and what it does not.

    Args:
        sensed: The findings.

    Returns:
        What is told in whole sentences, which the window translates one by one, and a last one on what is not; that is
        empty when all is told.
    """
    known = {name: words for name, tell in TOLD.items() if (words := tell(sensed)) is not None}
    cards = [f"{gpu.name} tells of itself." for gpu in sensed.gpus]
    told = " ".join([*known.values(), *cards]) or "This system tells nothing about its use."
    unknown = ", ".join(name for name in TOLD if name not in known)
    lacking = f"Rules about what the system does not tell stop nothing here: {unknown}." if unknown else ""
    return told, lacking


def _input(idle_s: float | None) -> str | None:
    if idle_s is None:
        return None
    if idle_s == 0:
        return "Somebody is at this computer now."
    return f"Nobody has touched this computer for {idle_s:.0f} s."


def _battery(sensed: Sensed) -> str | None:
    words = _either("It runs on its battery.", "It runs on mains.", yes=sensed.on_battery)
    if words is None or sensed.battery is None:
        return words
    charge = f"The battery is charged to {sensed.battery:.0%}."
    return f"{words} {charge}"


def _either(yes_words: str, no_words: str, *, yes: bool | None) -> str | None:
    if yes is None:
        return None
    return yes_words if yes else no_words


TOLD: Final[Mapping[str, Callable[[Sensed], str | None]]] = MappingProxyType(
    {
        "the last key or touch": lambda sensed: _input(sensed.idle_s),
        "the battery": _battery,
        "programs that fill the screen": lambda sensed: _either(
            "A program fills the screen.", "No program fills the screen.", yes=sensed.full_screen
        ),
        "remote desktop": lambda sensed: _either(
            "Somebody uses it from afar.", "Nobody uses it from afar.", yes=sensed.remote
        ),
        "the processor's heat": lambda sensed: (
            None if sensed.celsius is None else f"The processor has {sensed.celsius:.0f} °C."
        ),
    }
)
"""By the name of what may be told: what is told in words; None: nothing."""
