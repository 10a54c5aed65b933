"""A helper: it holds no state and stands where those who train stand."""

from collections.abc import Sequence
from typing import Any

import pytest

from core.averaging.matchmaking import Call, Declined, Ready, Refused
from core.averaging.penalties import REST_ROUNDS, Kind, Observations
from core.averaging.plan import Member
from core.base.ids import PeerId, hashed_key
from core.base.manifest import AveragingNumbers
from core.nat.events import ReachChanged
from core.nat.reachability import OwnReach, Reachability
from core.swarm.presence.membership import SILENT_S, Membership
from core.swarm.presentation import HELPING
from core.swarm.standby import HELP_BYTES, OWN_VIEW_S, Standby
from core.swarm.words.facts import Help
from core.swarm.words.orders import RoundLost, RoundRecord
from core.swarm.words.outputs import Committed
from core.swarm.words.states import StateName
from tests.unit.swarm.stage import FIRST, NUMEL, Stage, peer, plan_of, report_of

ROOM = HELP_BYTES * NUMEL
SECOND = StateName(1, hashed_key(b"second"))
THIRD = StateName(2, hashed_key(b"third"))


def membership(*reports: tuple[int, StateName], now: float = 1000.0, in_step: bool = True) -> Membership:
    found = Membership()
    for number, name in reports:
        found.branches.verified(peer(number))
        found.heard(peer(number), report_of(name, time=now, in_step=in_step), expires=now + 20, now=now)
    return found


def standby(found: Membership, codec: str = "raw") -> Standby:
    actor = Stage(averaging=AveragingNumbers(codec=codec)).actor
    machine = Standby(found, rounds=actor.rounds, catch_up=actor._catch_up, settings=actor.settings)
    machine.help(ROOM, 1000.0)
    return machine


def test_helper_follows_the_majority_and_the_later_state_if_tied():
    assert standby(Membership()).look(1000.0) is None
    assert standby(membership((1, FIRST), (2, FIRST), (3, THIRD))).look(1000.0) == FIRST
    assert standby(membership((1, FIRST), (2, SECOND))).look(1000.0) == SECOND


def test_whoever_takes_no_part_or_is_silent_has_no_vote():
    assert standby(membership((1, THIRD), in_step=False)).look(1000.0) is None
    assert standby(membership((1, THIRD))).look(1000.0 + SILENT_S) is None


def test_its_own_round_goes_before_old_reports_for_a_while():
    found = membership((1, FIRST), (2, FIRST))
    found.branches.led(FIRST, SECOND)
    machine = standby(found)
    machine.followed(committed(SECOND), 1000.0)
    assert machine.look(1001.0) == SECOND
    assert standby(membership((1, THIRD))).look(1001.0) == THIRD
    found = membership((1, FIRST), now=1010.0)
    found.branches.led(FIRST, SECOND)
    machine = standby(found)
    machine.followed(committed(SECOND), 1000.0)
    assert machine.look(1000.0 + OWN_VIEW_S + 1) == FIRST


def test_it_knows_how_long_a_vector_may_be():
    assert standby(Membership()).numel_max == NUMEL
    machine = standby(membership((1, FIRST)))
    machine.help(0, 1000.0)
    assert not machine.helping
    assert machine.look(1000.0) == FIRST


def committed(name: StateName) -> Committed:
    return Committed(bytes(32), FIRST, RoundRecord(name, ((peer(1), 4),), 1.0, (), 1.0))


def helped() -> Stage:
    stage = Stage()
    stage.hear(stage.actor.handle(Help(ROOM), stage.now))
    stage.read(p1=report_of(FIRST, time=stage.now), p2=report_of(FIRST, time=stage.now))
    return stage


