"""Where findings of senses come from, as the engine sees it."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from core.schedule.sensed import RuleNames, Sensed


class SenseSource(Protocol):
    """Senses that tell what they find while `run` runs."""

    sensed: Sensed
    """What is known now."""

    def follow(self, callback: Callable[[Sensed], object]) -> Callable[[], None]:
        """Call `callback` in the loop's thread with each change.

        Returns:
            What ends that.
        """

    def watch(self, names: RuleNames) -> None:
        """Look at this from now on, and at nothing that was named before."""

    async def run(self) -> None:
        """Sense until the task is cancelled."""


class NoSenses:
    """Stands where there are no senses, so that no rule that needs one forbids anything."""

    def __init__(self) -> None:
        self.sensed = Sensed()

    def follow(self, callback: Callable[[Sensed], object]) -> Callable[[], None]:  # noqa: ARG002 - nothing to tell
        """Take a follower that hears of nothing."""
        return lambda: None

    def watch(self, names: RuleNames) -> None:
        """Take names of which no sense is here to heed one."""

    async def run(self) -> None:
        """Wait until the task is cancelled."""
        await asyncio.Event().wait()
