"""When a backbone takes its next copy of the model."""

from random import Random

from core.base.machine import Lost, Received, Send, Trace
from core.swarm.catching_up.catch_up import CatchUp
from core.swarm.catching_up.donor import PastMembers
from core.swarm.catching_up.fetch import Sinks
from core.swarm.catching_up.keeper import BUSIEST, COPY_S, REST, REST_MAX_S, REST_MIN_S, StateKeeper
from core.swarm.catching_up.state_donor import StateDonor
from core.swarm.presence.membership import Membership
from core.swarm.words.facts import StateKept, StateNotKept
from core.swarm.words.messages import ChunkAsk, ChunkGive, StateAsk, StateOffer
from core.swarm.words.orders import CopyFailed, Keep
from core.swarm.words.outputs import CatchUpFailed, StateFetched
from core.swarm.words.states import StateName
from tests.sim.swarm.disk import MemoryFile
from tests.unit.swarm.stage import peer, report_of
from tests.unit.swarm.test_fetch import MemorySink

FIRST_COPY_S = REST_MIN_S + 1


class Watched:
    """A keeper, and one that trains and gives."""

    def __init__(self, *, keeps: bool = True) -> None:
        self.membership = Membership()
        self.catch_up = CatchUp(
            membership=self.membership,
            donor=StateDonor(trace=Trace(), members=PastMembers()),
            sinks=Sinks(MemorySink(), MemorySink()),
            random=Random(1),
            trace=Trace(),
        )
        self.keeper = StateKeeper(self.catch_up, keeps=keeps)
        self.keeper.consider(None, 0.0)

    def asks(self, epoch: int, now: float) -> StateKept | None:
        """What is fetched, when somebody stands at this epoch."""
        file = MemoryFile(epoch.to_bytes(4, "big") * 100)
        name = StateName(epoch, epoch.to_bytes(32, "big"))
        report = report_of(name, time=now, digest=file.digest)
        self.membership.branches.verified(peer(1))
        self.membership.heard(peer(1), report, expires=now + 1e6, now=now)
        asks = self.keeper.consider(name, now)
        assert asks in ([], [Send(peer(1), StateAsk(file.digest))])
        return StateKept(name, file) if asks else None

    def gives(self, copy: StateKept, now: float) -> list[object]:
        """It comes whole; what the keeper makes of it."""
        file = copy.file
        offer = StateOffer(file.digest, file.size_bytes, list(file.chunks))
        asks = self.catch_up.handle(Received(peer(1), offer), now)
        if Send(peer(1), ChunkAsk(file.digest, 0)) in asks:
            asks = self.catch_up.handle(Received(peer(1), ChunkGive(file.digest, 0, memoryview(file.read(0)))), now)
        found = [event for event in asks if isinstance(event, StateFetched | CatchUpFailed)]
        return [output for event in found for output in self.keeper.followed(event, now)]


def test_copy_is_fetched_and_kept_and_another_after_a_rest() -> None:
    watched = Watched()
    assert watched.asks(1, REST_MIN_S - 1) is None, "the first is not taken at once"
    copy = watched.asks(2, FIRST_COPY_S)
    assert copy is not None
    took_s = 10.0
    (keep,) = watched.gives(copy, FIRST_COPY_S + took_s)
    assert isinstance(keep, Keep)
    assert (keep.name, keep.digest) == (copy.name, copy.file.digest)
    assert watched.asks(3, FIRST_COPY_S + took_s) is None, "the disk is busy with it"
    watched.keeper.answered(copy, FIRST_COPY_S + took_s)
    assert watched.keeper.newest is copy
    rested = FIRST_COPY_S + took_s + REST * took_s
    assert watched.asks(4, rested - 1) is None
    assert watched.asks(2, rested + 1) is None, "it has that one"
    assert watched.asks(5, rested + 2) is not None


def test_first_state_is_not_worth_a_copy() -> None:
    assert Watched().asks(0, FIRST_COPY_S) is None


def test_peer_with_another_role_takes_no_copies() -> None:
    assert Watched(keeps=False).asks(1, FIRST_COPY_S) is None


def test_copies_that_fail_are_rested_after_too() -> None:
    """The donor's link breaks each time after 20 minutes."""
    watched, now, used_s, day_s, fails_s, epoch = Watched(), FIRST_COPY_S, 0.0, 86_400.0, 1200.0, 0
    while now < day_s:
        epoch, now = epoch + 1, now + 10.0
        if watched.asks(epoch, now) is None:
            continue
        now, used_s = now + fails_s, used_s + fails_s
        told = watched.catch_up.handle(Lost(peer(1), "gone"), now)
        (failed,) = (event for event in told if isinstance(event, CatchUpFailed))
        assert watched.keeper.followed(failed, now) == [CopyFailed("the last donor was lost")]
    assert 0 < used_s <= fails_s * (1 + day_s / (REST * fails_s))


