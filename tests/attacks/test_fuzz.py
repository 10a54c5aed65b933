"""The fuzzer itself, for a moment: what it says is heard everywhere, and a mistake that a message causes is found."""

from typing import Any

import pytest

from core.averaging.messages import Open
from core.base.machine import Received
from core.swarm.rounds.rounds import Rounds
from tests.attacks.fuzz.__main__ import fuzzed
from tests.attacks.fuzz.writer import KINDS

SEED, MESSAGES = 40, 2000


def test_hostile_messages_of_every_type_raise_nothing() -> None:
    counts, _ = fuzzed(MESSAGES, seed=SEED)
    assert not counts.failures, next(iter(counts.failures.values())).text
    assert {*KINDS} <= {*counts.kinds}
    assert counts.ways["mutated"]
    assert counts.ways["letters"]


def test_mistake_that_a_message_causes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = Rounds.handle

    def mistaken(self: Rounds, event: Any, now: float) -> Any:
        if isinstance(event, Received) and isinstance(event.message, Open):
            raise IndexError("of a round")
        return handle(self, event, now)

    monkeypatch.setattr(Rounds, "handle", mistaken)
    counts, _ = fuzzed(MESSAGES, seed=SEED)
    (failure,) = counts.failures.values()
    assert "IndexError('of a round')" in failure.text
    assert f"--seed {SEED}" in failure.text
