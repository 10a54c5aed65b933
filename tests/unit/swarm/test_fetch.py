"""Donors and a newcomer, with messages that are lost, late and false."""

from collections.abc import Callable, Sequence
from random import Random

import pytest

from core.base.content import CHUNK_BYTES, chunk_digests, root_digest
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace
from core.base.problems import NoSpace, Problem
from core.swarm.catching_up.donor import (
    CHUNK_S,
    GUEST_SILENCE_S,
    GUESTS_MAX,
    MEMBERS_MAX,
    SLOW_S,
    STRANGERS_MAX,
    TIMES_MAX,
    TURN_AGAIN_S,
    TURN_S,
    TURNS_MAX,
    PastMembers,
)
from core.swarm.catching_up.fetch import ANSWER_TIMEOUT_S, NOTHING_S, QUICK_S, WINDOW_CHUNKS, StateFetch
from core.swarm.catching_up.state_donor import StateDonor
from core.swarm.words.messages import ChunkAsk, ChunkGive, StateAsk, StateDenied, StateDone, StateOffer
from core.swarm.words.outputs import Fetched, FetchFailed, Fetching
from core.swarm.words.states import StateName

ME = PeerId(b"m" * 32)
NAME = StateName(7, b"l" * 32)


def peer(number: int) -> PeerId:
    return PeerId(number.to_bytes(2, "big") * 16)


class MemoryFile:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.pieces = [data[i : i + CHUNK_BYTES] for i in range(0, len(data), CHUNK_BYTES)]
        self.chunks: Sequence[bytes] = chunk_digests(self.pieces)
        self.digest = root_digest(self.chunks)
        self.size_bytes = len(data)

    def read(self, index: int) -> bytes:
        return self.pieces[index]


class MemorySink:
    def __init__(self) -> None:
        self.kept: dict[bytes, dict[int, bytes]] = {}
        self.root = b""
        self.full = self.full_in_the_end = False

    def begin(self, root: bytes, size_bytes: int, chunks: Sequence[bytes]) -> set[int]:
        self.root = root
        return set(self.kept.setdefault(root, {}))

    def write(self, index: int, data: memoryview) -> None:
        if self.full:
            raise NoSpace("The disk is full.")
        self.kept[self.root][index] = bytes(data)

    def finish(self) -> str:
        if self.full_in_the_end:
            raise NoSpace("The disk is full.")
        return "here"

    def whole(self) -> bytes:
        return b"".join(data for _, data in sorted(self.kept[self.root].items()))


class Net:
    """Carries messages between one newcomer and its donors, in a random order."""

    def __init__(self, fetch: StateFetch, donors: dict[PeerId, StateDonor], seed: int = 0) -> None:
        self.fetch = fetch
        self.donors = donors
        self.random = Random(seed)
        self.now = 0.0
        self.flying: list[tuple[PeerId, object]] = []
        self.events: list[object] = []
        self.change: Callable[[object], object | None] = lambda message: message
        self.asked: list[int] = []

    def post(self, outputs: Sequence[object]) -> None:
        for output in outputs:
            if isinstance(output, Send):
                if isinstance(output.message, ChunkAsk):
                    self.asked.append(output.message.index)
                self.flying.append((output.to, output.message))
            else:
                self.events.append(output)

    def run(self, steps: int = 10_000) -> object:
        for _ in range(steps):
            ends = [event for event in self.events if isinstance(event, Fetched | FetchFailed)]
            if ends:
                return ends[0]
            if not self.flying:
                assert self.fetch.deadline is not None
                self.now = self.fetch.deadline
                self.post(self.fetch.handle(Tick(), self.now))
                continue
            to, message = self.flying.pop(self.random.randrange(len(self.flying)))
            if to in self.donors:
                answers = self.donors[to].handle(Received(ME, message), self.now)  # type: ignore[arg-type]
                for answer in answers:
                    changed = self.change(answer.message)
                    if changed is not None:
                        self.flying.append((ME, Received(to, changed)))
            elif to == ME:
                self.post(self.fetch.handle(message, self.now))  # type: ignore[arg-type]
        raise AssertionError("the download never ended")


