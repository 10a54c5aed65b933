"""Which newer state is gone after, and what a disappointment leads to."""

from random import Random

import pytest

from core.base.bounds import FOLLOWED_EPOCH_MAX
from core.base.machine import Lost, Received, Send, Trace
from core.swarm.catching_up.catch_up import STATE_SLACK_BYTES, CatchUp
from core.swarm.catching_up.donor import PastMembers
from core.swarm.catching_up.fetch import DONORS_MAX, Sinks
from core.swarm.catching_up.state_choice import LISTEN_S, PEER_REST_MAX_S, STATE_REST_MAX_S, NewerState
from core.swarm.catching_up.state_donor import StateDonor
from core.swarm.presence.membership import Membership
from core.swarm.words.messages import StateAsk, StateOffer
from core.swarm.words.outputs import CatchUpFailed
from core.swarm.words.progress import ProgressReport, StateCopy
from core.swarm.words.states import State, StateName
from tests.sim.swarm.disk import MemoryFile
from tests.unit.swarm.stage import FIRST, peer, report_of
from tests.unit.swarm.test_fetch import MemorySink

NEWER = StateName(1, b"n" * 32)
NEWEST = StateName(2, b"m" * 32)
ELSEWHERE = StateName(1, b"a" * 32)
BACKBONE = 30
LARGE = MemoryFile(bytes(STATE_SLACK_BYTES + 100))
OURS = State(FIRST, b"o" * 32, "here")


class Watched:
    """Catching up, with what peers promise."""

    def __init__(self) -> None:
        self.membership = Membership(met=[peer(number) for number in range(1, 10)], backbone=peer(BACKBONE))
        self.donor, self.trace = StateDonor(trace=Trace(), members=PastMembers()), Trace()
        self.machine = CatchUp(
            membership=self.membership,
            donor=self.donor,
            sinks=Sinks(MemorySink(), MemorySink()),
            random=Random(1),
            trace=self.trace,
        )

    def promised(
        self, number: int, name: StateName, now: float, *, digest: bytes = b"d" * 32, role: str = "volunteer"
    ) -> None:
        self.heard(number, report_of(name, time=now, digest=digest, role=role, in_step=role == "volunteer"), now)

    def keeps(
        self, name: StateName, now: float, *, at: StateName = FIRST, number: int = BACKBONE, digest: bytes = b"d" * 32
    ) -> None:
        """A backbone gives a copy of a state, and stands at another."""
        copy = StateCopy(name.epoch, name.lineage, digest)
        self.heard(number, report_of(at, time=now, role="backbone", in_step=False, copy=copy), now)

    def heard(self, number: int, report: ProgressReport, now: float) -> None:
        self.membership.branches.verified(peer(number))
        self.membership.heard(peer(number), report, expires=now + 1e6, now=now)

    def wanted(self, now: float) -> StateName | None:
        offer = self.machine.choice.best(OURS, now)
        return None if offer is None else offer.name

    def fail(self, now: float) -> list[object]:
        """The download of the best state fails: all its donors are lost."""
        offer = self.machine.choice.best(OURS, now)
        assert offer is not None
        asked = [output.to for output in self.machine.begin(offer, now) if isinstance(output, Send)]
        return [output for to in asked for output in self.machine.handle(Lost(to, "gone"), now)]


@pytest.mark.parametrize(("epoch", "followed"), [(FOLLOWED_EPOCH_MAX, True), (FOLLOWED_EPOCH_MAX + 1, False)])
def test_state_near_the_last_epoch_is_not_followed(epoch: int, *, followed: bool) -> None:
    watched = Watched()
    watched.promised(1, StateName(epoch, b"n" * 32), 0.0)
    assert (watched.wanted(0.0) is not None) is followed


