"""Members that do all that a round asks of them but for one thing."""

from collections.abc import Callable, Iterable
from typing import Any

from core.averaging.butterfly import Butterfly
from core.averaging.outcome import RoundFailed, RoundFinished
from core.base.ids import PeerId
from core.base.machine import Received, Send
from tests.unit.averaging.pump import Round

Twist = Callable[[Send[Any], float], Iterable[Any]]
Ear = Callable[[Received[Any]], Received[Any]]


class Liar:
    """A Butterfly that says what `says` makes of its words, and hears what `hears` makes of others'."""

    def __init__(self, machine: Butterfly, says: Twist | None = None, *, hears: Ear | None = None) -> None:
        self.machine = machine
        self._says = says
        self._hears = hears

    def __getattr__(self, name: str) -> Any:
        return getattr(self.machine, name)

    def start(self, now: float) -> list[Any]:
        return self._twisted(self.machine.start(now), now)

    def handle(self, event: Any, now: float) -> list[Any]:
        if self._hears is not None and isinstance(event, Received):
            event = self._hears(event)
        return self._twisted(self.machine.handle(event, now), now)

    def _twisted(self, outputs: list[Any], now: float) -> list[Any]:
        if self._says is None:
            return outputs
        said: list[Any] = []
        for output in outputs:
            said += self._says(output, now) if isinstance(output, Send) else [output]
        return said


def corrupt(round_: Round, member: int, says: Twist | None = None, *, hears: Ear | None = None) -> PeerId:
    """Let a member lie."""
    peer = round_.plan.peers[member]
    round_.machines[peer] = Liar(round_.machines[peer], says, hears=hears)
    return peer


def ends(round_: Round) -> dict[PeerId, RoundFinished | RoundFailed]:
    """How the round has ended for each."""
    return {peer: event for peer, events in round_.pump.events.items() for event in events}


def finished(round_: Round, but: PeerId) -> list[Any]:
    """The outcomes of all others."""
    found = [end for peer, end in ends(round_).items() if peer != but]
    assert len(found) == len(round_.plan.peers) - 1
    assert all(isinstance(end, RoundFinished) for end in found), found
    return [end.outcome for end in found if isinstance(end, RoundFinished)]