def setup(data: bytes, donors: int, seed: int = 0) -> tuple[Net, MemorySink, MemoryFile]:
    file, sink = MemoryFile(data), MemorySink()
    givers = {peer(i + 1): StateDonor(trace=Trace(), members=PastMembers()) for i in range(donors)}
    for giver in givers.values():
        giver.offer(file)
    return Net(StateFetch(sink=sink, trace=Trace()), givers, seed), sink, file


@pytest.mark.parametrize("size", [1, CHUNK_BYTES, CHUNK_BYTES + 1, 9 * CHUNK_BYTES + 77])
@pytest.mark.parametrize("donors", [1, 3])
def test_a_state_arrives_whole(size: int, donors: int) -> None:
    data = Random(size).randbytes(size)
    net, sink, file = setup(data, donors)
    net.post(net.fetch.fetch(NAME, file.digest, list(net.donors), 0.0))
    assert net.run().name == NAME
    assert sink.whole() == data
    assert sorted(net.asked) == list(range(len(file.chunks)))
    assert net.fetch.deadline is None


@pytest.mark.parametrize("seed", range(20))
def test_it_survives_lost_messages_and_dying_donors(seed: int) -> None:
    data = Random(seed).randbytes(12 * CHUNK_BYTES - 5)
    net, sink, file = setup(data, 3, seed)
    chance = Random(seed)
    net.change = lambda message: None if chance.random() < 0.1 else message
    net.post(net.fetch.fetch(NAME, file.digest, list(net.donors), 0.0))
    end = net.run()
    while isinstance(end, FetchFailed):
        net.events.clear()
        net.post(net.fetch.fetch(NAME, file.digest, list(net.donors), net.now))
        end = net.run()
    assert sink.whole() == data


def test_a_broken_download_goes_on_where_it_stopped() -> None:
    data = Random(1).randbytes(10 * CHUNK_BYTES)
    net, sink, file = setup(data, 1)
    sink.kept[file.digest] = {index: file.pieces[index] for index in range(6)}
    net.post(net.fetch.fetch(NAME, file.digest, list(net.donors), 0.0))
    net.run()
    assert sorted(net.asked) == [6, 7, 8, 9]
    assert sink.whole() == data


def test_a_false_chunk_is_refused_and_fetched_from_somebody_else() -> None:
    data = Random(2).randbytes(8 * CHUNK_BYTES)
    net, sink, file = setup(data, 2)
    liar = peer(1)
    honest = net.donors[liar].handle

    def lie(event: object, now: float) -> Sequence[Send[object]]:
        answers = honest(event, now)  # type: ignore[arg-type]
        return [
            Send(a.to, ChunkGive(a.message.digest, a.message.index, memoryview(b"x" * CHUNK_BYTES)))
            if isinstance(a.message, ChunkGive)
            else a
            for a in answers
        ]

    net.donors[liar].handle = lie  # type: ignore[method-assign, assignment]
    net.post(net.fetch.fetch(NAME, file.digest, list(net.donors), 0.0))
    assert isinstance(net.run(), Fetched)
    assert sink.whole() == data


def test_an_offer_of_something_else_is_refused() -> None:
    net, _, file = setup(b"x" * 10, 1)
    net.change = lambda m: StateOffer(file.digest, 10, [b"f" * 32]) if isinstance(m, StateOffer) else m
    net.post(net.fetch.fetch(NAME, file.digest, list(net.donors), 0.0))
    assert isinstance(net.run(), FetchFailed)


