"""Words of one member that are not its to say change nothing for the others."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.commit.fingerprints import plan_name
from core.averaging.commit.reports import RANK_SHIFT
from core.averaging.messages import Commit, Mean, Open, Order, Status, to_bits
from core.averaging.outcome import RoundFinished
from core.averaging.plan import Plan
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace
from core.base.wire import Message
from core.codecs.registry import codec_of
from tests.unit.averaging.liars import corrupt, ends
from tests.unit.averaging.pump import Pump, Round, make_plan

PLAN = make_plan([3, 4, 5, 6], 16 * 40)
LEADER, SECOND, THIRD, FOURTH = PLAN.leaders
JUNK = (7, 7, 7, 7)


def junk_status(plan: Plan) -> Status:
    return Status(plan.round, JUNK, (0, 1, 2, 3), nonce=b"junk")


FORGED: dict[str, Callable[[Plan], Message]] = {
    "newer": junk_status,
    "commit": lambda plan: Commit(plan.round, JUNK, (), (), (40,) * 4),
    "commit of what is there": lambda plan: Commit(plan.round, (0, 0, 0, 0), (), (), (40,) * 4),
    "order": lambda plan: Order(plan.round, JUNK, (SECOND,) * 4, b"\x0f"),
    "order without others": lambda plan: Order(plan.round, (0,) * 4, (SECOND,) * 4, b"\x00"),
}


@pytest.mark.parametrize("word", FORGED)
@pytest.mark.parametrize("at", [10, 60])
def test_one_word_of_one_member_ends_no_round(word: str, at: int) -> None:
    """The second in the order of leaders says it to everybody while the leader is there."""
    round_ = Round(PLAN)
    liar = PLAN.peers[SECOND]
    said: list[bool] = []
    inner = round_.pump.before
    assert inner is not None

    def before(pump: Pump, peer: PeerId, event: Any) -> None:
        inner(pump, peer, event)
        if pump.delivered >= at and not said:
            said.append(True)
            for other in PLAN.peers:
                if other != liar:
                    pump.push(pump.now, other, Received(liar, FORGED[word](PLAN)))

    round_.pump.before = before
    round_.run()
    found = list(ends(round_).values())
    assert len(found) == 4
    outcomes = [end.outcome for end in found if isinstance(end, RoundFinished)]
    assert len(outcomes) == 4
    assert {outcome.versions for outcome in outcomes} == {(0, 0, 0, 0)}
    assert not outcomes[0].missing


def machine_of(plan: Plan, member: int, trace: Trace) -> Butterfly:
    zeros = np.zeros(plan.numel, dtype=np.float32)
    machine = Butterfly(plan.peers[member], plan, RoundInput(zeros, zeros.copy(), codec_of("raw")), trace=trace)
    machine.start(0.0)
    return machine


@pytest.mark.parametrize("reason", ["lost", "silent", "nothing"])
def test_successor_is_followed_when_the_leader_is_lost_or_silent(reason: str) -> None:
    trace = Trace()
    machine = machine_of(PLAN, THIRD, trace)
    now = 0.0
    if reason == "lost":
        machine.handle(Lost(PLAN.peers[LEADER], "x"), now)
    if reason == "silent":
        now = PLAN.stall_timeout_s
    order = Order(PLAN.round, (0, 0, 0, 0), (0, 1, 2, 3), b"\x0f")
    machine.handle(Received(PLAN.peers[SECOND], order), now)
    assert (machine.leader == PLAN.peers[SECOND]) == (reason != "nothing")
    assert trace["averaging.drop.order"] == (reason == "nothing")


@pytest.mark.parametrize(("version", "dropped"), [((1 << RANK_SHIFT) - 1, False), (1 << RANK_SHIFT, True)])
def test_coordinator_orders_no_version_of_a_later_one(version: int, *, dropped: bool) -> None:
    trace = Trace()
    machine = machine_of(PLAN, THIRD, trace)
    order = Order(PLAN.round, (version, 0, 0, 0), (1, 1, 2, 3), b"\x0f")
    machine.handle(Received(PLAN.peers[LEADER], order), 0.0)
    assert trace["averaging.drop.order"] == dropped


def test_leader_yields_to_its_successor_only_after_it_slept() -> None:
    order = Order(PLAN.round, (0, 0, 0, 0), (0, 1, 2, 3), b"\x0f")
    for slept_s, leads in ((0.1, LEADER), (PLAN.stall_timeout_s, SECOND)):
        machine = machine_of(PLAN, LEADER, Trace())
        machine.handle(Received(PLAN.peers[SECOND], order), slept_s)
        assert machine.leader == PLAN.peers[leads]


def deaf_to_the_commit() -> tuple[Round, Commit]:
    """The third member hears nothing from the Commit on, and the first two have gone; its round, and that Commit."""
    round_ = Round(PLAN)
    commits: list[Commit] = []
    inner = round_.pump.before
    assert inner is not None
    me = PLAN.peers[THIRD]

    def before(pump: Pump, peer: PeerId, event: Any) -> None:
        inner(pump, peer, event)
        word = event.message if isinstance(event, Received) else None
        if isinstance(word, Commit) and peer == me and not commits:
            commits.append(word)
            pump.kill(PLAN.peers[LEADER], notice_s=0.01)
            pump.kill(PLAN.peers[SECOND], notice_s=5.0)
            pump.frozen.add(me)  # hears nothing of all this by itself

    round_.pump.before = before
    round_.pump.run()
    [commit] = commits
    return round_, commit


def test_forwarded_commit_counts_after_leader_loss_for_held_means_only() -> None:
    round_, commit = deaf_to_the_commit()
    machine = round_.machines[PLAN.peers[THIRD]]
    fourth, now = PLAN.peers[FOURTH], round_.pump.now
    junk = msgspec.structs.replace(commit, fingerprints=(b"x" * 16,) * 4)
    assert not finishes(machine, fourth, commit, round_.began + 0.01), "the leader is there, as far as is known"
    machine.handle(Lost(PLAN.peers[LEADER], "x"), now)
    assert not finishes(machine, fourth, junk, now)
    assert finishes(machine, fourth, commit, now)


@pytest.mark.parametrize("kind", [Commit, Order])
def test_member_that_keeps_asking_uses_up_no_votes_of_others(kind: type) -> None:
    """One makes up salts of the others', as a leader or as one who passes on; another tells the truth afterwards."""
    round_, commit = deaf_to_the_commit()
    machine = round_.machines[PLAN.peers[THIRD]]
    now = round_.pump.now
    for number in range(100):
        junk = number.to_bytes(8, "big")
        nonces = tuple(nonce if member == THIRD else junk for member, nonce in enumerate(commit.nonces))
        if kind is Commit:
            machine.handle(Lost(PLAN.peers[LEADER], "x"), now)
            word: Message = msgspec.structs.replace(commit, nonces=nonces)
            assert not finishes(machine, PLAN.peers[SECOND], word, now)
        else:
            word = Order(PLAN.round, commit.versions, (0, 1, 2, 3), b"\x0f", nonces)
            assert not finishes(machine, PLAN.peers[LEADER], word, round_.began)
    machine.handle(Lost(PLAN.peers[LEADER], "x"), now)
    assert finishes(machine, PLAN.peers[FOURTH], commit, now)


