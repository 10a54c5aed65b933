"""How large a vocabulary a text gives, and how much of it is read for that."""

import lzma
from pathlib import Path

import pytest

from core.base.problems import BadInput
from core.tasks.albert.prepare import chars_for, prepare
from core.tasks.text import text_of
from tests.small_task import sources_in, text_folder

DATA = Path(__file__).parents[4] / "shared/data"
ENGLISH = ("gutenberg_en/war_and_peace.txt.xz", "gutenberg_en/moby_dick.txt.xz", "wikitext-2/valid.txt.xz")


def test_text_read_follows_from_the_vocabulary_within_bounds() -> None:
    assert [chars_for(size) for size in (64, 1024, 30_000, 65_536)] == [3_000_000, 3_000_000, 30_000_000, 32_000_000]


def test_fewer_pieces_than_wished_are_a_sentence(tmp_path: Path) -> None:
    text = text_of(sources_in(text_folder(tmp_path / "text")))
    prepared = prepare({"vocab_size": 5000}, text, tmp_path / "out", progress=lambda *_: None)
    (note,) = prepared.notes
    assert prepared.numbers["vocab_size"] < 5000
    assert f"gives {prepared.numbers['vocab_size']:,} pieces where the recipe asks for 5,000" in note


def test_text_of_few_words_is_to_blame(tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    for number in range(40):
        (tmp_path / f"text/{number}.txt").write_text("ab ba " * 400 + "abba " * number)
    text = text_of(sources_in(tmp_path / "text"))
    with pytest.raises(BadInput, match=r"has too little in it to learn: of .* different pieces, and 64 are the least"):
        prepare({"vocab_size": 5000}, text, tmp_path / "out", progress=lambda *_: None)


@pytest.mark.long
@pytest.mark.skipif(not all((DATA / name).is_file() for name in ENGLISH), reason="no large text is here")
def test_large_vocabulary_comes_out_of_a_large_text(tmp_path: Path) -> None:
    """At most 19,795 pieces come of 5.6 million characters, all of which are read."""
    text = tmp_path / "text"
    text.mkdir()
    for name in ENGLISH:
        with lzma.open(DATA / name) as packed:
            (text / Path(name).stem).write_bytes(packed.read())
    numbers = {"vocab_size": 18_000, "held_out": 8}
    prepared = prepare(numbers, text_of(sources_in(text)), tmp_path / "out", progress=lambda *_: None)
    assert (prepared.numbers["vocab_size"], prepared.notes) == (18_000, ())
