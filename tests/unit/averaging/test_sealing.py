"""A round is committed only where all hold the same bits of the same plan, and its name says which."""

from typing import Any

import msgspec
import numpy as np
import pytest

from core.averaging.allreduce.butterfly import Butterfly
from core.averaging.commit import testimony
from core.averaging.commit.sealing import Sealing, plan_name
from core.averaging.messages import Commit, Mean, Open, Order, Status
from core.averaging.outcome import RoundFailed, RoundFinished
from core.averaging.plan import Plan
from core.base.ids import PeerId, hashed_key
from core.base.machine import Received, Send, Tick
from core.base.trace import Trace
from tests.unit.averaging.liars import corrupt, ends, finished
from tests.unit.averaging.pump import Pump, Round, make_plan


def poly1305(key: bytes, data: bytes) -> bytes:
    """RFC 8439, section 2.5, in whole numbers."""
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for start in range(0, len(data), 16):
        total = (total + int.from_bytes(data[start : start + 16] + b"\x01", "little")) * r % ((1 << 130) - 5)
    return ((total + int.from_bytes(key[16:], "little")) % (1 << 128)).to_bytes(16, "little")


def other_payload(mean: Mean) -> Mean:
    numbers = np.frombuffer(mean.payload, dtype="<f4").copy()
    numbers[0] += 1
    return msgspec.structs.replace(mean, payload=memoryview(numbers.view(np.uint8)))


def other_contributors(mean: Mean) -> Mean:
    return msgspec.structs.replace(mean, contributors=b"\x01")


def test_a_seal_is_the_tag_of_the_means_under_the_key_of_all_salts() -> None:
    plan = make_plan([3, 4, 5], 16 * 9 + 5)
    round_ = Round(plan)
    words: list[Any] = []
    inner = round_.pump.before
    assert inner is not None

    def listen(pump: Pump, peer: PeerId, event: Any) -> None:
        words.append(event)
        inner(pump, peer, event)

    round_.pump.before = listen
    round_.run()
    [commit, *_] = [e.message for e in words if isinstance(e, Received) and isinstance(e.message, Commit)]
    key = hashed_key(b"seal key", plan_name(plan), *[bytes(4)] * 3, *commit.salts)
    for share in range(3):
        first = plan.first_chunk(share)
        data = round_.results[0][plan.span(first).start : plan.span(first + plan.chunks[share] - 1).stop].tobytes()
        tag = poly1305(hashed_key(b"share", key, share.to_bytes(2, "big")), data)
        assert commit.seals[share] == hashed_key(b"seal", tag, b"\x07" * plan.chunks[share])[:16]
    assert len(set(commit.salts)) == 3


@pytest.mark.parametrize("twist", [other_payload, other_contributors])
@pytest.mark.parametrize("liar", [0, 1, 2, 3])
def test_a_reducer_that_gives_one_member_another_mean_loses_its_share(twist: Any, liar: int) -> None:
    """All but one chunk of one share of one member are right: nobody commits to that."""
    round_ = Round(make_plan([3, 4, 5, 6], 16 * 24))
    victim = round_.plan.peers[(liar + 1) % 4]

    def says(send: Send[Any], now: float) -> list[Any]:
        word = send.message
        split = isinstance(word, Mean) and send.to == victim and word.share == liar and word.chunk == 2
        return [Send(send.to, twist(word)) if split else send]

    name = corrupt(round_, liar, says)
    round_.run()
    first, *rest = finished(round_, but=name)
    assert {(o.fingerprint, o.contributors, o.present) for o in rest} == {
        (first.fingerprint, first.contributors, first.present)
    }
    rows = {row.tobytes() for index, row in enumerate(round_.results) if index != liar}
    assert len(rows) == 1
    assert liar == round_.plan.leaders[0] or first.makers[liar] != liar
    assert round_.pump.now - round_.began < round_.plan.stall_timeout_s


