"""A worker is suspended or killed at each point of its rounds, which others end: each pass stays exact."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any

import pytest

from core.text.order.bookmark import BOOKMARK, Bookmark
from core.text.order.data_pass import DrawnRow
from core.text.order.walk import Walk
from core.training.samples.samples import Rows, RowsInHand
from tests.unit.data.readers import FakeReader, all_rows
from tests.unit.data.test_walk import OTHER, SMALL, names

SOURCES = [SMALL, OTHER]
Name = tuple[int, int, int, int]


class WalkSamples:
    """See `core.training.samples.samples.Samples`: a walk, without batches."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk

    def begin(self, task: Any, bookmark: Bookmark | None) -> None: ...

    def of(self, size: Any) -> Iterator[None]:
        return iter(())

    def put_back(self, rows: Iterable[DrawnRow]) -> None:
        self._walk.put_back(rows)

    def use(self, rows: Iterable[DrawnRow]) -> None:
        self._walk.use(rows)

    def resolve(self, *, averaged: bool) -> None:
        self._walk.resolve(averaged=averaged)

    def bookmark(self, out: Rows = ()) -> Bookmark:
        return self._walk.bookmark(out)

    def rest(self) -> None: ...

    def go_on(self) -> None: ...


class Worker:
    """A worker that computes nothing: its rows, its disk, and what the swarm has averaged of it."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.averaged: list[Name] = []
        self.points: Counter[str] = Counter()
        """How often each thing happened."""
        self.disk: bytes | None = None
        self.begin()

    def begin(self) -> None:
        """A process goes on where the disk has it."""
        mark = None if self.disk is None else BOOKMARK.decode(self.disk)
        self.walk = Walk(b"c" * 32, [0.7, 0.3], 5, mark, buffer_rows=40)
        self.reader = FakeReader(SOURCES, self.random)
        self.hand = RowsInHand(WalkSamples(self.walk))
        self.read()

    def read(self) -> None:
        for _ in range(self.random.randint(0, 9)):
            self.reader.step(self.walk)

    def compute(self) -> None:
        self.read()
        self.hand.count(self.walk.draw(self.random.randint(1, 12)))
        if self.random.random() < 0.1:
            self.walk.put_back(self.walk.draw(3))  # did not fit into memory

    def save(self, out: Sequence[DrawnRow] = ()) -> None:
        self.disk = BOOKMARK.encode(self.walk.bookmark(out))

    def kill(self) -> None:
        self.points["killed"] += 1
        self.begin()

    def round(self) -> None:
        """One round, which ends somehow; in the end the worker holds the state that the others hold."""
        random, tries, before = self.random, 1, list[Name]()
        while True:
            for _ in range(random.randint(0, 4)):
                self.compute()
            if random.random() < 0.1:
                self.kill()
                before = []
            self.hand.hand_over()
            self.save(self.hand.out)
            out = names(list(self.hand.out))
            if random.random() < 0.3:
                self.compute()  # delayed parameter updates
            end = random.choice(["absorbed", "aborted", "suspended", "failed here", "killed"])
            if end == "absorbed":
                self.points[end] += 1
                self.averaged += out
                self.hand.absorb(keep=True)
                self.save()
                return
            if end == "killed":
                self.kill()
            else:
                self.hand.take_back()
            committed = end != "aborted" and random.random() < 0.5
            self.points[f"{end}, {'committed' if committed else 'aborted'}, try {min(tries, 2)}"] += 1
            if committed and out:
                self.averaged += out
                self.follow(len(out))
                return
            if end == "failed here" and before and random.random() < 0.3:  # the one before was committed
                self.points["committed at the try before"] += 1
                self.averaged += before
                self.follow(len(before), kills=False)
                return
            if random.random() < 0.2:  # others have gone on without it
                self.follow(0)
                return
            before, tries = [] if end == "killed" else out, tries + 1

    def follow(self, counted: int, *, kills: bool = True) -> None:
        """Load the others' state, or replay steps that lead there, perhaps after it was interrupted.

        A process that began anew knows the last contribution only.
        """
        random = self.random
        while random.random() < 0.3:
            self.points["interrupted"] += 1
            self.hand.forget()  # a replay begins, and is undone
            if random.random() < 0.5:
                self.compute()
            if kills and random.random() < 0.3:
                self.kill()
        self.hand.forget()
        if random.random() < 0.5:
            self.read()
        self.hand.resolve(counted)
        self.save()


@pytest.mark.parametrize("seed", range(10))
def test_passes_are_exact_through_suspensions_in_rounds(seed: int) -> None:
    """More than 500 kills in all, and more suspensions; each end of a round at a first and at a later try."""
    worker, ends = Worker(Random(seed)), 2 * (2 + 2 + 2 + 1) + 1
    while worker.points["killed"] < 60 or sum("try" in point for point in worker.points) < ends:
        worker.round()
    worker.reader.run(worker.walk)
    counts = Counter(worker.averaged)
    assert max(counts.values()) == 1, "a row was averaged twice in one pass"
    for source, sizes in enumerate(SOURCES):
        newest = max(number for where, number, _, _ in counts if where == source)
        open_now = {each.number for each in worker.walk.sources[source].passes}
        for number in range(newest + 1):
            found = {(shard, row) for where, which, shard, row in counts if (where, which) == (source, number)}
            assert number in open_now or found == all_rows(sizes), f"pass {number} of source {source} lacks rows"