def test_a_newcomer_waits_for_more_than_one_stranger() -> None:
    stranger = 20
    for others, role, at, waits_s in (
        ((), "", NEWER, LISTEN_S),
        ((21,), "volunteer", NEWER, 0.0),
        ((21,), "backbone", NEWER, 0.0),
        ((21,), "backbone", ELSEWHERE, LISTEN_S),
        ((21,), "volunteer", ELSEWHERE, LISTEN_S),
    ):
        watched = Watched()
        followed = []
        for second in range(int(LISTEN_S) + 1):
            watched.promised(stranger, NEWER, float(second))
            for number in others:
                watched.promised(number, at, float(second), role=role)
            followed += [second] if watched.wanted(float(second)) == NEWER else []
            assert watched.machine.rests(OURS, float(second)) == (second < waits_s), "it makes no history of its own"
        assert min(followed) == waits_s


def test_newcomer_goes_first_to_the_copy_of_its_backbone() -> None:
    for number, mine, taken in (
        (BACKBONE, OURS, True),
        (31, OURS, False),
    ):
        watched = Watched()
        watched.keeps(NEWEST, 0.0, number=number)
        assert watched.machine.choice.best(mine, 0.0) is None, "who was further may come back at the same time"
        watched.keeps(NEWEST, LISTEN_S, number=number)
        offer = watched.machine.choice.best(mine, LISTEN_S)
        assert (offer is not None) is taken, "others may only call themselves backbones"
        assert offer is None or offer.name == NEWEST


def test_who_comes_back_takes_the_copy_when_alone() -> None:
    left = State(ELSEWHERE, b"l" * 32, "")
    for number, copy, trains, taken in (
        (BACKBONE, NEWEST, (), True),
        (31, NEWEST, (), False),
        (BACKBONE, NEWER, (), False),
        (BACKBONE, NEWEST, (FIRST,), True),
        (BACKBONE, NEWEST, (ELSEWHERE,), False),
    ):
        watched = Watched()
        watched.keeps(copy, 0.0, number=number)
        for name in trains:
            watched.promised(1, name, 0.0, digest=left.digest)
        offer = watched.machine.choice.best(left, 0.0)
        assert offer == (NewerState(copy, b"d" * 32, (peer(BACKBONE),)) if taken else None)


@pytest.mark.parametrize("refused", [False, True])
def test_who_came_back_takes_no_false_or_second_copy(*, refused: bool) -> None:
    watched = Watched()
    left = State(ELSEWHERE, b"l" * 32, "")
    watched.machine.branches.loaded(left)
    watched.keeps(NEWEST, 0.0)
    offer = watched.machine.choice.best(left, 0.0)
    assert offer is not None
    watched.machine.begin(offer, 0.0, mine=left.name)
    if refused:
        watched.machine.refused(0.0)
    else:
        watched.machine.branches.loaded(left, guest=True)
    assert watched.machine.choice.best(left, 1.0) is None
    assert not watched.machine.rests(left, 1.0)


def test_newcomer_begins_anew_when_the_copy_is_false() -> None:
    watched = Watched()
    for too_large in (False, True):
        watched = Watched()
        watched.donor.offer(MemoryFile(b"ours"))
        watched.keeps(NEWEST, 0.0, digest=LARGE.digest)
        assert watched.wanted(0.0) is None
        offer = watched.machine.choice.best(OURS, LISTEN_S)
        assert offer is not None
        watched.machine.begin(offer, LISTEN_S)
        if too_large:
            told = StateOffer(LARGE.digest, LARGE.size_bytes, list(LARGE.chunks))
            failed = watched.machine.handle(Received(peer(BACKBONE), told), LISTEN_S)
            assert any(isinstance(event, CatchUpFailed) for event in failed)
        else:
            watched.machine.refused(LISTEN_S)
        assert watched.wanted(LISTEN_S) is None
        assert not watched.machine.rests(OURS, LISTEN_S)
        watched.keeps(NEWEST, LISTEN_S + 1)
        watched.wanted(LISTEN_S + 1)
        assert watched.wanted(LISTEN_S + 1 + PEER_REST_MAX_S * 2) == NEWEST, "another file may be right"


def test_newcomer_begins_at_once_where_the_backbone_has_no_model() -> None:
    watched = Watched()
    watched.promised(BACKBONE, FIRST, 0.0, digest=b"", role="backbone")
    assert watched.wanted(0.0) is None
    assert not watched.machine.rests(OURS, 0.0)


