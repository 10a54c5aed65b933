from collections.abc import Iterator, Sequence

from core.text.order.documents import Document
from core.text.order.sources import HELD_OUT_PER_MILLE, documents, is_held_out, parted


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
