import pytest

from core.averaging.matchmaking.attempts import attempt_key, by_distance
from core.averaging.messages import GROUP_MAX
from core.averaging.weights import GROWTH, EarnedSpeeds
from core.base.bounds import SAMPLES_MAX
from core.base.ids import PeerId
from core.swarm.presence.membership import (
    GOES_ON_S,
    LAST_WORDS_S,
    PEERS_MAX,
    SILENT_S,
    UNSEEN_MAX,
    Membership,
    agreement,
)
from core.swarm.words.orders import Agreement
from core.swarm.words.progress import ProgressReport
from core.swarm.words.states import State, StateName

NEW, OLD = b"\x01" * 32, b"\x00" * 32


def peer(number: int) -> PeerId:
    return PeerId(number.to_bytes(32, "big"))


def report(**changes: object) -> ProgressReport:
    fields: dict[str, object] = {
        "role": "volunteer",
        "activity": "training",
        "host": "",
        "port": 0,
        "epoch": 3,
        "lineage": NEW,
        "digest": b"d" * 32,
        "in_step": True,
        "samples": 10,
        "samples_per_s": 2.0,
        "time": 100.0,
    }
    return ProgressReport(**(fields | changes))  # type: ignore[arg-type]


def admitting(earned: EarnedSpeeds | None = None) -> Membership:
    """Peers 0 to 9 have shown their passes."""
    members = Membership(earned=earned)
    for number in range(10):
        members.branches.verified(peer(number))
    return members


def test_whoever_shows_no_pass_counts_for_nothing() -> None:
    members = admitting()
    for number in (1, 20, 21, 22):
        members.heard(peer(number), report(), expires=200, now=100)
    assert [stand.peer for stand in members.stands(100)] == [peer(1)]
    assert members.samples(StateName(3, NEW), 100) == 10


def test_invented_keys_leave_room_for_who_shows_a_pass() -> None:
    members = admitting()
    for number in range(100, 100 + PEERS_MAX):
        members.heard(peer(number), report(samples=0), expires=200, now=100)
    assert members.heard(peer(1), report(), expires=200, now=100)
    assert len(members.reported) == UNSEEN_MAX + 1
    candidates = members.in_step(StateName(3, NEW))
    assert peer(1) in by_distance(candidates, attempt_key(bytes(32), NEW, 3, 0))[: GROUP_MAX - 1]


def test_invented_keys_are_no_helpers() -> None:
    members = admitting()
    for number in (*range(100, 130), 9):
        members.heard(peer(number), report(in_step=False, helps=True), expires=200, now=100)
    assert members.helpers(100) == [peer(9)]


def test_revoked_peer_is_not_heard_though_others_publish_its_report() -> None:
    members = admitting()
    for number in (1, 2):
        members.heard(peer(number), report(), expires=200, now=100)
    members.revoked = frozenset({peer(1), peer(3)})
    members.expire(100)
    assert not members.heard(peer(1), report(time=101.0), expires=200, now=101)
    assert not members.heard(peer(3), report(), expires=200, now=101)
    assert list(members.live()) == [peer(2)]


def test_agreement_counts_who_has_the_same_bits_of_a_state() -> None:
    members, mine = admitting(), State(StateName(3, NEW), b"d" * 32, "")
    assert agreement(members.live().values(), mine) == Agreement(0, 0)
    members.heard(peer(1), report(), expires=200, now=100)
    members.heard(peer(2), report(digest=b"e" * 32), expires=200, now=100)
    members.heard(peer(3), report(digest=b""), expires=200, now=100)
    members.heard(peer(4), report(epoch=2), expires=200, now=100)
    members.heard(peer(5), report(lineage=OLD), expires=200, now=100)
    members.heard(peer(6), report(), expires=200, now=100)
    assert agreement(members.live().values(), mine) == Agreement(2, 3)


def test_only_samples_of_the_same_state_add_up() -> None:
    members = admitting()
    members.heard(peer(1), report(), expires=200, now=100)
    members.heard(peer(2), report(samples=5), expires=200, now=100)
    members.heard(peer(3), report(epoch=2), expires=200, now=100)
    members.heard(peer(4), report(lineage=OLD), expires=200, now=100)
    members.heard(peer(5), report(in_step=False), expires=200, now=100)
    state = StateName(3, NEW)
    assert members.samples(state, 100) == 15
    assert members.samples_per_s(state, 100) == 4.0
    assert members.in_step(state) == [peer(1), peer(2)]


def test_a_leavers_samples_are_deducted_and_a_returner_counts_again() -> None:
    members = admitting()
    state = StateName(3, NEW)
    members.heard(peer(1), report(time=40.0), expires=200, now=100)
    members.lost(peer(1), 101.0)
    assert members.samples(state, 101.0) == 0
    assert not members.heard(peer(1), report(time=40.0), expires=200, now=102)
    last_words = 40.0 + 1.0 + LAST_WORDS_S
    assert members.heard(peer(1), report(time=last_words), expires=200, now=102)
    assert members.samples(state, 102.0) == 0
    assert members.heard(peer(1), report(time=last_words + 1.0), expires=200, now=103)
    assert members.samples(state, 103.0) == 10


