"""The coordinator's decisions: the quorum, and what a successor may still change."""

import heapq
from typing import Any

import msgspec
import pytest

from core.averaging.allreduce.share_map import ShareMap
from core.averaging.commit.coordinator import Coordinator
from core.averaging.commit.phases import Phase
from core.averaging.commit.reports import RANK_SHIFT, Reports, is_planned, quorum
from core.averaging.failure_detector import Timetable
from core.averaging.messages import Commit, Members, Status, to_bits
from core.averaging.outcome import RoundFinished
from core.base.ids import PeerId
from core.base.machine import Received, Trace
from tests.unit.averaging.liars import ends
from tests.unit.averaging.pump import Pump, Round, make_plan

COUNT = 5
HELPER = 4
DEAD = 0
KEY = tuple(b"" if member == HELPER else bytes([member + 1]) * 8 for member in range(COUNT))
VOTE = (b"same",) * COUNT


def shares_of(count: int, *, helpers: Members = frozenset()) -> ShareMap:
    """Shares of members that coordinate in their order."""
    plan = make_plan([1] * count, 16 * count)
    members = tuple(msgspec.structs.replace(m, receives=i not in helpers) for i, m in enumerate(plan.members))
    return ShareMap(msgspec.structs.replace(plan, members=members, leaders=tuple(range(count))))


@pytest.mark.parametrize(
    ("count", "live", "enough"),
    [
        (4, {0, 3}, True),
        (4, {1, 2}, False),
        (4, {0}, False),
        (4, {1, 2, 3}, True),
        (5, {0, 1}, False),
        (5, {2, 3, 4}, True),
        (2, {0}, True),
        (2, {1}, False),
    ],
)
def test_half_is_a_quorum_with_the_first_coordinator(count: int, live: set[int], *, enough: bool) -> None:
    assert quorum(shares_of(count), frozenset(live)) is enough


@pytest.mark.parametrize(("live", "enough"), [({0, 1, 2}, True), ({1, 2}, True), ({0, 3, 4, 5, 6}, False)])
def test_helpers_count_for_no_quorum(live: set[int], *, enough: bool) -> None:
    assert quorum(shares_of(7, helpers=frozenset({3, 4, 5, 6})), frozenset(live)) is enough


@pytest.mark.parametrize(
    ("present", "planned"), [((3, 3, 3), True), ((0, 0, 0), True), ((3, 3, 4), False), ((3, 3), False), ((), False)]
)
def test_commit_has_no_more_parts_than_the_plan(present: tuple[int, ...], *, planned: bool) -> None:
    shares = shares_of(3)
    assert shares.chunk_total == 3
    commit = Commit(shares.plan.round, (0, 0, 0), (), (), present)
    assert is_planned(shares, commit) is planned
    assert not is_planned(shares, msgspec.structs.replace(commit, versions=(0, 0)))


class Successor:
    """The second coordinator of four members and a helper, after the first has died."""

    def __init__(self) -> None:
        shares = shares_of(COUNT, helpers=frozenset({HELPER}))
        self.word = Status(shares.plan.round, (0,) * COUNT, tuple(range(COUNT)))
        self.machine = Coordinator(
            Reports(shares, 1, shares.everybody - {DEAD}),
            timetable=Timetable(0.0, 1.0, 2.0, 20.0),
            vote_ignored=frozenset(),
            trace=Trace(),
        )

    def hear(self, member: int, **said: Any) -> None:
        nonce = b"" if member == HELPER else KEY[member]
        self.machine.note(member, msgspec.structs.replace(self.word, **{"nonce": nonce, **said}))

    def hear_voter(self, member: int) -> None:
        self.hear(member, nonces=KEY, fingerprints=VOTE)

    def hear_lacking(self, member: int) -> None:
        self.hear(member, nonce=b"", stalled=to_bits(frozenset({DEAD})))


