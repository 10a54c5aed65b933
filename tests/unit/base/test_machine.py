from dataclasses import dataclass, field
from typing import Any

import pytest

from core.base.ids import PeerId, distance, hashed_key, node_key
from core.base.machine import Composite, Lost, Received, Send, Tick, Trace, earliest

PEER = PeerId(b"p" * 32)


@dataclass
class Echo:
    """Says what it hears."""

    deadline: float | None = None
    heard: list[object] = field(default_factory=list)

    def handle(self, event: Received[Any] | Tick | Lost, now: float) -> list[Any]:
        self.heard.append((event, now))
        return [Send(event.sender, event.message)] if isinstance(event, Received) else ["woken"]


def test_messages_go_to_the_machine_of_their_type() -> None:
    words, numbers = Echo(), Echo()
    whole = Composite([(words, (str,)), (numbers, (int, float))])
    assert whole.handle(Received(PEER, 5), 1.0) == [Send(PEER, 5)]
    assert whole.handle(Received(PEER, "a"), 2.0) == [Send(PEER, "a")]
    assert whole.handle(Received(PEER, b"bytes"), 3.0) == []
    assert (len(words.heard), len(numbers.heard)) == (1, 1)


def test_other_events_go_to_the_part_that_takes_their_class() -> None:
    words, numbers = Echo(), Echo()
    whole = Composite([(words, (str,)), (numbers, (int,))])
    assert whole.handle(5, 1.0) == ["woken"]
    assert whole.handle(b"nobody's", 1.0) == []
    assert (words.heard, numbers.heard) == ([], [(5, 1.0)])


def test_only_machines_that_are_due_are_woken() -> None:
    early, late, never = Echo(1.0), Echo(5.0), Echo(None)
    whole = Composite([(early, ()), (late, ()), (never, ())])
    assert whole.deadline == 1.0
    assert whole.handle(Tick(), 2.0) == ["woken"]
    assert (len(early.heard), len(late.heard), len(never.heard)) == (1, 0, 0)


def test_a_loss_concerns_everybody() -> None:
    parts = [Echo(), Echo()]
    whole = Composite([(part, ()) for part in parts])
    assert whole.handle(Lost(PEER, "gone"), 0.0) == ["woken", "woken"]


def test_no_two_machines_take_one_class() -> None:
    with pytest.raises(ValueError, match="two machines"):
        Composite([(Echo(), (int,)), (Echo(), (str, int))])
    assert Composite[Any]([(Echo(), (int, int))]).deadline is None


def test_earliest_is_never_only_when_all_are() -> None:
    assert earliest(None, 3.0, 2.0) == 2.0
    assert earliest(None, None) is None


def test_keys_are_of_parts_not_of_their_concatenation() -> None:
    assert hashed_key(b"ab", b"c") != hashed_key(b"a", b"bc")
    assert len(node_key(PEER)) == 32
    assert distance(b"\x01", b"\x03") == 2


def test_a_trace_counts_and_stays_small() -> None:
    trace = Trace()
    trace.mark("a")
    trace.mark("a")
    assert trace["a"] == 2
    for number in range(Trace.LIMIT + 50):
        trace.mark(f"n{number}")
    assert len(trace.counts()) == Trace.LIMIT + 1
    assert trace["trace.overflow"] == 51
