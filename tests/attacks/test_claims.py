"""Numbers and bytes that a member makes up: its loss, and a ledger in a state that it gives."""

from statistics import fmean

import msgspec
import pytest

from core.averaging import outcome
from core.base.problems import WireProblem
from core.base.wire import Schema
from core.ledger.ledger import Ledger
from tests.unit.averaging.liars import ends
from tests.unit.averaging.pump import Round, make_plan

LOSS = 1e9
NESTED = b"\x91" * 5000


def shown(members: int) -> float:
    """The training loss that honest members show after a round in which the last one has made its own up."""
    plan = make_plan([10] * members, 100)
    rows = tuple(msgspec.structs.replace(row, loss=3.0) for row in plan.members[:-1])
    liar = msgspec.structs.replace(plan.members[-1], loss=LOSS)
    round_ = Round(msgspec.structs.replace(plan, members=(*rows, liar))).run()
    (loss,) = {end.outcome.loss for end in ends(round_).values() if isinstance(end, outcome.RoundFinished)}
    return loss


@pytest.mark.parametrize("members", [2, 3, 8])
def test_loss_of_one_member_is_shown_to_nobody(members: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(members) == 3.0
    monkeypatch.setattr(outcome, "median_low", fmean)
    assert shown(members) > LOSS / 10, "where the mean is shown"


def test_nested_ledger_ends_nobody_that_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WireProblem):
        Ledger.from_bytes(NESTED)
    monkeypatch.setattr(Schema, "decode", lambda _, data: msgspec.msgpack.decode(data))
    with pytest.raises(RecursionError):
        Ledger.from_bytes(NESTED)