def test_successor_waits_until_all_members_have_reported() -> None:
    successor = Successor()
    for member in (1, 2, 3):
        successor.hear_voter(member)
        successor.machine.step(0.0)
        assert successor.machine.standing.phase is Phase.TAKING_OVER
    successor.hear(HELPER)
    successor.machine.step(0.0)
    assert successor.machine.standing.phase is Phase.COMMITTED


@pytest.mark.parametrize(("version", "adopted"), [(2, True), (1 << RANK_SHIFT, False)])
def test_successor_adopts_what_a_predecessor_may_have_ordered(version: int, *, adopted: bool) -> None:
    """One member reports a newer version of a share, made by itself."""
    successor = Successor()
    newer = {"versions": (0, version, 0, 0, 0), "reducers": (0, 3, 2, 3, 4)}
    successor.hear(3, **newer)
    successor.machine.step(0.0)
    assert successor.machine.reports.versions == (0,) * COUNT, "not all have reported"
    for member in (1, 2, HELPER):
        successor.hear(member)
    successor.machine.step(0.0)
    reports = successor.machine.reports
    assert (reports.versions[1], reports.reducers[1]) == ((version, 3) if adopted else (0, 1))


def test_successor_commits_under_the_key_of_its_predecessor() -> None:
    successor = Successor()
    for member in (1, 2):
        successor.hear_voter(member)
    for member in (3, HELPER):
        successor.hear(member)
    successor.machine.step(0.0)
    order = successor.machine.order(0.0)
    assert order is not None
    assert order.nonces == KEY
    successor.hear_voter(3)
    successor.machine.step(0.0)
    assert successor.machine.commit(()).nonces == KEY


def test_successor_commits_under_no_key_without_its_nonce() -> None:
    """By the word of others the first coordinator has excluded it; honest ones would leave it then."""
    successor = Successor()
    for member in (2, 3):
        successor.hear(member, nonces=(KEY[0], b"", *KEY[2:]), fingerprints=VOTE)
    for member in (1, HELPER):
        successor.hear(member)
    successor.machine.step(0.0)
    assert successor.machine.standing.phase is Phase.PREPARING
    assert successor.machine.reports.live == {1, 2, 3, HELPER}
    assert successor.machine.reports.key == (b"", *KEY[1:])


def test_no_commit_among_fewer_than_a_quorum() -> None:
    """Four of five are left, and two of them voted under a key without the successor's nonce; then one leaves."""
    shares = shares_of(5)
    times, word = Timetable(0.0, 1.0, 2.0, 20.0), Status(shares.plan.round, (0,) * 5, tuple(range(5)))
    live = frozenset({1, 2, 3})
    machine = Coordinator(Reports(shares, 1, live), timetable=times, vote_ignored=frozenset(), trace=Trace())
    nonces = tuple(bytes([member + 1]) * 8 for member in range(5))
    key = (nonces[0], b"", *nonces[2:])
    machine.note(1, msgspec.structs.replace(word, nonce=nonces[1]))
    for member in (2, 3):
        machine.note(member, msgspec.structs.replace(word, nonce=nonces[member], nonces=key, fingerprints=VOTE))
    machine.step(1.0)
    assert machine.standing.phase is Phase.PREPARING
    machine.exclude(frozenset({1}))
    machine.step(1.1)
    assert machine.standing.phase is Phase.ABORTED


def test_helpers_alone_commit_nothing() -> None:
    """They are most of the members, and none of them has a vote."""
    shares = shares_of(COUNT, helpers=frozenset({2, 3, 4}))
    times, word = Timetable(0.0, 1.0, 2.0, 20.0), Status(shares.plan.round, (0,) * COUNT, tuple(range(COUNT)))
    machine = Coordinator(
        Reports(shares, 0, shares.everybody), timetable=times, vote_ignored=frozenset(), trace=Trace()
    )
    for member in range(COUNT):
        machine.note(member, word)
    machine.exclude(frozenset({0, 1}))
    machine.step(0.0)
    assert machine.standing.phase is Phase.ABORTED


