"""Members that do all that a round asks of them but for one thing."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from core.averaging.butterfly import Butterfly
from core.averaging.commit.fingerprints import plan_name
from core.averaging.messages import Status
from core.averaging.outcome import RoundFailed, RoundFinished
from core.base.ids import PeerId, hashed_key
from core.base.machine import Received, Send
from tests.unit.averaging.pump import Round, with_keys

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


def telling(round_: Round, liar: int, change: Callable[[Status, NDArray[np.float32]], Any]) -> Twist:
    """A member that changes its sums, shape (shares, SUMS), by what it says of shares' reducers, and signs them."""
    [key] = [key for key in with_keys(round_.plan)[1] if key.peer_id == round_.plan.peers[liar]]

    def says(send: Send[Any], now: float) -> list[Any]:
        word = send.message
        if not isinstance(word, Status) or not word.sums:
            return [send]
        told = np.frombuffer(word.sums, dtype="<f4").reshape(len(round_.plan.peers), -1).copy()
        sums = change(word, told).astype("<f4").tobytes()
        bits = hashed_key(b"bits", plan_name(round_.plan), *word.nonces, *word.fingerprints)
        signature = key.sign(hashed_key(b"sums", bits, sums))
        return [Send(send.to, msgspec.structs.replace(word, sums=sums, signature=signature))]

    return says


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
