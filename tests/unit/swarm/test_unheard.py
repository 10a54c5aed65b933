"""A round whose Commit alone was missed, seen from outside: the next one gets nothing of it twice."""

import pytest

from core.averaging.matchmaking import Call, Declined, Wanted
from core.base.manifest import AveragingNumbers
from core.swarm.words.orders import RoundRecord
from core.swarm.words.states import StateName
from tests.unit.swarm.stage import FIRST, Stage, report_of
from tests.unit.swarm.test_rounds import fail, finish, join


class Uneven(Stage):
    """Its contribution is no multiple of a step of four bits."""

    def ready(self, name: StateName = FIRST) -> None:
        super().ready(name)
        self.contribution[:] = [index % 7 / 10 for index in range(len(self.contribution))]


def owed(stage: Stage) -> list[bytes | None]:
    read = stage.residuals.read
    return [None if (payload := read(chunk)) is None else bytes(payload) for chunk in range(4)]


def played(*, commits: bool) -> Stage:
    stage = Uneven(averaging=AveragingNumbers(codec="q4", chunk_numel=256))
    stage.ready()
    finish(stage, 1, join(stage, 1, nonce=1), commits=commits)
    return stage


@pytest.mark.parametrize("hears", ["a report", "an answer"])
def test_state_of_another_member_tells_that_the_round_committed(hears: str) -> None:
    happy, unhappy = played(commits=True), played(commits=False)
    [record] = [said for said in happy.said if isinstance(said, RoundRecord)]
    name = record.name
    assert any(owed(happy))
    fail(unhappy)
    assert owed(unhappy) == [None] * 4
    other = StateName(name.epoch, b"o" * 32)
    for state in (other, name):
        assert owed(unhappy) == [None] * 4
        if hears == "a report":
            unhappy.read(p2=report_of(state, time=unhappy.now + state.epoch + (state == name)))
        else:
            unhappy.read(
                p2=report_of(time=unhappy.now, samples=2**20)
            )  # the target is reached, so it is asked or called
            asked = [*unhappy.heard_by(2, Wanted), *unhappy.heard_by(2, Call)]
            attempt = max(message.attempt for message in asked)
            unhappy.tell(2, Declined(state.epoch, state.lineage, attempt, "elsewhere"))
    assert owed(unhappy) == owed(happy)
    unhappy.actor.rounds.in_doubt.heard(name)
    assert unhappy.actor.trace["rounds.settled_late"] == 1, "once"


def test_after_the_next_round_has_begun_it_is_too_late() -> None:
    happy, unhappy = played(commits=True), played(commits=False)
    [record] = [said for said in happy.said if isinstance(said, RoundRecord)]
    fail(unhappy)
    unhappy.wait(60.0)
    join(unhappy, 2, nonce=9)
    unhappy.actor.rounds.in_doubt.heard(record.name)
    assert owed(unhappy) == [None] * 4
    assert unhappy.actor.trace["rounds.settled_late"] == 0, "what failed before is forgotten"
