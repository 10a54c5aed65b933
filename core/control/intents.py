"""What the control door needs of an engine."""

from typing import Protocol

from core.api.commands import Evaluation
from core.api.snapshot import Snapshot


class Intents(Protocol):
    """What a person may want of an engine.  A Problem that is raised becomes the client's answer."""

    def snapshot(self) -> Snapshot:
        """The whole state, now."""

    async def pause(self) -> None:
        """Switch off: the worker ends at once."""

    async def resume(self) -> None:
        """Switch on."""

    async def quit(self) -> None:
        """Stop the engine; returns before it has stopped, so that the answer still goes out."""

    async def evaluate(self) -> Evaluation:
        """Look at the held-out text."""