def test_forged_nonces_do_not_change_a_members_own_status() -> None:
    round_, commit = deaf_to_the_commit()
    machine = round_.machines[PLAN.peers[THIRD]]
    now = round_.pump.now
    said = [s.message for s in machine.handle(Lost(PLAN.peers[LEADER], "x"), now) if not isinstance(s, RoundFinished)]
    before = next(word for word in said if isinstance(word, Status))
    nonces = tuple(nonce if member == THIRD else b"junk" for member, nonce in enumerate(commit.nonces))
    finishes(machine, PLAN.peers[FOURTH], msgspec.structs.replace(commit, nonces=nonces), now)
    order = Order(PLAN.round, commit.versions, (0, 1, 2, 3), b"\x0f")
    [after] = [s.message for s in machine.handle(Received(PLAN.peers[SECOND], order), now)]
    assert (after.nonces, after.fingerprints) == (before.nonces, before.fingerprints)
    assert after.fingerprints


def finishes(machine: Butterfly, sender: PeerId, word: Message, now: float) -> bool:
    return any(isinstance(said, RoundFinished) for said in machine.handle(Received(sender, word), now))


def test_shares_without_chunks_are_nobodys_concern() -> None:
    plan = msgspec.structs.replace(PLAN, chunks=(20, 0, 10, 10))
    round_ = Round(plan)
    liar = plan.peers[plan.leaders[1]]
    status = junk_status(plan)
    stalled = msgspec.structs.replace(status, versions=(0,) * 4, nonce=b"", stalled=b"\x02")
    for other in plan.peers:
        if other != liar:
            round_.pump.push(round_.began + 0.01, other, Received(liar, stalled))
    round_.run()
    outcomes = [end.outcome for end in ends(round_).values() if isinstance(end, RoundFinished)]
    assert [outcome.versions for outcome in outcomes] == [(0, 0, 0, 0)] * 4
    trace = Trace()
    machine = machine_of(plan, 1, trace)
    order = Order(plan.round, (0, 3, 0, 0), (0, 1, 2, 3), b"\x0f")
    said = machine.handle(Received(plan.peers[plan.leaders[0]], order), 0.0)
    assert [type(send.message).__name__ for send in said] == ["Status"], "nothing begins anew"
    assert machine.handle(Tick(), 0.0) == []


