import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.data_source import DataSource
from core.base.problems import BadInput
from core.text.order.documents import documents_of
from core.text.order.shard_index import ShardHash
from core.text.sources.cut_journal import CutJournal, TextPlace, read_journal
from core.text.sources.cutting import TEXT_CHARS_MAX, CutResult, Cutting, parted_text
from core.text.sources.source import Listing, Piece, Shard
from core.text.sources.texts import documents_in, paragraphs_in

WORDS = [bytes(Random(seed).choices(range(97, 123), k=1 + seed % 9)).decode() for seed in range(500)]


class Texts:
    """A source of some texts in shards."""

    network = False

    def __init__(self, shards: list[list[str]]) -> None:
        self.shards = shards

    def listing(self) -> Listing:
        return Listing(tuple(Shard(f"{n}", 1) for n in range(len(self.shards))), b"listing")

    def read(self, shard: int, block: int = 0, *, copy: Path | None = None) -> Iterator[Piece]:
        for text in self.shards[shard]:
            yield Piece(0, (text,))


def many(seed: int, *, shards: int = 7, texts: int = 200) -> Texts:
    chance = Random(seed)
    lengths = [[chance.randrange(1, 200) for _ in range(texts)] for _ in range(shards)]
    return Texts([[" ".join(chance.choices(WORDS, k=length)) for length in one] for one in lengths])


def journal(**filters: int | bool) -> CutJournal:
    return CutJournal(
        source=DataSource(address="/texts", filters=dict(filters)),
        listing=b"listing",
        ending="jsonl.gz",
        shard_bytes=20_000,
    )


def texts_of(results: list[CutResult]) -> list[str]:
    return [json.loads(line)["text"] for one in results for line in gzip.decompress(one.data).splitlines()]


def test_shards_hold_all_texts_in_order_and_are_equal() -> None:
    source = many(1)
    cut = list(Cutting(source, journal()).go_on())
    assert texts_of(cut) == [text for shard in source.shards for text in shard]
    index = cut[-1].journal.index()
    assert len(index) > 6
    assert sum(index.documents) == 7 * 200
    mean = sum(index.characters[:-1]) / (len(index) - 1)
    assert all(abs(characters / mean - 1) < 0.03 for characters in index.characters[:-1])
    assert index.characters[-1] < 1.03 * mean
    words = [sum(len(text.split()) for text in texts_of([one])) for one in cut[:-1]]
    assert max(words) < 1.04 * min(words)
    for number, one in enumerate(cut):
        found = ShardHash()
        found.update(one.data)
        assert found.is_of(index.shard(number))
        assert one.journal.whole == (one is cut[-1])


@pytest.mark.parametrize("filters", [{}, {"no_duplicates": True, "characters_least": 40}])
@settings(max_examples=20)
@given(stop=st.integers(1, 20))
def test_a_killed_cut_goes_on_to_equal_shards(filters: dict[str, int | bool], stop: int) -> None:
    source = many(2, shards=3)
    source.shards[2] += source.shards[0][:30]
    whole = list(Cutting(source, journal(**filters)).go_on())
    begun = whole[min(stop, len(whole)) - 1].journal
    kept = read_journal(begun.encode(), called="it")
    assert kept == begun
    rest = [] if kept.whole else list(Cutting(source, kept).go_on())
    assert [one.data for one in rest] == [one.data for one in whole[len(begun.shards) :]]
    assert (rest or whole)[-1].journal == whole[-1].journal


@pytest.mark.parametrize("filters", [{}, {"no_duplicates": True}])
def test_lost_shards_are_made_again_bit_for_bit(filters: dict[str, int | bool]) -> None:
    source = many(3, shards=3)
    source.shards[2] += source.shards[0][:30]
    cut = list(Cutting(source, journal(**filters)).go_on())
    wanted = {0, 2, len(cut) - 1}
    assert dict(Cutting(source, cut[-1].journal).again(wanted)) == {number: cut[number].data for number in wanted}


def test_filters_leave_texts_out_and_count_them() -> None:
    source = Texts([["one", "two two", "one"], ["two two", "three"]])
    left_out: list[int] = []
    filters = {"characters_least": 4, "no_duplicates": True}
    cut = list(Cutting(source, journal(**filters), lambda: left_out.append(1)).go_on())
    assert texts_of(cut) == ["two two", "three"]
    assert len(left_out) == 3
    with pytest.raises(BadInput, match="passes the filters"):
        list(Cutting(source, journal(characters_least=100)).go_on())


def test_long_texts_become_several_with_the_same_documents() -> None:
    chance = Random(4)
    paragraphs = [" ".join(chance.choices(WORDS, k=chance.randrange(1, 300))) + "." for _ in range(200)]
    text = "\n\n".join(paragraphs)
    parts = list(parted_text(text))
    assert len(parts) > 10
    assert max(map(len, parts)) < TEXT_CHARS_MAX
    assert [one for part in parts for one in documents_in(part)] == list(documents_of(paragraphs_in(text)))
    assert list(parted_text(text[:TEXT_CHARS_MAX])) == [text[:TEXT_CHARS_MAX]]


def test_a_journal_tells_another_source_from_its_own() -> None:
    assert journal().is_of(journal())
    assert not journal().is_of(journal(characters_least=3))
    begun = list(Cutting(many(5, shards=1), journal()).go_on())[-1].journal
    assert begun.is_of(journal())
    assert begun.shards[0].begin == TextPlace(0, 0)
    for data in (b"", b"{}", b'{"format": 2}', b"\xff"):
        with pytest.raises(BadInput, match="it cannot be used"):
            read_journal(data, called="it")