@pytest.mark.parametrize(("codec", "helps"), [("u8", NUMEL), ("q4", NUMEL // 2), ("adaptive", 0)])
def test_what_the_codec_asks_for_is_not_there_for_numbers(codec: str, helps: int):
    """Residuals take room; and without a trainer nobody knows the tensors."""
    machine = standby(Membership(), codec)
    assert machine.numel_max == helps
    assert machine.helping == (helps > 0)


def test_a_call_is_answered_at_once_without_samples():
    stage = helped()
    stage.tell(1, Call(FIRST.epoch, FIRST.lineage, 0, 1, NUMEL))
    [ready] = stage.heard_by(1, Ready)
    assert (ready.member.samples, ready.member.reduces, ready.member.receives) == (0, True, False)


def test_plan_in_which_nobody_needs_the_mean_is_refused():
    """It had no coordinator, and the next timer ended the helper's process, a backbone's too."""
    stage = helped()
    stage.tell(1, Call(FIRST.epoch, FIRST.lineage, 0, 1, NUMEL))
    [ready] = stage.heard_by(1, Ready)
    numbers, liar = stage.actor.settings.averaging, Member(peer(1), 0, 0.0, receives=False)
    stage.tell(1, plan_of(ready.round, 1, [liar, ready.member], numbers))
    assert stage.heard_by(1, Refused)
    stage.wait(numbers.round_timeout_s)


def test_call_at_another_state_is_declined_and_reports_are_reread():
    stage = helped()
    stage.tell(1, Call(SECOND.epoch, SECOND.lineage, 0, 1, NUMEL))
    assert [declined.reason for declined in stage.heard_by(1, Declined)] == ["elsewhere"]
    stage.wait(1.0)
    stage.read(p1=report_of(SECOND, time=stage.now), p2=report_of(SECOND, time=stage.now))
    stage.tell(1, Call(SECOND.epoch, SECOND.lineage, 0, 2, NUMEL))
    assert len(stage.heard_by(1, Ready)) == 1


def test_reports_do_not_draw_a_helper_away_from_its_call():
    stage = helped()
    stage.tell(1, Call(FIRST.epoch, FIRST.lineage, 0, 1, NUMEL))
    stage.read(p3=report_of(THIRD, time=stage.now), p4=report_of(THIRD, time=stage.now), p5=report_of(THIRD, time=1.0))
    assert stage.actor.rounds.busy
    assert not stage.heard_by(1, Declined)


@pytest.mark.parametrize("why", ["room", "client", "paused"])
def test_who_cannot_help_says_so(why):
    stage = helped()
    numel = NUMEL
    if why == "room":
        numel += 1
    elif why == "client":
        stage.hear(stage.actor.handle(ReachChanged(OwnReach(Reachability.RELAYED)), stage.now))
        stage.read(p1=report_of(FIRST, time=stage.now + 1))
    else:
        stage.hear(stage.actor.handle(Help(0), stage.now))
    stage.tell(1, Call(FIRST.epoch, FIRST.lineage, 0, 1, numel))
    assert [declined.reason for declined in stage.heard_by(1, Declined)] == ["away"]
    assert not stage.heard_by(1, Ready)


def test_helper_reports_that_it_helps_and_is_not_in_step():
    stage = helped()
    report = stage.actor.report(stage.now)
    assert (report.helps, report.activity, report.in_step, report.digest) == (True, HELPING, False, b"")
    assert report.state == FIRST
    stage.hear(stage.actor.handle(ReachChanged(OwnReach(Reachability.RELAYED)), stage.now))
    assert not stage.actor.report(stage.now).helps


def test_failing_call_is_no_news_for_the_person():
    stage = helped()
    stage.tell(1, Call(FIRST.epoch, FIRST.lineage, 0, 1, NUMEL))
    stage.wait(30.0)
    assert not stage.actor.rounds.busy
    assert not [output for output in stage.said if isinstance(output, RoundLost)]


def test_whoever_trains_calls_helpers_wherever_they_stand():
    stage = Stage(target_samples=1)
    stage.ready()
    lost = report_of(THIRD, time=stage.now, in_step=False, helps=True, digest=b"", activity=HELPING)
    stage.read(p3=lost)
    stage.progress(samples=5, samples_per_s=1.0, loss=1.0)
    stage.read()
    assert [call.numel for call in stage.heard_by(3, Call)] == [NUMEL]


def test_a_peer_with_a_trainer_is_no_helper():
    stage = helped()
    stage.ready()
    assert not stage.actor.report(stage.now).helps
    with pytest.raises(AssertionError, match="trainer"):
        stage.actor.handle(Help(ROOM), stage.now)


def test_helper_that_leaves_its_share_is_excluded_for_a_while():
    stage = Stage(target_samples=1)
    stage.ready()
    called: tuple[PeerId, ...] = ()
    position = stage.actor.rounds.position

    def noted(*where: Any, helpers: Sequence[PeerId] = (), **when: Any) -> Sequence[Any]:
        nonlocal called
        called = tuple(helpers)
        return position(*where, helpers=helpers, **when)

    stage.actor.rounds.position = noted  # type: ignore[method-assign]

    def helpers() -> list[bool]:
        stage.read(
            **{
                f"p{number}": report_of(time=stage.now, in_step=False, helps=True, digest=b"", activity=HELPING)
                for number in (3, 4)
            }
        )
        stage.read()
        return [peer(3) in called, peer(4) in called]

    def ended(*, seen: Observations) -> None:
        """A round in which the shares of both helpers were made anew, as the others say."""
        members = [Member(peer(n), 0 if n > 1 else 4, 0.0, receives=n < 2) for n in (0, 1, 3, 4)]
        plan = plan_of(bytes(32), 1, members, stage.actor.settings.averaging)
        anew = tuple(int(not member.receives) for member in plan.members)
        stage.actor.rounds.penalties.committed(plan, anew, peer(1), stage.now, seen=seen)

    assert helpers() == [True, True]
    ended(seen={})
    assert helpers() == [True, True], "nobody is benched by others' word"
    ended(seen={Kind.LATE: frozenset({peer(4)})})
    for _ in range(REST_ROUNDS):
        stage.now += 1.0
        assert helpers() == [True, False]
        ended(seen={})
    stage.now += 1.0
    assert helpers() == [True, True]


def test_after_a_bad_plan_it_follows_the_others_again():
    stage = helped()
    stage.tell(1, Call(FIRST.epoch, FIRST.lineage, 0, 1, NUMEL))
    [ready] = stage.heard_by(1, Ready)
    members = [Member(peer(0), 0, 0.0, True, False), Member(peer(1), 4, 1.0)]
    plan = plan_of(ready.round, 1, members, stage.actor.settings.averaging, numel=NUMEL + 1)
    stage.tell(1, plan)
    assert stage.heard_by(1, Refused)
    stage.now += 1.0
    stage.read(p1=report_of(SECOND, time=stage.now), p2=report_of(SECOND, time=stage.now))
    stage.tell(2, Call(SECOND.epoch, SECOND.lineage, 0, 2, NUMEL))
    assert len(stage.heard_by(2, Ready)) == 1