def complete(machine: Butterfly, plan: Any) -> list[Any]:
    """The first member of three gets all it needs of the other two, which bring ones; its words."""
    said = machine.start(0.0)
    payload = np.ones(16, dtype="<f4").view(np.uint8).data
    for index in (1, 2):
        peer = plan.peers[index]
        said += machine.handle(Received(peer, Open(plan.round, plan_name(plan), ((index, 0),))), 0.0)
        for share in range(3):
            kind = Mean(plan.round, share, 0, 0, b"\x07", payload)
            if share == index:
                said += machine.handle(Received(peer, kind), 0.0)
    return said


def test_mean_holds_only_members_that_give() -> None:
    plan = make_plan([3, 4, 0], 48)
    result = np.zeros(48, dtype=np.float32)
    machine = Butterfly(plan.peers[0], plan, RoundInput(np.ones_like(result), result, codec_of("raw")), trace=Trace())
    complete(machine, plan)
    assert machine.contributors(1) == {0, 1}


def test_coordinator_with_two_keys_gives_one_mean_two_names() -> None:
    """Nobody knows the others' nonces.  Every member holds the same bits, and its name is that of a half of them."""
    round_ = Round(make_plan([3, 4, 5, 6, 7], 16 * 30))
    plan = round_.plan
    leader = plan.leaders[0]
    apart = {peer for m, peer in enumerate(plan.peers) if m != leader and m % 2}
    ordered: tuple[bytes, ...] = ()
    true_vote: tuple[bytes, ...] = ()
    other_vote: tuple[bytes, ...] = ()

    def others(nonces: tuple[bytes, ...]) -> tuple[bytes, ...]:
        return tuple(nonce if plan.peers[m] in apart else b"false" for m, nonce in enumerate(nonces))

    def says(send: Send[Any], now: float) -> list[Any]:
        nonlocal ordered
        word = send.message
        if isinstance(word, Order | Commit) and word.nonces:
            ordered = word.nonces
            if send.to in apart:
                word = msgspec.structs.replace(word, nonces=others(word.nonces))
            if send.to in apart and isinstance(word, Commit):
                word = msgspec.structs.replace(word, fingerprints=other_vote)
        return [Send(send.to, word)]

    def hears(event: Received[Any]) -> Received[Any]:
        nonlocal other_vote, true_vote
        word = event.message
        if isinstance(word, Status) and word.fingerprints and event.sender not in apart:
            true_vote = word.fingerprints
        if isinstance(word, Status) and word.fingerprints and event.sender in apart:
            other_vote = word.fingerprints
            word = msgspec.structs.replace(word, nonces=ordered, fingerprints=true_vote)
        return Received(event.sender, word)

    corrupt(round_, leader, says, hears=hears)
    round_.run()
    names = {peer: end.outcome.fingerprint for peer, end in ends(round_).items() if isinstance(end, RoundFinished)}
    assert len(names) == 5
    assert {names[peer] for peer in apart}.isdisjoint(name for peer, name in names.items() if peer not in apart)
    assert len(set(names.values())) == 2
    assert len({row.tobytes() for row in round_.results}) == 1


def test_excluded_member_is_no_successor() -> None:
    """The first leader has excluded the second; when it is gone, the third leads at once, and leaves the second."""
    machine = machine_of(PLAN, THIRD, Trace())
    live = to_bits(frozenset({LEADER, THIRD, FOURTH}))
    machine.handle(Received(PLAN.peers[LEADER], Order(PLAN.round, (0,) * 4, (0, 1, 2, 3), live)), 0.1)
    outputs = machine.handle(Lost(PLAN.peers[LEADER], "gone"), 0.2)
    assert machine.leader == PLAN.peers[THIRD]
    words = [output for output in outputs if isinstance(output, Send)]
    assert not any(isinstance(word.message, Status) for word in words)


@pytest.mark.parametrize("present", [(), (1,), (2**39, 1, 1), (3, 3, 2)])
def test_coordinator_does_not_choose_who_is_in_the_mean(present: tuple[int, ...]) -> None:
    """Its Commit says in how many chunks the part of each member is."""
    plan = make_plan([1, 1, 1], 48)
    round_ = Round(plan)

    def says(send: Send[Any], now: float) -> list[Any]:
        word = send.message
        return [Send(send.to, msgspec.structs.replace(word, present=present) if isinstance(word, Commit) else word)]

    liar = corrupt(round_, plan.leaders[0], says)
    round_.run()
    found = [end for peer, end in ends(round_).items() if peer != liar]
    assert len(found) == 2
    assert all(end.outcome.present == (3, 3, 3) for end in found if isinstance(end, RoundFinished))