def test_newcomer_takes_the_copy_where_strangers_train_elsewhere() -> None:
    watched = Watched()
    for second in range(int(LISTEN_S) + 1):
        for number in (20, 21, 22):
            watched.promised(number, ELSEWHERE, float(second), digest=b"t" * 32)
        watched.keeps(NEWER, float(second), at=NEWEST)
        watched.wanted(float(second))
    assert watched.wanted(LISTEN_S) == NEWER


def test_copy_is_there_wherever_its_backbone_stands() -> None:
    """Who says that it trains, and gives nothing, draws the backbone along and keeps nobody from the copy."""
    watched = Watched()
    for second in range(int(LISTEN_S) + 1):
        watched.promised(20, NEWEST, float(second), digest=b"t" * 32)
        watched.keeps(NEWER, float(second), at=NEWEST)
        watched.wanted(float(second))
    assert watched.wanted(LISTEN_S) == NEWEST
    watched.fail(LISTEN_S)
    assert watched.machine.choice.best(OURS, LISTEN_S) == NewerState(NEWER, b"d" * 32, (peer(BACKBONE),))


def test_nobody_gives_another_file_for_the_state_of_the_copy() -> None:
    watched = Watched()
    for second in range(int(LISTEN_S) + 1):
        watched.promised(20, NEWEST, float(second), digest=b"z" * 32)
        watched.keeps(NEWEST, float(second), at=NEWEST)
        found = watched.machine.choice.best(OURS, float(second))
        assert found == (NewerState(NEWEST, b"d" * 32, (peer(BACKBONE),)) if second == LISTEN_S else None)


@pytest.mark.parametrize(("mine", "waits"), [(FIRST, True), (NEWER, False)])
def test_who_has_a_model_goes_on_when_nobody_gives_another(mine: StateName, *, waits: bool) -> None:
    watched = Watched()
    held, now = State(mine, b"m" * 32, ""), 0.0
    for _ in range(12):
        for number in (1, 2):
            watched.promised(number, ELSEWHERE, now)
        offer = watched.machine.choice.best(held, now)
        assert offer is not None
        for output in watched.machine.begin(offer, now):
            assert isinstance(output, Send)
            watched.machine.handle(Lost(output.to, "gone"), now)
        assert watched.machine.rests(held, now), "it is tried again soon"
        again = watched.machine.deadline
        assert again is not None
        meanwhile, now = min(now + LISTEN_S + 1, again - 0.01), again
        for number in (1, 2):
            watched.promised(number, ELSEWHERE, meanwhile)
        waited = watched.machine.rests(held, meanwhile)
        assert watched.machine.due(now)
    assert waited is waits


@pytest.mark.parametrize("heard", [False, True])
def test_newcomer_waits_a_moment_for_the_backbone_to_give(*, heard: bool) -> None:
    watched = Watched()
    if heard:
        watched.promised(BACKBONE, NEWEST, 0.0, digest=b"", role="backbone")
    assert watched.wanted(0.0) is None
    assert watched.machine.rests(OURS, 0.0)
    assert watched.machine.rests(OURS, LISTEN_S - 1)
    assert not watched.machine.rests(OURS, LISTEN_S)


def test_a_file_that_nobody_gives_is_not_gone_after() -> None:
    watched = Watched()
    watched.promised(1, NEWER, 0.0, digest=b"")
    assert watched.wanted(0.0) is None
    watched.promised(2, NEWER, 0.0)
    assert watched.wanted(0.0) == NEWER


def test_donors_with_the_most_common_digest_come_first() -> None:
    watched = Watched()
    for number, file in ((1, b"x"), (2, b"y"), (3, b"y"), (20, b"z"), (21, b"z"), (22, b"z")):  # strangers last
        watched.promised(number, NEWER, 0.0, digest=file * 32)
    assert watched.machine.choice.best(OURS, 0.0) == NewerState(NEWER, b"y" * 32, tuple(sorted((peer(2), peer(3)))))