def test_successor_asks_for_votes_anew_without_earlier_ones() -> None:
    successor = Successor()
    for member in (1, 2, 3, HELPER):
        successor.hear(member)
    successor.machine.step(0.0)
    order = successor.machine.order(0.0)
    assert order is not None
    assert order.nonces == (b"", *KEY[1:])


@pytest.mark.parametrize("voted", [False, True])
def test_successor_remakes_no_share_that_may_be_committed(*, voted: bool) -> None:
    """One that has voted and the dead coordinator are a quorum; then the voter is gone as well."""
    successor = Successor()
    successor.hear_lacking(1)
    successor.hear_lacking(2)
    if voted:
        successor.hear_voter(3)
    else:
        successor.hear_lacking(3)
    successor.hear(HELPER)
    successor.machine.step(0.0)
    successor.machine.exclude(frozenset({3}))
    successor.machine.step(0.0)
    version = successor.machine.reports.versions[DEAD]
    assert version == (0 if voted else 1 << RANK_SHIFT), "a successor's versions are its own"


def told(rank: int = 0) -> tuple[Reports, Status]:
    """What a coordinator of three knows, of which the last is a helper, and a Status with a nonce."""
    shares = shares_of(3, helpers=frozenset({2}))
    start = Status(shares.plan.round, (0,) * 3, (0, 1, 2), nonce=b"s" * 8)
    return Reports(shares, rank, shares.everybody), start


def test_key_has_no_nonce_of_a_helper() -> None:
    reports, start = told()
    for member in range(3):
        reports.note(member, start)
    assert reports.new_key() == (b"s" * 8, b"s" * 8, b"")


def test_successor_keeps_only_keys_with_every_nonce() -> None:
    reports, start = told(rank=1)
    foreign = (b"x" * 8, b"s" * 8, b"")
    reports.note(0, msgspec.structs.replace(start, nonces=foreign))
    reports.note(1, start)
    assert reports.earlier_votes() == ({0}, ())
    key = (b"s" * 8, b"s" * 8, b"")
    reports.note(1, msgspec.structs.replace(start, nonces=key))
    assert reports.earlier_votes() == ({0, 1}, key)


def voted(
    *rounds: str, ignored: Members = frozenset(), rank: int = 0, second_hand: Members = frozenset()
) -> Coordinator:
    """A coordinator after rounds of votes, of all members: each letter is a share's fingerprint."""
    members = range(len(rounds[0].split()))
    shares = shares_of(len(members))
    start = Status(shares.plan.round, (0,) * len(members), tuple(members))
    timetable = Timetable(0.0, 1.0, 2.0, 20.0)
    machine = Coordinator(
        Reports(shares, rank, shares.everybody), timetable=timetable, vote_ignored=ignored, trace=Trace()
    )
    machine.reports.second_hand = second_hand
    for number, votes in enumerate(rounds):
        repaired = machine.reports.repairing
        key = tuple(bytes([member + 16 * number * (member in repaired)]) * 8 for member in members)
        now = msgspec.structs.replace(start, versions=machine.reports.versions, reducers=machine.reports.reducers)
        words = [msgspec.structs.replace(now, nonce=key[member]) for member in members]
        if not rank:
            for member in members:
                machine.note(member, words[member])
            machine.step(0.0)
        for member, vote in enumerate(votes.split()):
            fingerprints = tuple(letter.encode() for letter in vote)
            machine.note(member, msgspec.structs.replace(words[member], nonces=key, fingerprints=fingerprints))
        machine.step(0.0)
    return machine


def test_member_with_another_vote_gets_the_coordinators_means() -> None:
    machine = voted("aaaa aaax aaaa aaaa")
    assert machine.reports.live == {0, 1, 2, 3}
    assert machine.reports.repairing == {1} == machine.reports.undone
    assert not machine.reports.votes.keys() & {1}
    assert (machine.judgement.differed, machine.judgement.doubted) == (frozenset(), frozenset()), "nobody can tell"
    order = machine.order(1.0)
    assert order is not None
    assert order.fingerprints == (b"a",) * 4