def test_who_has_not_reported_lately_counts_for_no_samples() -> None:
    members = admitting()
    state = StateName(3, NEW)
    members.heard(peer(1), report(time=40.0), expires=200, now=100)
    members.heard(peer(2), report(time=40.0), expires=200, now=100)
    members.heard(peer(2), report(time=45.0), expires=200, now=105)
    assert members.samples(state, 105) == int(20 + 2 * GOES_ON_S), "who has reported goes on at its speed, for a while"
    assert members.samples(state, 106) == int(20 + 2 * GOES_ON_S + 2 * 1)
    assert members.samples(state, 100 + SILENT_S) == int(10 + 2 * GOES_ON_S)
    assert members.samples_per_s(state, 100 + SILENT_S) == 2.0
    assert members.in_step(state) == [peer(1), peer(2)]


def test_waiting_report_counts_from_its_own_moment() -> None:
    """Its peer's clock runs 60 s behind; the first report was read at once, the second after 0.4 s."""
    members = admitting()
    state = StateName(3, NEW)
    members.heard(peer(1), report(time=40.0), expires=200, now=100)
    members.heard(peer(1), report(time=41.0, samples_per_s=1000.0), expires=200, now=101.4)
    assert members.samples(state, 101.4) == pytest.approx(10 + 1000 * 0.4, abs=2)
    assert members.samples(state, 102.0) == pytest.approx(10 + 1000 * 1.0, abs=2)
    assert members.samples(state, 104.0) == 10 + 1000 * GOES_ON_S, "no longer than any other"


def test_clocks_that_part_slowly_add_no_samples() -> None:
    """Half a millisecond a second for an hour: twice what a clock that is being corrected does."""
    members = admitting()
    for second in range(3600):
        members.heard(peer(1), report(time=40.0 + second), expires=1e9, now=100 + second * 1.0005)
    now = 100 + 3599 * 1.0005
    assert members.samples(StateName(3, NEW), now) == 10


@pytest.mark.parametrize("set_by_s", [-30.0, 30.0])
def test_clock_that_was_set_adds_no_samples(set_by_s: float) -> None:
    """Back: its reports are older than the last, until it has caught up.  Forward: they seem to come at once."""
    members = admitting()
    for second in range(5):
        members.heard(peer(1), report(time=40.0 + second), expires=1e9, now=100 + second)
    for second in range(5, 50):
        members.heard(peer(1), report(time=40.0 + second + set_by_s), expires=1e9, now=100 + second)
    assert members.samples(StateName(3, NEW), 149.0) == 10


def test_lost_peer_is_not_here_until_it_reports_again() -> None:
    members = admitting()
    members.heard(peer(1), report(time=40.0), expires=200, now=100)
    members.lost(peer(1), 101.0)
    assert peer(1) in members.reported
    assert not members.live()
    assert not members.in_step(StateName(3, NEW))
    members.heard(peer(1), report(time=40.0 + 1.0 + LAST_WORDS_S + 0.1), expires=200, now=103)
    assert list(members.live()) == [peer(1)]


def test_silent_peer_neither_helps_nor_votes() -> None:
    members = admitting()
    members.heard(peer(1), report(helps=True), expires=200, now=100)
    almost, silent = 100 + SILENT_S - 0.1, 100 + SILENT_S
    assert (members.audible(almost), members.helpers(almost)) == (True, [peer(1)])
    assert [stand.state for stand in members.stands(almost)] == [StateName(3, NEW)]
    assert (members.audible(silent), members.helpers(silent)) == (False, [])
    assert not members.stands(silent)


def test_silence_is_forgotten() -> None:
    members = admitting()
    members.heard(peer(1), report(), expires=120, now=100)
    members.expire(119)
    assert members.live()
    members.expire(120)
    assert not members.live()


def test_an_older_report_never_replaces_a_newer_one() -> None:
    members = admitting()
    members.heard(peer(1), report(samples=7, time=50.0), expires=200, now=100)
    assert not members.heard(peer(1), report(samples=9, time=49.0), expires=300, now=100)
    assert members.live()[peer(1)].samples == 7


def test_strangers_cannot_make_the_table_grow_without_end() -> None:
    members = admitting()
    for number in range(PEERS_MAX + 10):
        members.branches.verified(peer(number))
        members.heard(peer(number), report(), expires=200, now=100)
    assert len(members.live()) == PEERS_MAX


def test_reported_samples_count_as_far_as_they_were_earned() -> None:
    earned = EarnedSpeeds()
    membership = admitting(earned)
    before, middle, state = (1, OLD), (2, OLD), StateName(3, NEW)
    counted = {peer(1): 100, peer(2): 80}
    earned.committed(before, middle, counted, began_at=90.0)
    earned.committed(middle, (3, NEW), counted, began_at=100.0)
    membership.heard(peer(1), report(samples=50, samples_per_s=10.0), expires=200, now=105)
    membership.heard(peer(2), report(samples=SAMPLES_MAX, samples_per_s=1e12), expires=200, now=105)
    assert membership.samples(state, 105) == 50 + GROWTH * 8 * 5
    assert membership.samples_per_s(state, 105) == 10 + GROWTH * 8