def test_owner_has_copies_as_often_as_lines_allow() -> None:
    watched = Watched()
    watched.keeper.every(600.0, 0.0)
    assert watched.asks(1, 599.0) is None
    took = watched.asks(1, 600.0)
    assert took is not None
    watched.keeper.answered(took, 610.0)
    assert watched.asks(2, 1199.0) is None
    slow = watched.asks(2, 1200.0)
    assert slow is not None
    watched.keeper.answered(slow, 2200.0)
    assert watched.asks(3, 2200.0 + BUSIEST * 1000.0 - 1) is None, "a donor's line is not kept busy"
    assert watched.asks(3, 2200.0 + BUSIEST * 1000.0) is not None


def test_slow_donor_does_not_end_copies() -> None:
    watched = Watched()
    assert watched.asks(1, FIRST_COPY_S) is not None
    assert watched.asks(2, FIRST_COPY_S + COPY_S - 1) is None
    given_up = FIRST_COPY_S + COPY_S + 1
    assert [type(output) for output in watched.keeper.consider(None, given_up)] == [Send], "the donor is told"
    assert watched.asks(4, given_up + REST_MAX_S - 1) is None
    assert watched.asks(5, given_up + REST_MAX_S + 1) is not None


def test_copy_is_kept_beside_another_file_of_its_state() -> None:
    watched = Watched()
    name = StateName(1, (1).to_bytes(32, "big"))
    watched.keeper.answered(StateKept(name, MemoryFile(b"kept")), 0.0)
    assert watched.asks(1, FIRST_COPY_S) is None
    assert watched.asks(2, FIRST_COPY_S + 1) is not None


def test_trouble_with_the_disk_is_not_held_against_donors() -> None:
    watched = Watched()
    copy = watched.asks(1, FIRST_COPY_S)
    assert copy is not None
    assert watched.gives(copy, FIRST_COPY_S)
    watched.keeper.answered(StateNotKept(lied=False), FIRST_COPY_S)
    assert watched.asks(1, FIRST_COPY_S + REST_MIN_S + 1) is not None


def test_false_copy_is_not_given_and_not_fetched_again() -> None:
    watched = Watched()
    copy = watched.asks(1, FIRST_COPY_S)
    assert copy is not None
    assert watched.gives(copy, FIRST_COPY_S)
    watched.keeper.answered(StateNotKept(lied=True), FIRST_COPY_S)
    assert watched.keeper.newest is None
    assert watched.asks(1, FIRST_COPY_S + REST_MIN_S + 1) is None
    assert watched.asks(2, FIRST_COPY_S + 1000.0) is not None


def test_lost_donor_ends_a_copy_until_the_next() -> None:
    watched = Watched()
    assert watched.asks(1, FIRST_COPY_S) is not None
    failed = watched.catch_up.handle(Lost(peer(1), "gone"), FIRST_COPY_S)
    (event,) = (event for event in failed if isinstance(event, CatchUpFailed))
    assert watched.keeper.followed(event, FIRST_COPY_S) == [CopyFailed("the last donor was lost")]
    assert watched.asks(2, FIRST_COPY_S + 2) is None
    assert watched.asks(2, FIRST_COPY_S + REST_MIN_S + 1) is not None


def test_copy_that_is_given_up_is_not_kept() -> None:
    """The organiser has gone back to an earlier one meanwhile."""
    watched = Watched()
    copy = watched.asks(1, FIRST_COPY_S)
    assert copy is not None
    assert [type(output) for output in watched.keeper.drop(FIRST_COPY_S)] == [Send], "the donor is told"
    assert watched.gives(copy, FIRST_COPY_S + 1) == []
    assert watched.keeper.drop(FIRST_COPY_S + 1) == []


def test_copy_of_an_earlier_run_is_known_at_once() -> None:
    watched = Watched()
    kept = StateKept(StateName(7, b"k" * 32), MemoryFile(b"kept"))
    watched.keeper.answered(kept, 0.0)
    assert watched.keeper.newest is kept
    assert watched.asks(1, FIRST_COPY_S) is not None


def test_copy_that_is_checked_for_hours_is_waited_for() -> None:
    """The next download would begin with the deletion of its file."""
    watched = Watched()
    copy = watched.asks(1, FIRST_COPY_S)
    assert copy is not None
    assert len(watched.gives(copy, FIRST_COPY_S + 10)) == 1
    for hours in range(1, 11):
        assert watched.asks(2, FIRST_COPY_S + 3600 * hours) is None
    watched.keeper.answered(copy, FIRST_COPY_S + 10 * 3600)
    assert watched.keeper.newest is copy
