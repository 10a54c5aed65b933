"""A round is committed only where all hold the same bits of the same plan, and its name says which."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from core.averaging.aggregators import WeightedMean
from core.averaging.allreduce.lane import Lane, Lanes
from core.averaging.allreduce.share_map import ShareMap
from core.averaging.allreduce.vectors import RoundContext, Vectors
from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.commit.fingerprints import VOTES_MAX, Fingerprints, plan_name
from core.averaging.messages import Commit, Mean, Order, Status
from core.averaging.outcome import RoundFailed, RoundFinished
from core.base.ids import PeerId, hashed_key
from core.base.machine import Received, Send, Tick, Trace
from core.codecs.registry import CODECS
from tests.unit.averaging.liars import corrupt, ends, finished
from tests.unit.averaging.pump import Pump, Round, make_plan


def poly1305(key: bytes, data: bytes) -> bytes:
    """RFC 8439, section 2.5, in whole numbers."""
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for start in range(0, len(data), 16):
        total = (total + int.from_bytes(data[start : start + 16] + b"\x01", "little")) * r % ((1 << 130) - 5)
    return ((total + int.from_bytes(key[16:], "little")) % (1 << 128)).to_bytes(16, "little")


def listen(round_: Round, hear: Callable[[PeerId, Any], None]) -> None:
    """Tell `hear` of each message, before its receiver gets it: its sender and the message."""
    inner = round_.pump.before
    assert inner is not None

    def before(pump: Pump, peer: PeerId, event: Any) -> None:
        if isinstance(event, Received):
            hear(event.sender, event.message)
        inner(pump, peer, event)

    round_.pump.before = before


def other_payload(mean: Mean) -> Mean:
    numbers = np.frombuffer(mean.payload, dtype="<f4").copy()
    numbers[0] += 1
    return msgspec.structs.replace(mean, payload=memoryview(numbers.view(np.uint8)))


def other_contributors(mean: Mean) -> Mean:
    return msgspec.structs.replace(mean, contributors=b"\x01")


def test_fingerprint_is_the_tag_under_the_key_of_nonces() -> None:
    plan = make_plan([3, 4, 5], 16 * 9 + 5)
    round_ = Round(plan)
    words: list[Any] = []
    listen(round_, lambda _, word: words.append(word))
    round_.run()
    [commit, *_] = [word for word in words if isinstance(word, Commit)]
    key = hashed_key(b"key", plan_name(plan), bytes(12), *commit.nonces)
    for share in range(3):
        first = plan.first_chunk(share)
        data = round_.results[0][plan.span(first).start : plan.span(first + plan.chunks[share] - 1).stop].tobytes()
        tag = poly1305(hashed_key(b"share", key, share.to_bytes(2, "big")), data)
        contributors, radii = b"\x07" * plan.chunks[share], bytes(8 * plan.chunks[share])
        assert commit.fingerprints[share] == hashed_key(b"fingerprint", tag, contributors, radii)[:16]
    assert len(set(commit.nonces)) == 3


def test_member_rejects_a_commit_of_other_means() -> None:
    """The leader gives one member another mean, and hides from its own machine what that member says of it."""
    round_ = Round(make_plan([3, 4, 5], 16 * 24))
    leader = round_.plan.leaders[0]
    victim = round_.plan.peers[(leader + 1) % 3]
    honest: list[Status] = []

    def says(send: Send[Any], now: float) -> list[Any]:
        split = isinstance(send.message, Mean) and send.to == victim and send.message.share == leader
        return [Send(send.to, other_payload(send.message)) if split else send]

    def hears(event: Received[Any]) -> Received[Any]:
        word = event.message
        if isinstance(word, Status) and event.sender != victim and word.fingerprints:
            honest.append(word)
        if isinstance(word, Status) and event.sender == victim and word.fingerprints:
            fingerprints = honest[-1].fingerprints if honest else ()
            return Received(event.sender, msgspec.structs.replace(word, fingerprints=fingerprints))
        return event

    name = corrupt(round_, leader, says, hears=hears)
    round_.run()
    end = ends(round_)[victim]
    assert isinstance(end, RoundFailed)
    assert end.suspects == (name,)
    assert sum(isinstance(end, RoundFinished) for end in ends(round_).values()) == 2


def test_name_of_a_round_binds_its_plan() -> None:
    plan = make_plan([3, 4, 5], 160)
    other = msgspec.structs.replace(plan, members=tuple(msgspec.structs.replace(m, loss=9.0) for m in plan.members))
    names = set()
    for one in (plan, plan, other):
        round_ = Round(one)
        round_.run()
        names |= {end.outcome.fingerprint for end in ends(round_).values() if isinstance(end, RoundFinished)}
    assert len(names) == 2


@pytest.mark.parametrize("member", [0, 1, 2, 3])
def test_member_with_another_plan_is_out_at_once(member: int) -> None:
    plan = make_plan([3, 4, 5, 6], 16 * 24)
    round_ = Round(plan)
    if member == plan.leaders[0]:
        return
    peer = plan.peers[member]
    other = msgspec.structs.replace(plan, members=tuple(msgspec.structs.replace(m, loss=9.0) for m in plan.members))
    work = RoundInput(round_.vectors[member], round_.results[member], CODECS["raw"])
    round_.machines[peer] = Butterfly(peer, other, work, trace=round_.traces[member])
    round_.run()
    end = ends(round_)[peer]
    assert isinstance(end, RoundFailed)
    assert end.suspects == (plan.peers[plan.leaders[0]],)
    for outcome in finished(round_, but=peer):
        assert dict(outcome.missing).keys() <= {peer}
    assert round_.pump.now - round_.began < plan.stall_timeout_s


def test_votes_and_nonces_wait_until_all_are_complete() -> None:
    """A key that is known while means travel would let their reducer choose two of one name."""
    round_ = Round(make_plan([3, 4, 5, 6], 16 * 24), delay_s=(0.1, 0.4))
    told: list[int] = []
    early: list[Status] = []

    def hear(sender: PeerId, word: Any) -> None:
        place = round_.plan.peers.index(sender)
        if isinstance(word, Status) and (word.nonce or word.nonces):
            assert not np.isnan(round_.results[place]).any()
            told.append(place)
        elif isinstance(word, Status):
            early.append(word)
        if isinstance(word, Order) and word.nonces:
            assert set(told) | {round_.plan.leaders[0]} == {0, 1, 2, 3}

    listen(round_, hear)
    round_.run()
    assert len(told) >= 3
    assert early


def test_coordinator_votes_while_others_vote(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither before it has asked them, nor only when all have answered."""
    round_ = Round(make_plan([3, 4, 5, 6], 16 * 24))
    leader = round_.plan.leaders[0]
    said: set[int] = set()
    known: list[int] = []
    make = Fingerprints.make

    def made(votes: Fingerprints, nonces: Any, *, by: int) -> Any:
        if by == leader and nonces[leader] == votes.nonce and votes.vote is None:  # the coordinator's own
            known.append(len(said))
        return make(votes, nonces, by=by)

    def hear(sender: PeerId, word: Any) -> None:
        if isinstance(word, Status) and word.fingerprints:
            said.add(round_.plan.peers.index(sender))

    monkeypatch.setattr(Fingerprints, "make", made)
    listen(round_, hear)
    round_.run()
    assert known == [1]


