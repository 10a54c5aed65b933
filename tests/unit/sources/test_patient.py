from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from core.api.data_state import DataCode
from core.text.sources.patient import FIRST_S, PATIENCE_S, PatientShards
from core.text.sources.source import Listing, Piece, Shard, SourceStalled

PIECES = [Piece(block, (f"{block}/{number}",)) for block in range(4) for number in range(5)]


class Shaky:
    """A source that stops answering after what it is told, once each."""

    network = True

    def __init__(self, *stops: int, code: DataCode = DataCode.NO_ANSWER) -> None:
        self.stops = list(stops)
        """Numbers of pieces after which reading breaks off; a listing takes one away."""
        self._code = code

    def listing(self) -> Listing:
        self._stop()
        return Listing((Shard("a", 1),), b"")

    def read(self, shard: int, block: int = 0, *, copy: Path | None = None) -> Iterator[Piece]:
        stop = self.stops.pop(0) if self.stops else len(PIECES) + 1
        for number, piece in enumerate(piece for piece in PIECES if piece.block >= block):
            if number == stop:
                raise SourceStalled(self._code, host="texts.org")
            yield piece
        if stop <= len(PIECES):
            raise SourceStalled(self._code, host="texts.org")

    def _stop(self) -> None:
        if self.stops:
            self.stops.pop(0)
            raise SourceStalled(self._code, host="texts.org")


class Clock:
    def __init__(self, source: Shaky) -> None:
        self.s = 100.0
        self.said: list[str] = []
        self.shards = PatientShards(source, self.said.append, wait=self.wait, now=lambda: self.s)

    def wait(self, seconds: float) -> None:
        assert seconds > 0
        self.s += seconds


@pytest.mark.parametrize("seed", range(50))
def test_breaks_lose_and_repeat_no_piece(seed: int) -> None:
    chance = Random(seed)
    at = Clock(Shaky(*(chance.randrange(len(PIECES) + 1) for _ in range(chance.randrange(8)))))
    block = chance.randrange(4)
    assert list(at.shards.read(0, block)) == [piece for piece in PIECES if piece.block >= block]


def test_silent_source_is_told_and_asked_again() -> None:
    at = Clock(Shaky(0, 0))
    assert at.shards.listing().shards == (Shard("a", 1),)
    assert len(at.said) == 2
    assert at.said[0].startswith("texts.org, where the text is, does not answer. It is asked again in ")


def test_source_that_stays_silent_ends_it() -> None:
    at = Clock(Shaky(*[0] * 1000))
    with pytest.raises(SourceStalled):
        at.shards.listing()
    assert at.s == pytest.approx(100 + FIRST_S)
    at = Clock(Shaky(3, *[0] * 1000))
    with pytest.raises(SourceStalled):
        list(at.shards.read(0))
    assert at.s == pytest.approx(100 + PATIENCE_S)


def test_other_troubles_are_told_at_once() -> None:
    at = Clock(Shaky(0, code=DataCode.REFUSED))
    with pytest.raises(SourceStalled):
        at.shards.listing()
    assert (at.s, at.said) == (100.0, [])
