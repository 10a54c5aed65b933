"""The person's intents, passed down to the engine.  Each is shown as a wish until a snapshot confirms it."""

from typing import Protocol

from PySide6.QtCore import QObject

from app.engine.store import Store
from core.api.settings import Wish


class Call(Protocol):
    """Sends a method of `core.api.commands.METHODS` to the engine."""

    def __call__(self, method: str, params: Wish | None = None, /) -> None:
        """Call a method of the engine with its parameters."""


class Intents(QObject):
    """Turns clicks into calls.

    Args:
        call: Asks the engine.
        store: Where the wish shows until the engine has confirmed it; silence of the engine is the client's to notice.
    """

    def __init__(self, call: Call, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._call = call
        self._store = store

    def contribute(self, wanted: bool) -> None:  # noqa: FBT001 - a Qt slot of `toggled(bool)`
        """Ask the engine to contribute, or to pause."""
        if wanted == self._store.contributing:
            return
        self._store.want(wanted)
        self._call("resume" if wanted else "pause")

    def pause_until(self, moment: float, what: str = "computing") -> None:
        """Ask the engine to pause a subject or a card, and to go on by itself at a moment, unix seconds."""
        if what == "computing":
            self._store.want(False)
        self._call("pause", {"what": what, "until": moment})

    def switch(self, what: str, *, on: bool) -> None:
        """Ask the engine to use a subject or a card, or to leave it alone; Home's switch is the one for computing."""
        self._call("resume" if on else "pause", {"what": what})

    def contribute_until(self, moment: float) -> None:
        """Ask the engine to contribute until a moment, unix seconds, in spite of the person's rules."""
        if not self._store.contributing:
            self._store.want(True)
        self._call("resume", {"until": moment})

    def evaluate(self) -> None:
        """Look at the held-out text now."""
        self._call("evaluate")

    def ask(self, method: str, params: Wish | None = None) -> None:
        """Ask for a report (`core.api.reports`)."""
        self._call(method, params)

    def read_settings(self) -> None:
        """Ask for the person's network settings."""
        self._call("settings")

    def configure(self, wish: Wish) -> None:
        """Ask the engine to change some settings."""
        self._call("configure", wish)

    def test_port(self) -> None:
        """Have other peers call this computer's port."""
        self._call("test_port")

    def try_now(self) -> None:
        """Have the engine ask the backbone now that does not answer, or has refused this computer."""
        self._call("try_now")

    def stop_engine(self) -> None:
        """Ask the engine to end its program."""
        self._call("quit")

    def renew(self) -> None:
        """Have the engine go on as the newest version, when its epoch has ended."""
        self._call("update")

    def forget(self) -> None:
        """The call failed: the snapshot decides again."""
        self._store.want(None)
