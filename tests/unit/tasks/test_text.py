"""The text that a preparation reads: mixed by shares, from all over a source, filtered."""

import gzip
from itertools import islice
from pathlib import Path

import pytest

from core.base.data_source import DataSource
from core.base.problems import BadInput
from core.tasks.text import read_text, text_of


def written(folder: Path, word: str, *, files: int, lines: int = 400) -> DataSource:
    folder.mkdir()
    for number in range(files):
        text = "\n\n".join(f"{word} {number} {line} stands here in a sentence." for line in range(lines))
        (folder / f"{number:03}.txt.gz").write_bytes(gzip.compress(text.encode()))
    return DataSource(address=str(folder))


def characters(sources: tuple[DataSource, ...], word: str, count: int) -> int:
    found = islice(text_of(sources).parted(), count)
    return sum(len(sentence) for _, document in found for sentence in document if word in sentence)


def test_sources_are_mixed_by_their_shares(tmp_path: Path) -> None:
    one = written(tmp_path / "one", "Apple", files=4, lines=4000)
    other = written(tmp_path / "other", "Pear", files=4, lines=4000)
    mixed = tuple(DataSource(address=source.address, share=share) for source, share in ((one, 0.23), (other, 0.77)))
    apples, pears = characters(mixed, "Apple", 120), characters(mixed, "Pear", 120)
    assert apples / (apples + pears) == pytest.approx(0.23, abs=0.02)


def test_source_that_ends_leaves_the_others(tmp_path: Path) -> None:
    mixed = (written(tmp_path / "one", "Apple", files=1), written(tmp_path / "other", "Pear", files=9))
    train, held_out = read_text(text_of(mixed), lambda *_: None)
    words = [sentence for document in [*train, *held_out] for sentence in document]
    assert len(words) == len(set(words)) == 10 * 400


def test_text_comes_from_all_over_a_source(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    for number in range(8):
        text = "\n\n".join(f"Apple {number} {line} stands in a sentence." for line in range(60_000))
        (folder / f"{number}.txt").write_text(text)
    train, _ = read_text(text_of((DataSource(address=str(folder)),)), lambda *_: None, chars_max=2_000_000)
    seen = {sentence.split()[1] for document in train for sentence in document}
    assert seen == {str(number) for number in range(8)}


def test_damaged_file_is_passed_over_and_alone_a_sentence(tmp_path: Path) -> None:
    source = written(tmp_path / "one", "Apple", files=3, lines=2000)
    whole = (tmp_path / "one" / "001.txt.gz").read_bytes()
    (tmp_path / "one" / "001.txt.gz").write_bytes(whole[: len(whole) // 2])
    assert read_text(text_of((source,)), lambda *_: None)
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "a.txt.gz").write_bytes(b"no gzip at all")
    with pytest.raises(BadInput, match=r"a\.txt\.gz"):
        read_text(text_of((DataSource(address=str(tmp_path / "two")),)), lambda *_: None)


def test_filters_of_a_source_hold(tmp_path: Path) -> None:
    source = written(tmp_path / "one", "Apple", files=2)
    (tmp_path / "one" / "x.txt").write_text("Zz.")
    kept = DataSource(address=source.address, filters={"characters_least": 100})
    words = [document for _, document in text_of((kept,)).parted()]
    assert words
    assert ["Zz."] not in words
    assert ["Zz."] in [document for _, document in text_of((source,)).parted()]