@pytest.mark.parametrize("liar", [0, 1, 2])
@pytest.mark.parametrize(("differs", "anew"), [(range(4), 0), (range(1), 1), (range(3, 4), 1)])
def test_who_says_that_means_are_others_costs_the_rest_a_share_at_most(liar: int, differs: range, anew: int) -> None:
    round_ = Round(make_plan([3, 4, 5, 6], 16 * 24))
    leader = round_.plan.leaders[0]
    liar = [m for m in range(4) if m != leader][liar]

    def says(send: Send[Any], now: float) -> list[Any]:
        word = send.message
        if isinstance(word, Status) and word.seals:
            seals = tuple(b"x" * 16 if share in differs else seal for share, seal in enumerate(word.seals))
            send = Send(send.to, msgspec.structs.replace(word, seals=seals))
        return [send]

    name = corrupt(round_, liar, says)
    round_.run()
    first, *rest = finished(round_, but=name)
    assert {outcome.fingerprint for outcome in rest} == {first.fingerprint}
    assert sum(version > 0 for version in first.versions) == anew
    assert sum(version for version in first.versions) == anew, "a second time nobody listens"
    assert round_.pump.now - round_.began < round_.plan.stall_timeout_s


def test_a_member_does_not_follow_a_leader_that_commits_what_it_does_not_hold() -> None:
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
        if isinstance(word, Status) and event.sender != victim and word.seals:
            honest.append(word)
        if isinstance(word, Status) and event.sender == victim and word.seals:
            seals = honest[-1].seals if honest else ()
            return Received(event.sender, msgspec.structs.replace(word, seals=seals))
        return event

    name = corrupt(round_, leader, says, hears=hears)
    round_.run()
    end = ends(round_)[victim]
    assert isinstance(end, RoundFailed)
    assert end.suspects == (name,)
    assert sum(isinstance(end, RoundFinished) for end in ends(round_).values()) == 2


def test_the_name_of_a_round_holds_its_plan() -> None:
    plan = make_plan([3, 4, 5], 160)
    other = msgspec.structs.replace(plan, members=tuple(msgspec.structs.replace(m, loss=9.0) for m in plan.members))
    names = set()
    for one in (plan, plan, other):
        round_ = Round(one)
        round_.run()
        names |= {end.outcome.fingerprint for end in ends(round_).values() if isinstance(end, RoundFinished)}
    assert len(names) == 2


@pytest.mark.parametrize("member", [0, 1, 2, 3])
def test_whoever_was_given_another_plan_is_out_at_once(member: int) -> None:
    plan = make_plan([3, 4, 5, 6], 16 * 24)
    round_ = Round(plan)
    if member == plan.leaders[0]:
        return
    peer = plan.peers[member]
    other = msgspec.structs.replace(plan, members=tuple(msgspec.structs.replace(m, loss=9.0) for m in plan.members))
    vectors = {"contribution": round_.vectors[member], "result": round_.results[member]}
    round_.machines[peer] = Butterfly(peer, other, trace=round_.traces[member], **vectors)
    round_.run()
    end = ends(round_)[peer]
    assert isinstance(end, RoundFailed)
    assert end.suspects == (plan.peers[plan.leaders[0]],)
    for outcome in finished(round_, but=peer):
        assert dict(outcome.missing).keys() <= {peer}
    assert round_.pump.now - round_.began < plan.stall_timeout_s


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


def test_a_mean_holds_only_who_gives() -> None:
    plan = make_plan([3, 4, 0], 48)
    result = np.zeros(48, dtype=np.float32)
    machine = Butterfly(plan.peers[0], plan, contribution=np.ones_like(result), result=result, trace=Trace())
    complete(machine, plan)
    assert machine.contributors(1) == 0b011