def test_coordinator_without_my_nonce_gets_no_vote() -> None:
    plan = make_plan([3, 4, 5], 48)
    me = next(m for m in range(3) if m != plan.leaders[0])
    leader = plan.peers[plan.leaders[0]]
    round_ = Round(plan)
    machine = round_.machines[plan.peers[me]]
    seen: list[Status] = []

    def hears(event: Received[Any]) -> Received[Any]:
        word = event.message
        if isinstance(word, Order) and word.nonces:
            forged = tuple(b"12345678" for _ in word.nonces)
            said = machine.handle(Received(leader, msgspec.structs.replace(word, nonces=forged)), round_.pump.now)
            seen.extend(send.message for send in said if isinstance(send.message, Status))
            assert machine.handle(Tick(), round_.pump.now) == []
        return event

    corrupt(round_, me, hears=hears)
    round_.run()
    assert seen
    assert not any(status.fingerprints for status in seen)


def other_empty_share(word: Any) -> Any:
    """The word with another fingerprint of share 1, which is empty."""
    return msgspec.structs.replace(word, fingerprints=(word.fingerprints[0], b"x" * 16, *word.fingerprints[2:]))


@pytest.mark.parametrize("member", [0, 2])
def test_empty_share_lets_no_coordinator_choose_the_name(member: int) -> None:
    """One mean under two names: the leader commits to one member what says something of a share that is empty."""
    plan = msgspec.structs.replace(make_plan([3, 4, 5, 0], 16 * 24), chunks=(12, 0, 12, 0))
    round_ = Round(plan)
    leader = plan.peers[plan.leaders[0]]
    victim = plan.peers[[m for m in range(4) if m != plan.leaders[0]][member]]

    def says(send: Send[Any], now: float) -> list[Any]:
        word = send.message
        return [Send(send.to, other_empty_share(word) if isinstance(word, Commit) and send.to == victim else word)]

    corrupt(round_, plan.leaders[0], says)
    round_.run()
    end = ends(round_).pop(victim)
    assert isinstance(end, RoundFailed)
    assert end.suspects == (leader,)
    assert len({o.fingerprint for o in finished(round_, but=victim)}) == 1


