"""What this system tells about itself, for `potluck doctor`: rules can heed nothing else."""

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from random import SystemRandom
from types import MappingProxyType
from typing import Final

from core.api.sentence import Sentence, in_series, later
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


def told_of(sensed: Sensed) -> tuple[Sentence, Sentence | None]:
    """Say what this system tells, and what it does not.

    Args:
        sensed: The findings.

    Returns:
        What is told, and a sentence on what is not; None: all is told.
    """
    known = {name: words for name, tell in TOLD.items() if (words := tell(sensed)) is not None}
    cards = [Sentence("{card} tells of itself.", gpu.name) for gpu in sensed.gpus]
    told = in_series([*known.values(), *cards] or [Sentence("This system tells nothing about its use.")], " ")
    unknown = [Sentence(name) for name in TOLD if name not in known]
    lacking = Sentence(
        "Rules about what the system does not tell stop nothing here: {rules}.", in_series(unknown, ", ")
    )
    return told, lacking if unknown else None


def _input(idle_s: float | None) -> Sentence | None:
    if idle_s is None:
        return None
    if idle_s == 0:
        return Sentence("Somebody is at this computer now.")
    return Sentence("Nobody has touched this computer for {seconds} s.", f"{idle_s:.0f}")


def _battery(sensed: Sensed) -> Sentence | None:
    words = _either(later("It runs on its battery."), later("It runs on mains."), yes=sensed.on_battery)
    if words is None or sensed.battery is None:
        return words
    return Sentence("{mains} The battery is charged to {share}.", words, f"{sensed.battery:.0%}")


def _either(yes_words: str, no_words: str, *, yes: bool | None) -> Sentence | None:
    return None if yes is None else Sentence(yes_words if yes else no_words)


TOLD: Final[Mapping[str, Callable[[Sensed], Sentence | None]]] = MappingProxyType(
    {
        later("the last key or touch"): lambda sensed: _input(sensed.idle_s),
        later("the battery"): _battery,
        later("programs that fill the screen"): lambda sensed: _either(
            later("A program fills the screen."), later("No program fills the screen."), yes=sensed.full_screen
        ),
        later("remote desktop"): lambda sensed: _either(
            later("Somebody uses it from afar."), later("Nobody uses it from afar."), yes=sensed.remote
        ),
        later("the processor's heat"): lambda sensed: (
            None if sensed.celsius is None else Sentence("The processor has {celsius} °C.", f"{sensed.celsius:.0f}")
        ),
    }
)
"""By the name of what may be told: what is told in words; None: nothing."""