@pytest.mark.parametrize("donors", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_donor_of_another_state_poisons_no_download(donors: int, seed: int) -> None:
    """It offers its own chunks, whole and consistent, under the digest that was promised."""
    data = Random(seed).randbytes(4 * CHUNK_BYTES)
    net, sink, file = setup(data, donors, seed)
    poison, liar = MemoryFile(data[::-1]), peer(1)
    honest = net.donors[liar].handle

    def lie(event: object, now: float) -> Sequence[Send[object]]:
        answers = []
        for answer in honest(event, now):  # type: ignore[arg-type]
            word = answer.message
            if isinstance(word, StateOffer):
                word = StateOffer(file.digest, poison.size_bytes, list(poison.chunks))
            elif isinstance(word, ChunkGive):
                word = ChunkGive(file.digest, word.index, memoryview(poison.read(word.index)))
            answers.append(Send(answer.to, word))
        return answers

    net.donors[liar].handle = lie  # type: ignore[method-assign, assignment]
    net.post(net.fetch.fetch(NAME, file.digest, list(net.donors), 0.0))
    end = net.run()
    assert isinstance(end, Fetched if donors > 1 else FetchFailed)
    assert donors == 1 or sink.whole() == data


@pytest.mark.parametrize(("room", "fits"), [(0, True), (-1, False)])
def test_larger_state_than_expected_is_refused(room: int, *, fits: bool) -> None:
    size = CHUNK_BYTES + 10
    net, sink, file = setup(bytes(size), 1)
    net.post(net.fetch.fetch(NAME, file.digest, list(net.donors), 0.0, size_max=size + room))
    assert isinstance(net.run(), Fetched if fits else FetchFailed)
    assert bool(sink.kept) == fits


def test_a_silent_donor_is_left_after_a_while() -> None:
    net, _, file = setup(b"x" * 10, 1)
    net.change = lambda _: None
    net.post(net.fetch.fetch(NAME, file.digest, list(net.donors), 0.0))
    assert net.run() == FetchFailed(NAME, "the last donor was silent")
    assert net.now == ANSWER_TIMEOUT_S


def asked_of(outputs: Sequence[object]) -> list[tuple[PeerId, int]]:
    return [(o.to, o.message.index) for o in outputs if isinstance(o, Send) and isinstance(o.message, ChunkAsk)]


def offered(file: MemoryFile, donors: int) -> tuple[StateFetch, list[tuple[PeerId, int]]]:
    """A download at whose start, at 0 s, so many donors have offered; and what they were asked for."""
    fetch = StateFetch(sink=MemorySink(), trace=Trace())
    peers = [peer(number) for number in range(1, donors + 1)]
    fetch.fetch(NAME, file.digest, peers, 0.0)
    offer = StateOffer(file.digest, file.size_bytes, list(file.chunks))
    return fetch, [ask for donor in peers for ask in asked_of(fetch.handle(Received(donor, offer), 0.0))]


def give(fetch: StateFetch, file: MemoryFile, ask: tuple[PeerId, int], now: float) -> Sequence[object]:
    donor, index = ask
    return fetch.handle(Received(donor, ChunkGive(file.digest, index, memoryview(file.read(index)))), now)


def test_a_donor_on_a_slow_line_is_waited_for() -> None:
    file = MemoryFile(Random(3).randbytes(4 * CHUNK_BYTES))
    fetch, asked = offered(file, 1)
    now = 0.0
    for _ in range(3):
        for _ in range(2):  # a chunk takes 20 s: two chunks at a time would take 40
            now += 10.0
            assert not asked_of(fetch.handle(Tick(), now))
        [ask] = asked
        asked = asked_of(give(fetch, file, ask, now))
    assert Fetched(NAME, "here") in give(fetch, file, asked[0], now + 20.0)


def test_late_chunk_is_requested_from_others_and_counts_once() -> None:
    file = MemoryFile(Random(4).randbytes(3 * CHUNK_BYTES))
    fetch, [slow, quick] = offered(file, 2)
    [last] = asked_of(give(fetch, file, quick, 1.0))
    assert not asked_of(give(fetch, file, last, 2.0))
    [again] = asked_of(fetch.handle(Tick(), ANSWER_TIMEOUT_S))
    assert again == (quick[0], slow[1])
    assert Fetched(NAME, "here") in give(fetch, file, again, 13.0)
    fetch, [slow, quick] = offered(file, 2)
    [last] = asked_of(give(fetch, file, quick, 1.0))
    [again] = asked_of(fetch.handle(Tick(), ANSWER_TIMEOUT_S))
    assert Fetching(2, 3) in give(fetch, file, slow, 12.5)
    assert not give(fetch, file, again, 12.6)
    assert Fetched(NAME, "here") in give(fetch, file, last, 12.7)


def test_donor_is_asked_for_more_while_it_answers_quickly() -> None:
    file = MemoryFile(Random(5).randbytes(30 * CHUNK_BYTES))
    fetch, owed = offered(file, 1)
    assert owed == [(peer(1), 0)]  # the last chunk of a file may be of a few bytes, and come quickly over any line
    now = 0.0
    for most in (1, 2, 3, WINDOW_CHUNKS, WINDOW_CHUNKS):
        assert len(owed) == most
        now += QUICK_S / 8
        owed = [*owed[1:], *asked_of(give(fetch, file, owed[0], now))]
    now += QUICK_S * 3 / 4 + 0.01  # the first two were asked for a quarter earlier, the third an eighth
    assert not asked_of(give(fetch, file, owed[0], now)), "late: from four back to one, and three are owed"
    assert not asked_of(give(fetch, file, owed[2], now)), "quick: two, as many as are owed"
    assert not asked_of(give(fetch, file, owed[1], now)), "late: one, which is owed"
    assert len(asked_of(give(fetch, file, owed[3], now))) == 2, "quick: two"


def test_donors_that_offer_but_give_nothing_are_eventually_left() -> None:
    file = MemoryFile(Random(6).randbytes(3 * CHUNK_BYTES))
    fetch, _ = offered(file, 2)
    now = 0.0
    while fetch.deadline is not None:
        now = fetch.deadline
        ends = [o for o in fetch.handle(Tick(), now) if isinstance(o, FetchFailed)]
    assert ends == [FetchFailed(NAME, "nothing came any more")]
    assert now == NOTHING_S


def test_a_lost_donor_is_left_at_once() -> None:
    net, _, file = setup(b"x" * 10, 1)
    net.fetch.fetch(NAME, file.digest, [peer(1)], 0.0)
    assert net.fetch.handle(Lost(peer(1), "gone"), 1.0) == [FetchFailed(NAME, "the last donor was lost")]


@pytest.mark.parametrize("when", ["full", "full_in_the_end"])
def test_a_full_disk_ends_the_download_in_words(when: str) -> None:
    net, sink, file = setup(b"x" * 10, 1)
    setattr(sink, when, True)
    net.post(net.fetch.fetch(NAME, file.digest, list(net.donors), 0.0))
    end = net.run()
    assert isinstance(end, FetchFailed)
    assert "disk is full" in end.reason


def test_strangers_cannot_slip_chunks_in() -> None:
    net, sink, file = setup(b"x" * 10, 1)
    net.fetch.fetch(NAME, file.digest, [peer(1)], 0.0)
    outputs = net.fetch.handle(Received(peer(9), ChunkGive(file.digest, 0, memoryview(b"x" * 10))), 0.0)
    assert not outputs
    assert not sink.kept


class Door:
    """A donor of so many chunks, and who comes to it."""

    def __init__(self, chunks: int = 3) -> None:
        self.donor = StateDonor(trace=Trace(), members=PastMembers())
        self.file = MemoryFile(Random(7).randbytes(chunks * CHUNK_BYTES))
        self.donor.offer(self.file)

    def opens(self, guest: int, now: float) -> bool:
        *_, answer = self.donor.handle(Received(peer(guest), StateAsk(self.file.digest)), now)
        assert isinstance(answer.message, StateOffer) or answer.message.retry_after_s > 0  # type: ignore[attr-defined]
        return isinstance(answer.message, StateOffer)

    def gives(self, guest: int, now: float) -> bool:
        return bool(self.donor.handle(Received(peer(guest), ChunkAsk(self.file.digest, 0)), now))


def test_donor_serves_few_guests_and_tells_others_when_to_return() -> None:
    door = Door()
    for guest in range(GUESTS_MAX):
        assert door.opens(guest, 0.0)
        assert door.gives(guest, 0.0)
        assert door.gives(guest, 0.1)  # the first chunk has come
    assert not door.opens(9, 0.2)
    door.donor.handle(Lost(peer(0), "done"), 1.0)
    assert door.opens(8, 1.0)


def test_donor_on_a_slow_line_serves_guests_one_by_one() -> None:
    door = Door()
    assert door.opens(1, 0.0)
    assert not door.opens(2, 0.1)  # nobody knows yet how quickly chunks come
    assert door.gives(1, 0.2)
    assert not door.opens(2, 12.0)
    assert door.gives(1, 13.0)
    assert door.opens(2, 13.1)
    assert door.gives(2, 13.2)
    assert door.gives(2, 13.3)
    assert not door.opens(3, 13.0 + SLOW_S + 0.1)  # the first one waits again
    door.donor.handle(Received(peer(1), StateDone(door.file.digest)), 17.0)
    assert not door.gives(1, 17.0)
    assert not door.opens(3, 17.0)  # the second one waits
    door.donor.handle(Received(peer(2), StateDone(door.file.digest)), 18.0)
    assert door.opens(3, 18.0)


def test_whoever_dawdles_keeps_others_out_for_its_turn_only() -> None:
    door = Door()
    assert door.opens(1, 0.0)
    assert door.gives(1, 0.0)
    for second in range(1, int(TURN_S)):
        assert door.opens(1, float(second))  # to ask again begins no new turn
        assert not door.opens(2, float(second))
    assert door.opens(2, TURN_S)
    assert door.gives(1, TURN_S + GUEST_SILENCE_S / 2)


def test_who_only_asks_what_there_is_keeps_nobody_out() -> None:
    door = Door()
    for number in range(40):
        guest, now = 1 + number % 10, 30.0 * number
        door.opens(guest, now)
        assert door.opens(99, now + SLOW_S), "whoever asks for no chunk is not waited for"
        door.donor.handle(Received(peer(99), StateDone(door.file.digest)), now + SLOW_S)
        assert door.donor.handle(Lost(peer(guest), "done"), now + 29.0) == []


def test_returning_guest_that_had_its_turn_keeps_no_other_out() -> None:
    door = Door()
    assert door.opens(1, 0.0)
    door.donor.handle(Lost(peer(1), "done"), TURN_S + 1)
    assert door.opens(1, TURN_S + 2)
    assert door.opens(2, TURN_S + 3)
    door.donor.handle(Lost(peer(1), "done"), TURN_S + 4)
    door.donor.handle(Lost(peer(2), "done"), TURN_S + 4)
    assert door.opens(1, TURN_AGAIN_S)
    assert not door.opens(3, TURN_AGAIN_S + 1), "after a while it may have another"
    for guest in range(10, 10 + 2 * TURNS_MAX):
        door.opens(guest, TURN_AGAIN_S + 1000 * guest)
        door.donor.handle(Lost(peer(guest), "done"), TURN_AGAIN_S + 1000 * guest)
    assert len(door.donor._turns) <= TURNS_MAX


def test_past_member_gets_its_state_despite_any_number_of_strangers() -> None:
    """Ten identities ask for chunks by turns, each slowly; a member's line is quick."""
    for known in (False, True):
        door = Door()
        door.donor.members.met([peer(99)] if known else [])
        waited, now = 0, 0.0
        for step in range(600):
            now = 0.5 * step
            for stranger in range(1, 11):
                if door.opens(stranger, now) and step % 4 == 0:
                    door.gives(stranger, now)
            waited += not door.opens(99, now)
            door.donor.handle(Received(peer(99), StateDone(door.file.digest)), now)
        assert (waited == 0) is known


def test_strangers_share_the_rest_or_all_places_without_known_members() -> None:
    def quick(members: list[PeerId]) -> list[bool]:
        door = Door()
        door.donor.members.met(members)
        opened = []
        for guest in range(1, GUESTS_MAX + 2):
            opened.append(door.opens(guest, 0.0))
            door.gives(guest, 0.0)
            door.gives(guest, 0.1)
        return opened

    assert sum(quick([])) == GUESTS_MAX
    assert sum(quick([peer(99)])) == STRANGERS_MAX
    assert sum(quick([peer(1), peer(2)])) == GUESTS_MAX
    assert quick([peer(number) for number in range(9)]) == [True] * GUESTS_MAX + [False]


def test_slow_stranger_makes_way_for_another_after_its_turn() -> None:
    door = Door(30)
    door.donor.members.met([peer(99)])
    for stranger in (1, 2):
        assert door.opens(stranger, 0.0)
        assert door.gives(stranger, 0.0)
        assert door.gives(stranger, 0.1)
    for second in range(1, int(TURN_S)):
        if second % int(CHUNK_S - 1.0) == 0:
            assert door.gives(1, float(second))
        if second % int(3 * CHUNK_S) == 0:
            assert door.gives(2, float(second))
        if second % int(CHUNK_S) == 1:
            assert not door.opens(3, second + 0.01)
    assert door.opens(3, TURN_S)
    assert not door.gives(2, TURN_S + 0.1)
    assert door.donor._trace["state.donor.overstayed"] == 1


def test_stranger_that_repeats_requests_makes_way_and_is_told() -> None:
    door = Door(30)
    door.donor.members.met([peer(99)])
    assert door.opens(1, 0.0)
    assert door.opens(2, 0.0) is False, "nobody knows yet how quickly chunks come"
    assert door.gives(1, 0.0)
    assert door.gives(1, 0.1)
    assert door.opens(2, 0.2)
    for chunk in range(TIMES_MAX * 30 + 1):
        assert door.gives(2, 0.2 + 0.9 * chunk)
    for second in range(1, int(TURN_S), 3):
        assert door.gives(1, float(second))
    denied, offer = door.donor.handle(Received(peer(3), StateAsk(door.file.digest)), TURN_S + 0.3)
    assert (denied.to, denied.message) == (peer(2), StateDenied(door.file.digest, TURN_S))
    assert (offer.to, type(offer.message)) == (peer(3), StateOffer)


def test_returning_guest_is_not_sent_away_before_it_could_ask() -> None:
    door = Door(30)
    door.donor.members.met([peer(99)])
    for stranger in (1, 2):
        assert door.opens(stranger, 0.0)
        assert door.gives(stranger, 0.0)
        assert door.gives(stranger, 0.1)
        door.donor.handle(Received(peer(stranger), StateDone(door.file.digest)), 1.0)
    again = TURN_S + 10.0
    assert door.opens(1, again)
    assert door.opens(2, again)
    assert not door.opens(3, again + 0.1), "the offers are on their way"
    assert door.gives(1, again + 0.2)
    assert door.opens(3, again + CHUNK_S + 0.1), "number 2 has asked for nothing"
    assert door.gives(1, again + CHUNK_S + 0.1)


def test_member_waits_for_no_stranger_from_before_members_were_known() -> None:
    door = Door(30)
    for stranger in range(1, GUESTS_MAX + 1):
        assert door.opens(stranger, 0.0)
        assert door.gives(stranger, 0.0)
        assert door.gives(stranger, 0.1)
    assert not door.opens(99, 1.0)
    door.donor.members.met([peer(99)])
    assert door.opens(99, 1.1)
    assert not door.opens(5, 1.2)
    assert door.opens(1, 1.3), "a guest already: it is the last to go"


def test_only_so_many_members_of_past_rounds_are_remembered() -> None:
    door = Door()
    door.donor.members.met(peer(number) for number in range(2 * MEMBERS_MAX))
    assert len(door.donor.members) == MEMBERS_MAX
    assert peer(2 * MEMBERS_MAX - 1) in door.donor.members


def test_donors_are_told_when_nothing_more_is_needed() -> None:
    file = MemoryFile(Random(8).randbytes(2 * CHUNK_BYTES))
    fetch, asked = offered(file, 2)
    outputs = [output for ask in asked for output in give(fetch, file, ask, 1.0)]
    told = [output.to for output in outputs if isinstance(output, Send) and isinstance(output.message, StateDone)]
    assert told == [peer(1), peer(2)]
    fetch, _ = offered(file, 2)
    assert [send.to for send in fetch.stop()] == [peer(1), peer(2)]
    assert not fetch.stop()


def test_donor_keeps_two_states_and_refuses_older_ones() -> None:
    donor = StateDonor(trace=Trace(), members=PastMembers())
    files = [MemoryFile(bytes([n])) for n in range(3)]
    for file in files:
        donor.offer(file)
    answers = [donor.handle(Received(ME, StateAsk(file.digest)), 0.0)[0].message for file in files]
    assert answers[0] == StateDenied(files[0].digest, 0.0)
    assert all(isinstance(answer, StateOffer) for answer in answers[1:])


def test_a_state_that_somebody_downloads_is_not_withdrawn() -> None:
    door = Door()
    assert door.opens(1, 0.0)
    for number in range(5):
        door.donor.offer(MemoryFile(bytes([number])))
        assert door.gives(1, float(number))
    assert not door.donor.handle(Received(peer(1), StateDone(door.file.digest)), 5.0)
    [denied] = door.donor.handle(Received(peer(2), StateAsk(door.file.digest)), 5.0)
    assert denied.message == StateDenied(door.file.digest, 0.0)


def test_no_more_states_are_kept_than_there_are_guests() -> None:
    donor = StateDonor(trace=Trace(), members=PastMembers())
    files = [MemoryFile(bytes([number])) for number in range(20)]
    for now, file in enumerate(files):  # a guest of each state, who then says nothing more
        donor.offer(file)
        donor.handle(Received(peer(now), StateAsk(file.digest)), TURN_S * now)
    kept = [file for file in files if not isinstance(_answer(donor, file), StateDenied)]
    assert len(kept) <= GUESTS_MAX + 2


def _answer(donor: StateDonor, file: MemoryFile) -> object:
    return donor.handle(Received(peer(19), StateAsk(file.digest)), TURN_S * 19)[0].message


def test_a_donor_whose_file_is_gone_says_so() -> None:
    donor, file = StateDonor(trace=Trace(), members=PastMembers()), MemoryFile(b"data")

    def unreadable(index: int) -> bytes:
        raise Problem("gone")

    file.read = unreadable  # type: ignore[method-assign]
    donor.offer(file)
    donor.handle(Received(ME, StateAsk(file.digest)), 0.0)
    assert donor.handle(Received(ME, ChunkAsk(file.digest, 0)), 0.0)[0].message == StateDenied(file.digest, 0.0)
    assert donor.handle(Received(ME, StateAsk(file.digest)), 0.0)[0].message == StateDenied(file.digest, 0.0)


def test_chunks_are_for_those_who_asked_for_the_state_first() -> None:
    donor, file = StateDonor(trace=Trace(), members=PastMembers()), MemoryFile(b"data")
    donor.offer(file)
    assert not donor.handle(Received(ME, ChunkAsk(file.digest, 0)), 0.0)
    donor.handle(Received(ME, StateAsk(file.digest)), 0.0)
    assert donor.handle(Received(ME, ChunkAsk(file.digest, 0)), 0.0)
    assert not donor.handle(Received(ME, ChunkAsk(file.digest, 1)), 0.0)