def test_member_that_votes_otherwise_after_a_repair_is_excluded() -> None:
    machine = voted("aaaa aaax aaaa aaaa", "aaaa aaax aaaa aaaa")
    assert machine.reports.live == {0, 2, 3}
    assert machine.reports.versions == (0, 0, 0, 0)
    assert (machine.judgement.differed, machine.judgement.doubted) == ({1}, frozenset())


def test_member_that_most_reducers_would_lie_to_is_excluded() -> None:
    assert voted("aaaa axxa aaaa aaaa").reports.live == {0, 1, 2, 3}
    machine = voted("aaaa xxxa aaaa aaaa")
    assert (machine.reports.live, machine.reports.versions) == ({0, 2, 3}, (0,) * 4)
    assert not machine.judgement.differed


def test_member_that_differs_from_a_possible_commit_is_excluded() -> None:
    machine = voted("aaaa aaaa aaax aaaa", rank=1)
    assert (machine.reports.live, machine.reports.versions) == ({0, 1, 3}, (0,) * 4)
    assert not machine.judgement.differed


def test_ignored_vote_excludes_its_member_and_names_nobody() -> None:
    machine = voted("aaaa aaax aaaa aaaa", ignored=frozenset({1}))
    assert (machine.reports.live, machine.reports.versions) == ({0, 2, 3}, (0,) * 4)
    assert not machine.judgement.doubted


@pytest.mark.parametrize(
    ("votes", "repaired", "doubted"),
    [
        ("aaxaa", {2}, set()),
        ("aaxya", {2, 3}, set()),
        ("aaxyz", {2, 3, 4}, set()),
        ("aaxx", {2, 3}, set()),  # in a tie the coordinator is right
        ("axxa", {1, 2}, set()),  # in whatever order they vote
        ("xaay", set(), {3}),  # most hold other means than the coordinator: its reducer lied to it
    ],
)
def test_votes_for_other_means_name_the_coordinators_liar_only(
    votes: str, repaired: set[int], doubted: set[int]
) -> None:
    machine = voted(" ".join("s" * (len(votes) - 1) + vote for vote in votes))
    assert machine.reports.repairing == repaired
    assert (machine.judgement.differed, machine.judgement.doubted) == (frozenset(), doubted)
    assert sum(machine.reports.versions) == bool(doubted)


def test_means_of_another_holder_name_no_reducer() -> None:
    """The coordinator had asked another member for them."""
    machine = voted("x" * 4 + " aaaa aaaa aaaa", second_hand=frozenset({0, 1, 2, 3}))
    assert not machine.judgement.doubted


@pytest.mark.parametrize("seed", range(6))
def test_commit_heard_by_one_member_keeps_its_name(seed: int) -> None:
    """The coordinator dies when its Commit has reached one member, whose links break then."""
    round_ = Round(make_plan([3, 4, 5, 6, 7], 16 * 30), seed=seed)
    leader = round_.plan.peers[round_.plan.leaders[0]]
    inner = round_.pump.before
    assert inner is not None
    heard: list[PeerId] = []

    def before(pump: Pump, peer: PeerId, event: Any) -> None:
        inner(pump, peer, event)
        if heard or not (isinstance(event, Received) and isinstance(event.message, Commit)):
            return
        heard.append(peer)
        pump.queue = [item for item in pump.queue if not (isinstance(item[3], Received) and item[3].sender == leader)]
        heapq.heapify(pump.queue)
        pump.kill(leader)
        for other in round_.plan.peers:
            if other not in {peer, leader}:
                pump.break_link(peer, other)

    round_.pump.before = before
    round_.run()
    found = ends(round_)
    assert len(heard) == 1
    assert all(isinstance(end, RoundFinished) for end in found.values()), found
    assert len({end.outcome.fingerprint for end in found.values() if isinstance(end, RoundFinished)}) == 1
    assert len({row.tobytes() for row in round_.results}) == 1
