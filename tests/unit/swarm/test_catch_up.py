"""Which newer state is gone after, and what a disappointment leads to."""

from random import Random

import pytest

from core.base.bounds import FOLLOWED_EPOCH_MAX
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send
from core.base.trace import Trace
from core.sim.disk import MemoryFile
from core.swarm.catch_up import (
    PEER_REST_MAX_S,
    STATE_REST_MAX_S,
    STATE_SLACK_BYTES,
    CatchUp,
    CatchUpFailed,
    NewerState,
    most_are_ahead,
    states_above,
)
from core.swarm.donor import StateDonor
from core.swarm.fetch import DONORS_MAX
from core.swarm.membership import Membership
from core.swarm.messages import StateAsk, StateOffer
from core.swarm.progress import ProgressReport
from core.swarm.states import StateName
from tests.unit.swarm.stage import FIRST, peer, report_of
from tests.unit.swarm.test_fetch import MemorySink

NEWER = StateName(1, b"n" * 32)
NEWEST = StateName(2, b"n" * 32)


class Watched:
    """Catching up, with what peers promise."""

    def __init__(self) -> None:
        self.membership, self.donor, self.trace = Membership(), StateDonor(trace=Trace()), Trace()
        self.machine = CatchUp(
            membership=self.membership, donor=self.donor, sink=MemorySink(), random=Random(1), trace=self.trace
        )

    def promised(self, number: int, name: StateName, now: float, *, digest: bytes = b"d" * 32) -> None:
        report = report_of(name, time=now, digest=digest)
        self.membership.heard(peer(number), report, expires=now + 1e6, now=now)

    def wanted(self, now: float) -> StateName | None:
        offer = self.machine.best(FIRST, now)
        return None if offer is None else offer.name

    def fail(self, now: float) -> list[object]:
        """The download of the best state fails: all its donors are lost."""
        offer = self.machine.best(FIRST, now)
        assert offer is not None
        asked = [output.to for output in self.machine.begin(offer, now) if isinstance(output, Send)]
        return [output for to in asked for output in self.machine.handle(Lost(to, "gone"), now)]


def promises(*states: tuple[StateName, bytes]) -> dict[PeerId, ProgressReport]:
    """What peers 1, 2, ... say: their state, and the digest of its file."""
    return {
        peer(number): report_of(state, time=0.0, digest=digest)
        for number, (state, digest) in enumerate(states, start=1)
    }


def test_only_states_that_somebody_can_give_count() -> None:
    low = StateName(1, b"m" * 32)
    reports = promises((NEWEST, b""), (NEWER, b"d" * 32), (low, b"d" * 32))
    assert [offer.name for offer in states_above(FIRST, reports)] == [NEWER, low]
    assert states_above(NEWER, reports) == []


@pytest.mark.parametrize(("epoch", "followed"), [(FOLLOWED_EPOCH_MAX, True), (FOLLOWED_EPOCH_MAX + 1, False)])
def test_state_near_the_last_epoch_is_not_followed(epoch: int, *, followed: bool) -> None:
    reports = promises((StateName(epoch, b"n" * 32), b"d" * 32))
    assert bool(states_above(FIRST, reports)) is followed


def test_donors_with_the_most_common_digest_come_first() -> None:
    reports = promises((NEWER, b"x" * 32), (NEWER, b"y" * 32), (NEWER, b"y" * 32))
    assert states_above(FIRST, reports) == [
        NewerState(NEWER, b"y" * 32, tuple(sorted((peer(2), peer(3))))),
        NewerState(NEWER, b"x" * 32, (peer(1),)),
    ]


@pytest.mark.parametrize(("ahead", "level", "expected"), [(1, 0, False), (2, 0, True), (2, 1, False), (3, 1, True)])
def test_most_are_ahead_when_more_than_half_of_all_are(ahead: int, level: int, *, expected: bool) -> None:
    reports = promises(*[(NEWER, b"d" * 32)] * ahead, *[(FIRST, b"d" * 32)] * level, (NEWEST, b""))
    assert most_are_ahead(FIRST, reports.values()) is expected


def test_member_asks_a_few_peers_for_the_greatest_state() -> None:
    watched = Watched()
    watched.promised(1, NEWER, 0.0)
    for number in range(2, 4 + DONORS_MAX):
        watched.promised(number, NEWEST, 0.0)
    offer = watched.machine.best(FIRST, 0.0)
    assert offer is not None
    assert offer.name == NEWEST
    asks = [output for output in watched.machine.begin(offer, 0.0) if isinstance(output.message, StateAsk)]
    assert len({ask.to for ask in asks} & set(offer.peers)) == len(asks) == DONORS_MAX


def test_state_given_by_no_donor_is_skipped_for_a_while() -> None:
    watched = Watched()
    watched.promised(1, NEWEST, 0.0)
    watched.promised(2, NEWER, 0.0)
    assert watched.fail(0.0)[-1] == CatchUpFailed()
    assert watched.wanted(0.0) == NEWER
    retry_at = watched.machine.deadline
    assert retry_at is not None
    assert not watched.machine.due(retry_at - 0.01)
    assert watched.machine.due(retry_at)
    assert not watched.machine.due(retry_at), "once"
    assert watched.wanted(max(PEER_REST_MAX_S, STATE_REST_MAX_S)) == NEWEST


def test_after_a_failure_it_waits_if_most_are_ahead() -> None:
    for number, rests in ((1, False), (3, True)):
        watched = Watched()
        for donor in range(1, number + 1):
            watched.promised(donor, NEWEST, 0.0)
        watched.fail(0.0)
        assert watched.machine.rests(FIRST, 0.0) is rests


def test_false_state_is_skipped_longer_than_one_not_given() -> None:
    def rest_s(*, false: bool) -> float:
        watched = Watched()
        watched.promised(1, NEWEST, 0.0)
        if false:
            offer = watched.machine.best(FIRST, 0.0)
            assert offer is not None
            watched.machine.begin(offer, 0.0)
            watched.machine.refused(0.0)
            assert watched.trace["state.load.refused"] == 1
        else:
            watched.fail(0.0)
        return next(second for second in range(int(STATE_REST_MAX_S)) if watched.wanted(second) == NEWEST)

    assert rest_s(false=True) > rest_s(false=False)


def test_donors_of_a_state_that_arrived_are_trusted_again() -> None:
    watched = Watched()
    watched.promised(1, NEWER, 0.0)
    watched.fail(0.0)
    later = STATE_REST_MAX_S
    offer = watched.machine.best(FIRST, later)
    assert offer is not None
    watched.machine.begin(offer, later)
    assert not watched.machine.arrived(NEWEST)
    assert watched.machine.arrived(NEWER)
    assert not watched.machine.arrived(NEWER), "nothing is wanted any more"


def test_a_state_larger_than_the_own_one_is_refused() -> None:
    own = MemoryFile(b"state")
    for more, refused in ((STATE_SLACK_BYTES, False), (STATE_SLACK_BYTES + 1, True)):
        watched, offered = Watched(), MemoryFile(bytes(own.size_bytes + more))
        watched.donor.offer(own, ledger=b"")
        watched.promised(1, NEWEST, 0.0, digest=offered.digest)
        offer = watched.machine.best(FIRST, 0.0)
        assert offer is not None
        watched.machine.begin(offer, 0.0)
        answer = StateOffer(offered.digest, offered.size_bytes, list(offered.chunks), b"")
        said = watched.machine.handle(Received(peer(1), answer), 0.0)
        assert (CatchUpFailed() in said) is refused
