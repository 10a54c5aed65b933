"""Hints about upload limits that hold others up, by closed forms over rounds of two and four members."""

import msgspec
import pytest

from core.api.hints import Hint, hint_sentence
from core.averaging.plan import WHOLE_PORTION, Member, Plan, Rates
from core.base.ids import PeerId
from core.base.manifest import AveragingNumbers
from core.engine.shown.hints import upload_hint
from core.engine.shown.snapshots import take_snapshot
from core.swarm.words.epoch import Phase
from tests.unit.engine.test_snapshots import KEY, at, seen

NUMEL = 1_000_000
"""4 MB in float32: at 0.1 MB/s a member's part takes 40 s."""
LIMIT = 1e5
FAST = Rates(10_000_000, 10_000_000)
ME = KEY.peer_id


def plan(members: int = 2, **changes: object) -> Plan:
    """A round in which a fast member reduces everything: the others send 4 MB each, and get the mean."""
    peers = sorted([ME, *(PeerId(bytes([place]) * 32) for place in range(members - 1))])
    fast = next(place for place, peer in enumerate(peers) if peer != ME)
    fields = {
        "round": b"r" * 16, "epoch": 7, "lineage": b"l" * 32, "numel": NUMEL, "chunk_numel": 1000, "codec": "raw",
        "stall_timeout_s": 6.0, "round_timeout_s": 30.0, "leaders": tuple(range(members)),
        "members": tuple(Member(peer, 50, 1.0) for peer in peers),
        "chunks": tuple(1000 if place == fast else 0 for place in range(members)),
        "lines": (FAST,) * members,
    }  # fmt: skip
    return Plan(**(fields | changes))


def own_line(up: float) -> tuple[Rates, ...]:
    """Rates of a round of two, whose other member's line is fast."""
    return tuple(Rates(int(up), FAST.down) if peer == ME else FAST for peer in plan().peers)


def told(averaged: Plan | None, *, limit: float | None = LIMIT, samples_per_s: float = 10.0, delayed: bool = False):
    participant = seen(averaging=AveragingNumbers(delayed=True) if delayed else None, plan=averaged)
    return upload_hint(participant, ME, limit_bytes_s=limit, samples_per_s=samples_per_s)


def test_steps_that_wait_for_an_upload_are_told() -> None:
    """100 samples take 10 s; then 4 MB at 0.1 MB/s take 40 s, where the other's line sends or gets as much in 0.4 s."""
    assert told(plan()) == Hint("upload", {"limit": 100_000, "longer": 50, "shorter": 10})
    assert told(plan(), delayed=True) == Hint("upload", {"limit": 100_000, "longer": 40, "shorter": 10})
    assert told(plan(lines=own_line(0.95 * LIMIT))).args["longer"] == 50
    assert told(plan(codec="fp16")).args["longer"] == 30


def test_more_receivers_keep_the_reducer_busier() -> None:
    """It sends 3 means of 4 MB at 10 MB/s: 1.2 s, in which the others compute nothing."""
    assert told(plan(4), samples_per_s=100.0).args == {"limit": 100_000, "longer": 41, "shorter": 2}


@pytest.mark.parametrize(
    "quiet",
    [
        {"averaged": None},
        {"limit": None},
        {"limit": 4e6},
        {"samples_per_s": 0.0},
        {"samples_per_s": 1.0, "delayed": True},
        {"averaged": plan(portions=(0, 0))},
        {"averaged": plan(lines=own_line(LIMIT // 4))},
        {"averaged": plan(lines=(Rates(LIMIT // 2, LIMIT // 2),) * 2)},
    ],
)
def test_no_hint_where_the_limit_costs_the_others_little(quiet: dict[str, object]) -> None:
    assert told(**({"averaged": plan()} | quiet)) is None


def test_part_of_a_contribution_takes_part_of_the_time() -> None:
    assert told(plan(portions=(WHOLE_PORTION // 2,) * 2)).args["longer"] == 30


def test_hint_is_seen_while_this_computer_works() -> None:
    told_at = {"upload_bytes_s": LIMIT, "participant": seen(plan=plan())}
    assert take_snapshot(at(**told_at)).hint is not None
    told_at["participant"] = seen(plan=plan(), phase=Phase.IDLE)
    assert take_snapshot(at(**told_at)).hint is None


def test_sentence_names_limit_and_seconds() -> None:
    said = hint_sentence(told(plan()))
    assert "upload limit of 800 kbit/s makes everybody's steps longer, about 50 s instead of 10 s" in said
    assert hint_sentence(None) == hint_sentence(Hint("of another version")) == ""
    assert hint_sentence(Hint("upload", {"limit": 100_000})) == ""
    again = msgspec.json.decode(msgspec.json.encode(told(plan())), type=Hint)
    assert hint_sentence(again) == said
