"""Messages of a round that arrive before its plan."""

from typing import Any, Final

from core.base.machine import Received

EARLY_MAX: Final = 256
"""Number of messages kept.  Bulk is not among them: a member sends its parts after our Open only."""


class EarlyMessages:
    """Keeps what members say in a round that this peer waits for, until the plan is here."""

    def __init__(self) -> None:
        self._round: bytes | None = None
        self._kept: list[Received[Any]] = []

    def wait_for(self, round_id: bytes | None) -> None:
        """Drop what concerns other rounds; None: this peer waits for no round."""
        if round_id != self._round:
            self._round, self._kept = round_id, []

    def keep(self, event: Received[Any]) -> bool:
        """Keep a message for later; False if it is of another round, or too much."""
        wanted = event.message.round == self._round and not event.message.bulk and len(self._kept) < EARLY_MAX
        if wanted:
            self._kept.append(event)
        return wanted

    def take(self) -> list[Received[Any]]:
        """Return what was kept, in the order of arrival, and keep it no longer."""
        kept, self._kept = self._kept, []
        return kept
