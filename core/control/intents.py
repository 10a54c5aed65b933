"""What the control door needs of an engine."""

from collections.abc import Mapping
from typing import Protocol

from core.api.commands import ModelEvaluation
from core.api.settings import PortTest, SettingsView
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

    async def evaluate(self) -> ModelEvaluation:
        """Look at the held-out text."""

    def settings(self) -> SettingsView:
        """What the person chose about the network."""

    def configure(self, wish: Mapping[str, object]) -> SettingsView:
        """Change some of it; the wish (core.api.settings.Wish) is not checked yet."""

    async def test_port(self) -> PortTest:
        """Have others call this computer."""