@pytest.mark.parametrize(
    ("first", "like_ours", "fetched"), [(1, 0, True), (1, 1, False), (1, 2, False), (20, 0, False)]
)
def test_a_damaged_copy_is_replaced_by_that_of_most(first: int, like_ours: int, *, fetched: bool) -> None:
    watched = Watched()
    for number in (first, first + 1):  # 20 and 21 were in no round with this one
        watched.promised(number, FIRST, 0.0, digest=b"x" * 32)
    for number in range(3, 3 + like_ours):
        watched.promised(number, FIRST, 0.0, digest=OURS.digest)
    offer = watched.machine.choice.best(OURS, 0.0)
    assert (offer == NewerState(FIRST, b"x" * 32, tuple(sorted((peer(1), peer(2)))))) is fetched
    assert (offer is None) is not fetched


def test_member_asks_a_few_peers_for_the_greatest_state() -> None:
    watched = Watched()
    watched.promised(1, NEWER, 0.0)
    for number in range(2, 4 + DONORS_MAX):
        watched.promised(number, NEWEST, 0.0)
    offer = watched.machine.choice.best(OURS, 0.0)
    assert offer is not None
    assert offer.name == NEWEST
    asks = [output for output in watched.machine.begin(offer, 0.0) if isinstance(output.message, StateAsk)]
    assert len({ask.to for ask in asks} & set(offer.peers)) == len(asks) == DONORS_MAX


def test_state_given_by_no_donor_is_skipped_for_a_while() -> None:
    watched = Watched()
    watched.promised(1, NEWEST, 0.0)
    assert isinstance(watched.fail(0.0)[-1], CatchUpFailed)
    assert watched.wanted(0.0) is None
    assert watched.machine.rests(OURS, 0.0), "it is no use to train where most do not stand"
    retry_at = watched.machine.deadline
    assert retry_at is not None
    assert not watched.machine.due(retry_at - 0.01)
    assert watched.machine.due(retry_at)
    assert not watched.machine.due(retry_at), "once"
    later = max(PEER_REST_MAX_S, STATE_REST_MAX_S)
    watched.promised(1, NEWEST, later)
    assert watched.wanted(later) == NEWEST


def test_false_state_is_skipped_longer_than_one_not_given() -> None:
    def rest_s(*, false: bool) -> float:
        watched = Watched()
        watched.promised(1, NEWEST, 0.0)
        if false:
            offer = watched.machine.choice.best(OURS, 0.0)
            assert offer is not None
            watched.machine.begin(offer, 0.0)
            watched.machine.refused(0.0)
            assert watched.trace["state.load.refused"] == 1
        else:
            watched.fail(0.0)
        for second in range(int(STATE_REST_MAX_S)):
            watched.promised(1, NEWEST, second)
            if watched.wanted(second) == NEWEST:
                return second
        raise AssertionError("it is skipped for ever")

    assert rest_s(false=True) > rest_s(false=False)


def test_donors_of_a_state_that_arrived_are_trusted_again() -> None:
    watched = Watched()
    watched.promised(1, NEWER, 0.0)
    watched.fail(0.0)
    later = STATE_REST_MAX_S
    watched.promised(1, NEWER, later)
    offer = watched.machine.choice.best(OURS, later)
    assert offer is not None
    watched.machine.begin(offer, later)
    assert not watched.machine.arrived(NEWEST)
    assert watched.machine.arrived(NEWER)
    assert not watched.machine.arrived(NEWER), "nothing is wanted any more"


def test_a_state_larger_than_the_own_one_is_refused() -> None:
    own = MemoryFile(b"state")
    for more, refused in ((STATE_SLACK_BYTES, False), (STATE_SLACK_BYTES + 1, True)):
        watched, offered = Watched(), MemoryFile(bytes(own.size_bytes + more))
        watched.donor.offer(own)
        watched.promised(1, NEWEST, 0.0, digest=offered.digest)
        offer = watched.machine.choice.best(OURS, 0.0)
        assert offer is not None
        watched.machine.begin(offer, 0.0)
        answer = StateOffer(offered.digest, offered.size_bytes, list(offered.chunks))
        said = watched.machine.handle(Received(peer(1), answer), 0.0)
        assert any(isinstance(event, CatchUpFailed) for event in said) is refused
