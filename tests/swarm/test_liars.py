"""A collaboration in which one member lies: the others go on learning."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from core.averaging.commit.leadership import Leadership
from core.averaging.messages import Call, Leaving
from core.averaging.penalties.ledger import leader_of
from core.base.machine import Received, Send
from core.sim.churn import ChurnSettings
from core.sim.links import LOCAL
from core.sim.swarm import Swarm, SwarmSettings, state_of
from core.swarm.participant import Participant
from core.swarm.progress import ProgressReport

HONEST = 4
EPOCHS = 3
PATIENCE_S = 240.0
"""Without a liar these worlds take about a minute."""
Lie = Callable[[ProgressReport], ProgressReport]


def changed(**fields: Any) -> Lie:
    return lambda report: msgspec.structs.replace(report, **fields)


def another_each_second(report: ProgressReport) -> ProgressReport:
    return msgspec.structs.replace(report, epoch=2**40 + int(report.time), lineage=b"\xff" * 32, digest=b"x" * 32)


LIES: dict[str, Lie] = {
    "a state that it does not have": changed(epoch=2**40, lineage=b"\xff" * 32, digest=b"x" * 32),
    "another state each second": another_each_second,
    "samples that it does not have": changed(samples=2**50),
    "an address that is none": changed(host="a..b\0", port=1),
}


@pytest.mark.parametrize("lie", LIES)
def test_one_liar_does_not_stop_the_others(lie: str) -> None:
    churn = ChurnSettings(live=(HONEST + 1, HONEST + 1), up_s=1e9, down_s=1.0, first_s=1.0)
    swarm = Swarm(3, SwarmSettings(peers=HONEST + 1, epochs=EPOCHS, churn=churn, links=LOCAL))
    liar, *others = swarm.volunteers.values()
    liar.tells = LIES[lie]

    def epochs() -> list[int]:
        names = [state_of(volunteer) for volunteer in others]
        return [name.epoch if name is not None else 0 for name in names]

    while min(epochs()) < EPOCHS and swarm.world.elapsed_s < PATIENCE_S:
        swarm.world.run(1.0)
    assert min(epochs()) >= EPOCHS


def never_commits(participant: Participant, monkeypatch: pytest.MonkeyPatch) -> None:
    """It calls twice a second for the first attempt, follows nobody, plans well, and then only says that it lives."""
    may_commit, incomplete = Leadership.may_commit.fget, Leadership.incomplete

    def its(leadership: Leadership) -> bool:
        return leadership.rank == 0 and leader_of(leadership.plan) == participant.me

    monkeypatch.setattr(Leadership, "may_commit", property(lambda it: not its(it) and may_commit(it)))
    monkeypatch.setattr(Leadership, "incomplete", lambda it: [] if its(it) else incomplete(it))
    handle, rounds = participant.handle, participant.rounds
    again_at = 0.0

    def call(event: Any, now: float) -> list[Any]:
        nonlocal again_at
        if isinstance(event, Received) and isinstance(event.message, Call):
            return []
        outputs = list(handle(event, now))
        quest = None if rounds._matchmaker is None else rounds._matchmaker._quest
        if quest is not None and now >= again_at and not (quest.occupied or quest.away or quest.state is None):
            again_at = now + 0.5
            quest.search.attempt = 0
            outputs += [o for said in rounds._follow(quest.lead(now), now) for o in handle(said, now)]
        return [o for o in outputs if not (isinstance(o, Send) and isinstance(o.message, Leaving))]

    participant.handle = call  # type: ignore[method-assign]


def test_a_leader_that_never_commits_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    churn = ChurnSettings(live=(HONEST + 1, HONEST + 1), up_s=1e9, down_s=1.0, first_s=1.0)
    swarm = Swarm(3, SwarmSettings(peers=HONEST + 1, epochs=EPOCHS, churn=churn, links=LOCAL))
    liar, *others = swarm.volunteers.values()
    begin = liar.begin

    def begin_lying() -> None:
        begin()
        assert liar.participant is not None
        never_commits(liar.participant, monkeypatch)

    liar.begin = begin_lying  # type: ignore[method-assign]
    while swarm.world.elapsed_s < PATIENCE_S:
        swarm.world.run(1.0)
        names = [state_of(volunteer) for volunteer in others]
        if all(name is not None and name.epoch >= EPOCHS for name in names):
            return
    raise AssertionError("they stand still")