def test_fingerprint_of_an_empty_share_changes_nothing() -> None:
    plan = msgspec.structs.replace(make_plan([3, 4, 5, 0], 16 * 24), chunks=(12, 0, 12, 0))
    round_ = Round(plan)

    def says(send: Send[Any], now: float) -> list[Any]:
        word = send.message
        return [Send(send.to, other_empty_share(word) if isinstance(word, Status) and word.fingerprints else word)]

    name = corrupt(round_, plan.leaders[1], says)
    round_.run()
    assert isinstance(ends(round_)[name], RoundFinished)
    assert {o.versions for o in finished(round_, but=name)} == {(0, 0, 0, 0)}
    assert len({end.outcome.fingerprint for end in ends(round_).values() if isinstance(end, RoundFinished)}) == 1


def test_helper_with_a_nonce_gets_the_coordinator_no_vote() -> None:
    """Nobody could tell whether it is what the helper said: a leader could give one mean many names."""
    plan = make_plan([3, 4, 5, 0], 16 * 24)
    helper = 3 if plan.leaders[0] != 3 else 2
    members = [msgspec.structs.replace(m, receives=i != helper) for i, m in enumerate(plan.members)]
    plan = msgspec.structs.replace(
        plan, members=tuple(msgspec.structs.replace(m, samples=m.samples * m.receives) for m in members)
    )
    round_ = Round(plan)
    victim = plan.peers[next(m for m in range(4) if m not in {plan.leaders[0], helper})]
    seen: list[Status] = []

    def hear(sender: PeerId, word: Any) -> None:
        if sender == victim and isinstance(word, Status):
            seen.append(word)

    listen(round_, hear)

    def says(send: Send[Any], now: float) -> list[Any]:
        word = send.message
        if isinstance(word, Order) and word.nonces and send.to == victim:
            word = msgspec.structs.replace(
                word, nonces=tuple(b"12345678" if m == helper else nonce for m, nonce in enumerate(word.nonces))
            )
        return [Send(send.to, word)]

    corrupt(round_, plan.leaders[0], says)
    round_.run()
    assert any(status.nonce for status in seen)
    assert not any(status.fingerprints and b"12345678" in status.nonces for status in seen)


def test_member_makes_a_bounded_number_of_votes_for_each() -> None:
    plan = make_plan([3, 4, 5], 48)
    shares, ones = ShareMap(plan), np.ones(48, dtype=np.float32)
    vectors = Vectors(shares, 0, RoundInput(ones, ones.copy(), CODECS["raw"]))
    context = RoundContext(shares, 0, vectors, WeightedMean(), Trace())
    lanes = Lanes(Lane(share, count, window=1, now=0.0) for share, count in enumerate(shares.counts))
    votes = Fingerprints(context, plan_name(plan), lanes, secret=b"secret")
    keys = [(votes.nonce, bytes([number]) * 8, b"s" * 8) for number in range(VOTES_MAX + 1)]
    assert all(votes.make(key, by=1) for key in keys[:-1])
    assert votes.make(keys[-1], by=1) is None
    assert votes.make(keys[-1], by=2) is not None, "each member has its own number"