def test_nobody_is_asked_for_seals_before_all_are_complete_nor_tells_its_salt() -> None:
    """A key that is known while means travel would let their reducer choose two of one name."""
    round_ = Round(make_plan([3, 4, 5, 6], 16 * 24), delay_s=(0.1, 0.4))
    told: list[int] = []
    early: list[Status] = []

    def watch(pump: Any, peer: Any, event: Any) -> None:
        inner(pump, peer, event)
        if isinstance(event, Received):
            word = event.message
            if isinstance(word, Status) and not word.complete:
                early.append(word)
            if isinstance(word, Status) and (word.salt or word.salts):
                assert word.complete
                told.append(round_.plan.peers.index(event.sender))
            if isinstance(word, Order) and word.salts:
                leader = round_.plan.leaders[0]
                assert set(told) | {leader} == {0, 1, 2, 3}

    inner = round_.pump.before
    assert inner is not None
    round_.pump.before = watch
    round_.run()
    assert len(told) >= 3
    assert early


def test_the_leader_makes_its_seals_while_others_make_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither before it has asked them, nor only when all have answered."""
    round_ = Round(make_plan([3, 4, 5, 6], 16 * 24))
    leader = round_.plan.leaders[0]
    said: set[int] = set()
    known: list[int] = []
    make = Sealing._seal

    def made(sealing: Sealing, key: bytes) -> tuple[bytes, ...]:
        if sealing._me == leader:
            known.append(len(said))
        return make(sealing, key)

    def watch(pump: Any, peer: Any, event: Any) -> None:
        inner(pump, peer, event)
        if isinstance(event, Received) and isinstance(event.message, Status) and event.message.seals:
            said.add(round_.plan.peers.index(event.sender))

    monkeypatch.setattr(Sealing, "_seal", made)
    inner = round_.pump.before
    assert inner is not None
    round_.pump.before = watch
    round_.run()
    assert known == [1]


def test_a_leader_that_leaves_out_my_salt_gets_no_seals() -> None:
    plan = make_plan([3, 4, 5], 48)
    me = next(m for m in range(3) if m != plan.leaders[0])
    leader = plan.peers[plan.leaders[0]]
    round_ = Round(plan)
    machine = round_.machines[plan.peers[me]]
    seen: list[Status] = []

    def hears(event: Received[Any]) -> Received[Any]:
        word = event.message
        if isinstance(word, Order) and word.salts:
            forged = tuple(b"12345678" for _ in word.salts)
            said = machine.handle(Received(leader, msgspec.structs.replace(word, salts=forged)), round_.pump.now)
            seen.extend(send.message for send in said if isinstance(send.message, Status))
            assert machine.handle(Tick(), round_.pump.now) == []
        return event

    corrupt(round_, me, hears=hears)
    round_.run()
    assert seen
    assert not any(status.seals for status in seen)


@pytest.mark.parametrize("member", [0, 2])
def test_a_share_without_chunks_has_no_seal_so_that_no_leader_chooses_the_name(member: int) -> None:
    """One mean under two names: the leader commits to one member what says something of a share that is empty."""
    plan = msgspec.structs.replace(make_plan([3, 4, 5, 0], 16 * 24), chunks=(12, 0, 12, 0))
    round_ = Round(plan)
    leader = plan.peers[plan.leaders[0]]
    victim = plan.peers[[m for m in range(4) if m != plan.leaders[0]][member]]

    def says(send: Send[Any], now: float) -> list[Any]:
        word = send.message
        if isinstance(word, Commit) and send.to == victim:
            word = msgspec.structs.replace(word, seals=(word.seals[0], b"x" * 16, *word.seals[2:]))
        return [Send(send.to, word)]

    corrupt(round_, plan.leaders[0], says)
    round_.run()
    end = ends(round_).pop(victim)
    assert isinstance(end, RoundFailed)
    assert end.suspects == (leader,)
    assert len({o.fingerprint for o in finished(round_, but=victim)}) == 1


def test_who_says_something_of_a_share_without_chunks_changes_nothing() -> None:
    plan = msgspec.structs.replace(make_plan([3, 4, 5, 0], 16 * 24), chunks=(12, 0, 12, 0))
    round_ = Round(plan)

    def says(send: Send[Any], now: float) -> list[Any]:
        word = send.message
        if isinstance(word, Status) and word.seals:
            word = msgspec.structs.replace(word, seals=(word.seals[0], b"x" * 16, *word.seals[2:]))
        return [Send(send.to, word)]

    name = corrupt(round_, plan.leaders[1], says)
    round_.run()
    assert isinstance(ends(round_)[name], RoundFinished)
    assert {o.versions for o in finished(round_, but=name)} == {(0, 0, 0, 0)}
    assert len({end.outcome.fingerprint for end in ends(round_).values() if isinstance(end, RoundFinished)}) == 1


def test_who_needs_no_means_has_no_salt_in_the_key() -> None:
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
    inner = round_.pump.before
    assert inner is not None

    def watch(pump: Pump, peer: PeerId, event: Any) -> None:
        inner(pump, peer, event)
        if isinstance(event, Received) and event.sender == victim and isinstance(event.message, Status):
            seen.append(event.message)

    round_.pump.before = watch

    def says(send: Send[Any], now: float) -> list[Any]:
        word = send.message
        if isinstance(word, Order) and word.salts and send.to == victim:
            word = msgspec.structs.replace(
                word, salts=tuple(b"12345678" if m == helper else salt for m, salt in enumerate(word.salts))
            )
        return [Send(send.to, word)]

    corrupt(round_, plan.leaders[0], says)
    round_.run()
    assert any(status.salt for status in seen)
    assert not any(status.seals and b"12345678" in status.salts for status in seen)


def test_the_key_has_no_salt_that_a_helper_tells() -> None:
    plan = make_plan([3, 4, 5], 48)
    helper = next(m for m in range(3) if m != plan.leaders[0])
    plan = msgspec.structs.replace(
        plan, members=tuple(msgspec.structs.replace(m, receives=i != helper) for i, m in enumerate(plan.members))
    )
    said = testimony.Testimony(plan, plan.leaders[0])
    for member in range(3):
        status = Status(plan.round, 0, (0,) * 3, (0, 1, 2), b"\x07", complete=True, committed=False, salt=b"s" * 8)
        said.note(member, msgspec.structs.replace(status, salts=(b"s" * 8,) * 3), current=True)
    told = tuple(b"" if m == helper else b"s" * 8 for m in range(3))
    assert said.all_salts() == told
    assert said.earlier(0b111, range(3)) == ()
    said.note(0, msgspec.structs.replace(status, salts=told), current=True)
    assert said.earlier(0b111, range(3)) == told


def opinions(plan: Plan, **seals: tuple[bytes, ...]) -> testimony.Testimony:
    """A leader (member 0) and what members say their means are."""
    said = testimony.Testimony(plan, 0, unheeded=0b10 if "m1" in seals and len(plan.members) > 3 else 0)
    salts = tuple(b"s" * 8 for _ in plan.members)
    said.ask(salts)
    for name, word in seals.items():
        count = len(plan.members)
        status = Status(plan.round, 0, (0,) * count, tuple(range(count)), b"\x0f", complete=True, committed=False)
        status = msgspec.structs.replace(status, salt=b"s" * 8, salts=salts, seals=word)
        said.note(int(name[1:]), status, current=True)
    return said


def test_a_slanderer_among_two_who_need_the_mean_is_remembered_by_the_one_that_leads() -> None:
    plan = make_plan([3, 4, 5], 48)
    members = tuple(msgspec.structs.replace(m, receives=i != 2) for i, m in enumerate(plan.members))
    plan = msgspec.structs.replace(plan, members=members)
    said = opinions(plan, m0=(b"a", b"b", b"c"), m1=(b"a", b"b", b"x"))
    liars, anew = said.judge(0b111, [1 << m for m in range(3)], pinned=False)
    assert (liars, anew) == ([], [2])
    assert said.differed == 0b10


def test_a_reducer_of_which_one_that_is_not_heeded_speaks_is_doubted_all_the_same() -> None:
    plan = make_plan([3, 4, 5, 6], 64)
    same = (b"a", b"b", b"c", b"d")
    said = opinions(plan, m0=same, m1=(b"a", b"b", b"c", b"x"), m2=same, m3=same)
    liars, anew = said.judge(0b1111, [1 << m for m in range(4)], pinned=False)
    assert (liars, anew) == ([1], []), "excluded, and nothing is made anew"
    assert said.doubtful == 0b1000
    assert said.differed == 0


def told_apart(*words: bytes) -> int:
    """Who is remembered of members that say these of the last share, the leader first."""
    plan = make_plan([1] * len(words), 16 * len(words))
    same = (b"a",) * (len(words) - 1)
    said = opinions(plan, **{f"m{m}": (*same, word) for m, word in enumerate(words)})
    said._unheeded = 0
    said.judge((1 << len(words)) - 1, [1 << m for m in range(len(words))], pinned=False)
    return said.differed


def test_a_reducer_of_whose_means_half_of_the_members_say_that_they_are_others_has_lied() -> None:
    """And nothing is held against these; of two halves the leader's is right."""
    assert told_apart(b"a", b"a", b"x", b"a", b"a") == 0b100
    assert told_apart(b"a", b"a", b"x", b"y", b"a") == 0b1100, "two of five"
    assert told_apart(b"a", b"a", b"x", b"y", b"z") == 0, "three of five"
    assert told_apart(b"a", b"a", b"x", b"x") == 0b1100, "two of four, and the leader not among them"
    assert told_apart(b"x", b"a", b"a", b"y") == 0, "two of four, and the leader among them"


