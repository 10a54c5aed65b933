"""Batches made in a thread: in order, bounded, with their exceptions, and gone with their owner."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import count, islice

import pytest

from core.base.problems import BadInput
from core.training.samples.read_ahead import ReadAhead

LONG_S = 60.0


class Source:
    """Numbers from 0 on; says how many were drawn, and when it is closed."""

    def __init__(self, *, ends_with: BaseException | None = None, after: int = 10**9) -> None:
        self.drawn = 0
        self.closed = threading.Event()
        self._ends_with = ends_with
        self._after = after

    def __call__(self) -> Iterator[int]:
        try:
            for number in count():
                if number >= self._after:
                    if self._ends_with is not None:
                        raise self._ends_with
                    return
                self.drawn += 1
                yield number
        finally:
            self.closed.set()


def test_items_come_in_the_order_of_their_stream() -> None:
    assert list(islice(ReadAhead(Source(), ahead_max=3), 500)) == list(range(500))


def test_stream_is_read_a_few_items_ahead_only() -> None:
    source = Source()
    ahead = ReadAhead(source, ahead_max=4)
    for taken in range(1, 100):
        next(ahead)
        assert source.drawn <= taken + 4 + 1, "one more may wait for room"


def test_nothing_is_read_before_it_starts() -> None:
    source = Source()
    ahead = ReadAhead(source)
    assert (source.drawn, ahead.waited_s) == (0, 0.0)
    ahead.start()
    ahead.start()
    assert next(ahead) == 0


def test_exception_comes_out_in_its_place_and_stays() -> None:
    ahead = ReadAhead(Source(ends_with=BadInput("no text"), after=2))
    assert [next(ahead), next(ahead)] == [0, 1]
    for _ in range(2):
        with pytest.raises(BadInput, match="no text"):
            next(ahead)


def test_end_comes_out_as_an_end() -> None:
    assert list(ReadAhead(Source(after=5), ahead_max=2)) == [0, 1, 2, 3, 4]


def test_thread_ends_with_its_owner() -> None:
    source = Source()
    ahead = ReadAhead(source, ahead_max=2)
    next(ahead)
    del ahead
    assert source.closed.wait(LONG_S)


def test_nothing_is_read_after_stop_until_the_next_start() -> None:
    gate, more = threading.Event(), threading.Event()

    def gated() -> Iterator[int]:
        yield 0
        gate.wait(LONG_S)
        yield 1
        more.set()
        yield from count(2)

    ahead = ReadAhead(gated)
    assert next(ahead) == 0
    ahead.stop()
    gate.set()
    assert not more.wait(0.2)
    ahead.start()
    assert more.wait(LONG_S)
    assert list(islice(ahead, 3)) == [1, 2, 3]


def test_waiting_for_an_item_is_counted() -> None:
    gate = threading.Event()

    def slow() -> Iterator[int]:
        yield 0
        gate.wait(LONG_S)
        yield 1

    ahead = ReadAhead(slow)
    next(ahead)
    before = ahead.waited_s
    threading.Timer(0.05, gate.set).start()
    next(ahead)
    assert ahead.waited_s - before >= 0.04


def test_program_ends_while_items_are_made() -> None:
    """A thread that is ended amid the code of a library would take the program down with it."""
    program = (
        "from tokenizers import Tokenizer, models, trainers\n"
        "from core.training.samples.read_ahead import ReadAhead\n"
        "tokenizer = Tokenizer(models.Unigram())\n"
        "text = ['some words that are cut'] * 20\n"
        "tokenizer.train_from_iterator(text, trainers.UnigramTrainer(vocab_size=30, show_progress=False))\n"
        "ahead = ReadAhead(lambda: iter(lambda: tokenizer.encode_batch(text * 500), None))\n"
        "next(ahead)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=LONG_S)
    assert (done.returncode, done.stderr) == (0, "")
