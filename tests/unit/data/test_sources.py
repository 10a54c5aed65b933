from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random

import pytest

from core.base.problems import BadInput
from core.data.documents import Document
from core.data.sources import HELD_OUT_PER_MILLE, documents, endless, is_held_out, parted


class Shelf:
    """Text in memory: ten documents a shard."""

    def shards(self) -> list[str]:
        return [f"{number}" for number in range(30)]

    def read(self, shards: Sequence[str]) -> Iterator[Document]:
        return ([f"Text {shard} {number}."] for shard in shards for number in range(10))


def test_the_parts_are_disjoint_complete_and_independent_of_order() -> None:
    everything = {tuple(document): part for part, document in parted(Shelf())}
    assert len(everything) == 300
    assert everything == {tuple(document): part for part, document in parted(Shelf(), seed=5)}
    for part in ("train", "held-out"):
        found = {tuple(document) for document in documents(Shelf(), part=part, seed=9)}
        assert found == {document for document, its in everything.items() if its == part}


def test_the_seed_decides_the_order() -> None:
    assert list(parted(Shelf(), seed=5)) == list(parted(Shelf(), seed=5))
    assert list(parted(Shelf(), seed=5)) != list(parted(Shelf(), seed=6))
    assert [document for _, document in parted(Shelf())] == list(Shelf().read(Shelf().shards()))


def test_the_promised_share_is_held_out() -> None:
    number, share = 20_000, HELD_OUT_PER_MILLE / 1000
    held = sum(is_held_out([f"document {n}"]) for n in range(number))
    assert abs(held - number * share) < 5 * (number * share * (1 - share)) ** 0.5


def test_passes_go_on_for_ever_each_in_another_order() -> None:
    once = list(documents(Shelf(), part="train"))
    found = list(islice(endless(Shelf(), Random(1)), 3 * len(once)))
    passes = [found[start : start + len(once)] for start in range(0, len(found), len(once))]
    assert all(sorted(each) == sorted(once) for each in passes)
    assert passes[0] != passes[1]


def test_a_pass_without_a_document_is_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.data.sources.is_held_out", lambda document: True)
    with pytest.raises(BadInput, match="too little text"):
        next(endless(Shelf(), Random(1)))
