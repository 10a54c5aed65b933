"""Donors and a latecomer, with messages that are lost, late and false."""

from collections.abc import Callable, Sequence
from random import Random

import pytest

from core.base.content import CHUNK_BYTES, chunk_digests, root_digest
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick
from core.base.problems import NoSpace, Problem
from core.base.trace import Trace
from core.swarm.catch_up import ANSWER_TIMEOUT_S, Fetched, FetchFailed, StateFetch
from core.swarm.donor import GUESTS_MAX, StateDonor
from core.swarm.messages import ChunkAsk, ChunkGive, StateAsk, StateDenied, StateOffer
from core.swarm.states import StateName

ME = PeerId(b"m" * 32)
NAME = StateName(7, b"l" * 32)


def peer(number: int) -> PeerId:
    return PeerId(bytes([number]) * 32)


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
        self.full = False

    def begin(self, root: bytes, size_bytes: int, chunks: Sequence[bytes]) -> set[int]:
        self.root = root
        return set(self.kept.setdefault(root, {}))

    def write(self, index: int, data: memoryview) -> None:
        if self.full:
            raise NoSpace("The disk is full.")
        self.kept[self.root][index] = bytes(data)

    def finish(self) -> str:
        return "here"

    def whole(self) -> bytes:
        return b"".join(data for _, data in sorted(self.kept[self.root].items()))


class Net:
    """Carries messages between one latecomer and its donors, in a random order."""

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
    fetch = StateFetch(sink=sink, trace=Trace())
    givers = {peer(i + 1): StateDonor(trace=Trace()) for i in range(donors)}
    for giver in givers.values():
        giver.offer(file, ledger=b"who gave what")
    return Net(fetch, givers, seed), sink, file


@pytest.mark.parametrize("size", [1, CHUNK_BYTES, CHUNK_BYTES + 1, 9 * CHUNK_BYTES + 77])
@pytest.mark.parametrize("donors", [1, 3])
def test_a_state_arrives_whole(size: int, donors: int) -> None:
    data = Random(size).randbytes(size)
    net, sink, file = setup(data, donors)
    net.post(net.fetch.fetch(NAME, file.digest, list(net.donors), 0.0))
    assert net.run() == Fetched(NAME, "here", b"who gave what")
    assert sink.whole() == data
    assert sorted(net.asked) == list(range(len(file.chunks)))
    assert not net.fetch.busy


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
    net.change = lambda m: StateOffer(file.digest, 10, [b"f" * 32], b"") if isinstance(m, StateOffer) else m
    net.post(net.fetch.fetch(NAME, file.digest, list(net.donors), 0.0))
    assert isinstance(net.run(), FetchFailed)


def test_a_silent_donor_is_left_after_a_while() -> None:
    net, _, file = setup(b"x" * 10, 1)
    net.change = lambda _: None
    net.post(net.fetch.fetch(NAME, file.digest, list(net.donors), 0.0))
    assert net.run() == FetchFailed(NAME, "the last donor was silent")
    assert net.now == ANSWER_TIMEOUT_S


def test_a_lost_donor_is_left_at_once() -> None:
    net, _, file = setup(b"x" * 10, 1)
    net.fetch.fetch(NAME, file.digest, [peer(1)], 0.0)
    assert net.fetch.handle(Lost(peer(1), "gone"), 1.0) == [FetchFailed(NAME, "the last donor was lost")]


def test_a_full_disk_ends_the_download_in_words() -> None:
    net, sink, file = setup(b"x" * 10, 1)
    sink.full = True
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


def test_a_donor_serves_a_few_and_tells_the_others_when_to_come_back() -> None:
    donor, file = StateDonor(trace=Trace()), MemoryFile(b"data")
    donor.offer(file, ledger=b"")
    answers = [donor.handle(Received(peer(n), StateAsk(file.digest)), 0.0)[0].message for n in range(GUESTS_MAX + 1)]
    assert all(isinstance(answer, StateOffer) for answer in answers[:-1])
    assert isinstance(answers[-1], StateDenied)
    assert answers[-1].retry_after_s > 0
    donor.handle(Lost(peer(0), "done"), 1.0)
    assert isinstance(donor.handle(Received(peer(8), StateAsk(file.digest)), 1.0)[0].message, StateOffer)


def test_a_donor_keeps_two_states_and_answers_no_to_older_ones() -> None:
    donor = StateDonor(trace=Trace())
    files = [MemoryFile(bytes([n])) for n in range(3)]
    for file in files:
        donor.offer(file, ledger=b"")
    answers = [donor.handle(Received(ME, StateAsk(file.digest)), 0.0)[0].message for file in files]
    assert answers[0] == StateDenied(files[0].digest, 0.0)
    assert all(isinstance(answer, StateOffer) for answer in answers[1:])


def test_a_donor_whose_file_is_gone_says_so() -> None:
    donor, file = StateDonor(trace=Trace()), MemoryFile(b"data")

    def unreadable(index: int) -> bytes:
        raise Problem("gone")

    file.read = unreadable  # type: ignore[method-assign]
    donor.offer(file, ledger=b"")
    donor.handle(Received(ME, StateAsk(file.digest)), 0.0)
    assert donor.handle(Received(ME, ChunkAsk(file.digest, 0)), 0.0)[0].message == StateDenied(file.digest, 0.0)
    assert donor.handle(Received(ME, StateAsk(file.digest)), 0.0)[0].message == StateDenied(file.digest, 0.0)


def test_chunks_are_for_those_who_asked_for_the_state_first() -> None:
    donor, file = StateDonor(trace=Trace()), MemoryFile(b"data")
    donor.offer(file, ledger=b"")
    assert not donor.handle(Received(ME, ChunkAsk(file.digest, 0)), 0.0)
    donor.handle(Received(ME, StateAsk(file.digest)), 0.0)
    assert donor.handle(Received(ME, ChunkAsk(file.digest, 0)), 0.0)
    assert not donor.handle(Received(ME, ChunkAsk(file.digest, 1)), 0.0)