def test_a_leader_that_orders_two_keys_gives_one_mean_two_names_and_no_more() -> None:
    """Nobody knows the others' salts.  Every member holds the same bits, and its name is that of a half of them."""
    round_ = Round(make_plan([3, 4, 5, 6, 7], 16 * 30))
    plan = round_.plan
    leader = plan.leaders[0]
    apart = {peer for m, peer in enumerate(plan.peers) if m != leader and m % 2}
    machine = round_.machines[plan.peers[leader]]
    ordered: tuple[bytes, ...] = ()
    other_seals: tuple[bytes, ...] = ()

    def others(salts: tuple[bytes, ...]) -> tuple[bytes, ...]:
        return tuple(salt if plan.peers[m] in apart else b"false" for m, salt in enumerate(salts))

    def says(send: Send[Any], now: float) -> list[Any]:
        nonlocal ordered
        word = send.message
        if isinstance(word, Order | Commit) and word.salts:
            ordered = word.salts
            if send.to in apart:
                word = msgspec.structs.replace(word, salts=others(word.salts))
            if send.to in apart and isinstance(word, Commit):
                word = msgspec.structs.replace(word, seals=other_seals)
        return [Send(send.to, word)]

    def hears(event: Received[Any]) -> Received[Any]:
        nonlocal other_seals
        word = event.message
        if isinstance(word, Status) and word.seals and event.sender in apart:
            other_seals = word.seals
            made = machine._sealing._made_of(ordered, leader)
            assert made is not None
            word = msgspec.structs.replace(word, salts=ordered, seals=made[2])
        return Received(event.sender, word)

    corrupt(round_, leader, says, hears=hears)
    round_.run()
    names = {peer: end.outcome.fingerprint for peer, end in ends(round_).items() if isinstance(end, RoundFinished)}
    assert len(names) == 5
    assert {names[peer] for peer in apart}.isdisjoint(name for peer, name in names.items() if peer not in apart)
    assert len(set(names.values())) == 2
    assert len({row.tobytes() for row in round_.results}) == 1
