import os
from pathlib import Path
from random import Random

import pytest

from core.api.data_state import DataCode
from core.base.data_source import DataSource
from core.base.problems import BadInput
from core.text.order.documents import is_held_out
from core.text.sources.opening import open_source
from core.text.sources.source import Access, LeftOut, Listing, SourceStalled, TextShards
from core.text.sources.texts import texts_of


def write(folder: Path, name: str, data: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def opened(path: Path, **fields: str) -> TextShards:
    return open_source(DataSource(address=str(path), **fields), Access(folder=path))  # type: ignore[arg-type]


def listing(path: Path) -> Listing:
    return opened(path).listing()


def names(path: Path) -> list[str]:
    source = opened(path)
    return [text for number in range(len(source.listing().shards)) for p in source.read(number) for text in p.texts]


def test_the_parts_are_disjoint_complete_and_independent_of_order(tmp_path: Path) -> None:
    long = " and so on" * 20
    for number in range(30):
        write(tmp_path, f"{number}.txt", "\n\n".join(f"Text {number} {n}{long}. " * 170 for n in range(10)))
    source = texts_of(DataSource(address=str(tmp_path)))
    everything = {tuple(d): is_held_out(d) for d in source.sampled(Random(4))}
    assert everything == {tuple(d): is_held_out(d) for d in source.sampled(Random(5))}
    assert set(everything.values()) == {True, False}
    assert list(source.sampled(Random(5))) != list(source.sampled(Random(6)))


def test_binary_files_are_told_and_hidden_ones_not_read(tmp_path: Path) -> None:
    write(tmp_path, "sub/good.txt", "Grüße. " * 1000)
    for name, data in {".hidden": "x", "nul.txt": b"a\0b", "latin.txt": b"\xe9\xe9 abc" * 99, "a.pdf": "x"}.items():
        write(tmp_path, name, data)
    found = listing(tmp_path)
    assert [shard.name for shard in found.shards] == ["sub/good.txt"]
    assert {left.name: left.code for left in found.left_out} == dict.fromkeys(
        ["a.pdf", "latin.txt", "nul.txt"], DataCode.NO_TEXT
    )


def test_file_that_changes_while_it_is_read_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", "Some text. " * 500_000)
    pieces = opened(path).read(0)
    next(pieces)
    write(tmp_path, "a.txt", "Other text." * 500_000)
    with pytest.raises(SourceStalled) as caught:
        list(pieces)
    assert (caught.value.code, caught.value.arguments["name"]) == (DataCode.FILE_CHANGED, "a.txt")


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "diary.txt", "Dear diary.")
    inside = write(tmp_path / "texts", "a.txt", "Some text.")
    (inside.parent / "out.txt").symlink_to(tmp_path / "diary.txt")
    (inside.parent / "again.txt").symlink_to(inside)
    assert names(inside.parent) == ["Some text.", "Some text."]
    assert listing(inside.parent).left_out == (LeftOut("out.txt", DataCode.LINK),)


def test_links_that_lead_nowhere_are_told(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "Some text.")
    for name, to in {"self": "self", "one": "two", "two": "one", "up": ".", "gone": "away"}.items():
        (tmp_path / name).symlink_to(to)
    assert names(tmp_path) == ["Some text."]
    told = {left.name: left.code for left in listing(tmp_path).left_out}
    assert told == {**dict.fromkeys(["self", "one", "two", "up"], DataCode.LINK), "gone": DataCode.MISSING}
    assert open_source(DataSource(address=str(tmp_path / "a.txt")), Access(folder=tmp_path)).listing().shards
    with pytest.raises(SourceStalled):
        open_source(DataSource(address=str(tmp_path / "self")), Access(folder=tmp_path)).listing()


def test_a_folder_that_nobody_named_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, "mine/a.txt", "x")
    (tmp_path / "named").mkdir()
    (tmp_path / "named/link").symlink_to(tmp_path / "mine")
    for address in (tmp_path / "mine", tmp_path / "named/../mine", tmp_path / "named/link"):
        with pytest.raises(BadInput, match="not a folder that you have named"):
            open_source(DataSource(address=str(address)), Access(folder=tmp_path / "named"))
    with pytest.raises(BadInput, match="not a folder that you have named"):
        open_source(DataSource(address=str(tmp_path)), Access())
    with pytest.raises(BadInput, match="whole path"):
        open_source(DataSource(address="mine"), Access(folder=tmp_path))


@pytest.mark.parametrize("address", ["file:///etc/passwd", "nonsense://x", "dir::file:///etc", "FILE:///etc/passwd"])
def test_addresses_of_other_kinds_get_a_sentence(address: str, tmp_path: Path) -> None:
    with pytest.raises((BadInput, ValueError)):
        open_source(DataSource(address=address), Access(folder=tmp_path))


def test_folders_without_text_are_a_state_people_can_read(tmp_path: Path) -> None:
    for path, said in ((tmp_path / "missing", "no folder"), (tmp_path, "no text files")):
        with pytest.raises(SourceStalled) as caught:
            listing(path)
        assert caught.value.code == DataCode.MISSING
        with pytest.raises(BadInput, match=said) as problem:
            next(texts_of(DataSource(address=str(path))).sampled(Random(0)))
        assert problem.value.hint


def test_an_unreadable_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(SourceStalled) as caught:
        listing(tmp_path)
    assert caught.value.code == DataCode.REFUSED


@pytest.mark.long
def test_python_brings_its_documentation_along() -> None:
    found = open_source(DataSource(), Access())
    texts = [text for n in range(len(found.listing().shards)) for piece in found.read(n) for text in piece.texts]
    assert 1_000_000 < sum(map(len, texts)) < 10_000_000
    assert any("Command-line parsing library" in text for text in texts)
    assert any("The standard type hierarchy" in text for text in texts)


def test_docstrings_are_read_without_running_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = '"""Module says this."""\nraise SystemExit\nclass A:\n  "A class."\n  def f(self):\n    """A method."""\n'
    write(tmp_path, "module.py", program)
    write(tmp_path, "broken.py", "def")
    write(tmp_path, "LICENSE.txt", b"\xa9 1991")
    write(tmp_path, "config/Makefile", "all:")
    monkeypatch.setattr("sysconfig.get_paths", lambda: {"stdlib": str(tmp_path)})
    passed: list[str] = []
    source = open_source(DataSource(), Access(pass_over=lambda left: passed.append(left.name)))
    assert [piece.texts for piece in source.read(0)] == [("Module says this.\n\nA class.\n\nA method.",)]
    assert passed == ["broken.py"]


def test_the_listing_is_another_one_when_a_file_changes(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "one")
    write(tmp_path, "b.txt", "two")
    digests = {listing(tmp_path).digest, listing(tmp_path).digest}
    assert len(digests) == 1
    write(tmp_path, "b.txt", "two and more")
    digests.add(listing(tmp_path).digest)
    (tmp_path / "a.txt").rename(tmp_path / "c.txt")
    digests.add(listing(tmp_path).digest)
    assert len(digests) == 3
