"""Folders of a recipe become shards that a backbone can give, with the real child that cuts."""

import asyncio
import os
import shutil
import threading
from pathlib import Path

import pytest

from core.base.data_source import DataSource
from core.base.problems import BadInput
from core.base.recipe import Recipe
from core.cli.printing.tables import losses_of
from core.engine.text.own_text import OwnText, own_text
from core.text.order.shard_index import read_index
from tests.small_task import text_folder


def recipe(*sources: DataSource) -> Recipe:
    return Recipe(name="n", task="gpt", target_samples=64, optimizer={}).with_sources(sources)


def made(what: Recipe, out: Path) -> OwnText:
    return asyncio.run(own_text(what, out, stage=lambda *_: None))


@pytest.fixture
def books(tmp_path: Path) -> Path:
    return text_folder(tmp_path / "books", characters=60_000)


def test_folder_is_cut_and_its_words_stay(books: Path, tmp_path: Path) -> None:
    source = DataSource(address=str(books), share=0.5, licence="CC0", credit="Ada", filters={"characters_least": 3})
    text = made(recipe(source, DataSource()), tmp_path / "out")
    cut, docs = text.recipe.sources
    assert (cut.share, cut.licence, cut.credit, cut.filters) == (0.5, "CC0", "Ada", {})
    assert docs == DataSource()
    index = read_index(Path(cut.index).read_bytes())
    assert sum(index.characters) == text.cuts[0]["characters"] > 50_000
    again = made(text.recipe, tmp_path / "again")  # shards that were cut before are taken as they are
    assert not again.cuts
    shard = Path(again.recipe.sources[0].address, index.shard(0).name)
    assert shard.samefile(Path(cut.address, index.shard(0).name))  # linked: a large text takes its room once
    shard = Path(cut.address, index.shard(0).name)
    with shard.open("ab") as file:
        file.write(b"more")
    with pytest.raises(BadInput, match="or have changed"):
        made(text.recipe, tmp_path / "third")
    shard.unlink()
    with pytest.raises(BadInput, match="do not lie beside it"):
        made(text.recipe, tmp_path / "third")


def test_share_that_is_cut_is_told(books: Path, tmp_path: Path) -> None:
    told: list[float] = []
    what = recipe(DataSource(address=str(books)))
    asyncio.run(own_text(what, tmp_path / "out", stage=lambda _, share: told.append(share or 0.0)))
    assert told == sorted(told)
    assert told[-1] > 0.5


def test_texts_beside_an_earlier_index_are_not_passed_over(books: Path, tmp_path: Path) -> None:
    """What a person has cut once, and put further texts into."""
    (cut,) = made(recipe(DataSource(address=str(books))), tmp_path / "out").recipe.sources
    again = recipe(DataSource(address=cut.address))  # as --text names it
    assert not made(again, tmp_path / "again").cuts
    for name in (".hidden", "README.md", "README.bn.md", "LICENSE", "LICENSE-MIT", "desktop.ini"):
        (Path(cut.address) / name).write_text("Not of the text.")
    (Path(cut.address) / "Thumbs.db").write_bytes(b"\xd0\xcf\x11\xe0\0\0\0\0")
    assert not made(again, tmp_path / "third").cuts
    (Path(cut.address) / "new").mkdir()
    (Path(cut.address) / "new" / "letters.txt").write_text("A text that came later.")
    with pytest.raises(BadInput, match=r"cut earlier, and other files, such as new/letters\.txt\. Move those away"):
        made(again, tmp_path / "fourth")


def test_files_that_cannot_be_read_are_named(books: Path, tmp_path: Path) -> None:
    (books / "scan.pdf").write_bytes(b"%PDF-1.7\0")
    (books / "torn.jsonl.gz").write_bytes(b"\x1f\x8bno gzip at all")
    (cut,) = made(recipe(DataSource(address=str(books))), tmp_path / "out").cuts
    assert {"scan.pdf", "torn.jsonl.gz"} <= {one["name"] for one in cut["losses"]}
    assert cut["loss_count"] == len(cut["losses"])
    assert "scan.pdf (no text)" in losses_of(cut)


def test_recipe_without_own_text_stays_as_it_is(tmp_path: Path) -> None:
    what = Recipe(name="n", task="gpt", target_samples=64, optimizer={})
    assert made(what, tmp_path / "out").recipe == what
    assert not (tmp_path / "out").exists()


def test_folder_without_any_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").write_bytes(b"\x89PNG")
    with pytest.raises(BadInput, match="pictures holds no text files"):
        made(recipe(DataSource(address=str(tmp_path / "pictures"))), tmp_path / "out")


def test_folder_that_changes_while_it_is_cut_is_refused(books: Path, tmp_path: Path) -> None:
    """Another program goes on bringing files into it for as long as it is cut."""
    ended = threading.Event()

    def write() -> None:
        number = 0
        while not ended.wait(0.001):
            number += 1
            (books / f"more-{number}.txt").write_text("One more text.")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with pytest.raises(BadInput, match=r"books have changed while they were cut.*into an empty folder"):
            made(recipe(DataSource(address=str(books))), tmp_path / "out")
    finally:
        ended.set()
        writer.join()


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs another file system")
def test_shards_are_copied_where_no_link_can_be(books: Path, tmp_path: Path) -> None:
    text = made(recipe(DataSource(address=str(books))), tmp_path / "out")
    elsewhere = Path("/dev/shm", f"potluck-{os.getpid()}")
    try:
        away = made(text.recipe, elsewhere)
        (shard,) = Path(away.recipe.sources[0].address).glob("0*")
        assert shard.read_bytes() == Path(text.recipe.sources[0].address, shard.name).read_bytes()
    finally:
        shutil.rmtree(elsewhere, ignore_errors=True)
