import os
from pathlib import Path

import pytest

from core.base.problems import BadInput
from core.data.sources import documents, parted
from core.tasks.text_files import TextFiles, offline, read_rows


@pytest.fixture(autouse=True, scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> None:
    offline(tmp_path_factory.mktemp("cache"))


def write(folder: Path, name: str, data: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_docstrings_are_read_without_running_the_file(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "module.py",
        '"""Module says this. And that."""\nraise SystemExit\nclass A:\n  "A class."\n  def f(self):\n    """A method.'
        '\n\n    Its second\n    paragraph."""\n',
    )
    (row,) = read_rows([str(path)], docstrings=True)
    assert row["sentences"] == ["Module says this.", "And that.", "A class.", "A method.", "Its second paragraph."]


def test_files_that_cannot_be_parsed_are_passed_over(tmp_path: Path) -> None:
    good = write(tmp_path, "good.py", '"Good."')
    bad = [write(tmp_path, "a.py", "def"), write(tmp_path, "b.py", b"\0"), tmp_path / "missing.py"]
    assert [r["sentences"] for r in read_rows(map(str, [*bad, good]), docstrings=True)] == [["Good."]]


def test_a_line_without_end_is_read_in_pieces(tmp_path: Path) -> None:
    write(tmp_path, "line.txt", "word " * 40_000)
    found = [row["sentences"] for row in read_rows([str(tmp_path / "line.txt")], docstrings=False)]
    assert len(found) > 3
    assert " ".join(s for d in found for s in d).split() == ["word"] * 40_000


def test_the_parts_are_disjoint_complete_and_independent_of_order(tmp_path: Path) -> None:
    for number in range(30):
        write(tmp_path, f"{number}.txt", "\n\n".join(f"Text {number} {n}. " * 200 for n in range(10)))
    everything = {tuple(d): part for part, d in parted(TextFiles(str(tmp_path)))}
    again = {tuple(d): part for part, d in parted(TextFiles(str(tmp_path)), seed=5)}
    assert everything == again
    for part in ("train", "held-out"):
        assert {tuple(d) for d in documents(TextFiles(str(tmp_path)), part=part, seed=9)} == {
            d for d, found in everything.items() if found == part
        }
    assert list(parted(TextFiles(str(tmp_path)), seed=5)) != list(parted(TextFiles(str(tmp_path)), seed=6))


def test_binary_and_hidden_files_are_left_out(tmp_path: Path) -> None:
    good = write(tmp_path, "sub/good.txt", "Grüße. " * 1000)
    for name, data in {
        ".hidden": "x",
        "nul.txt": b"a\0b",
        "latin.txt": b"\xe9\xe9 abc" * 99,
        "a.gz": "x",
        "e.txt": " ",
    }.items():
        write(tmp_path, name, data)
    assert TextFiles(str(tmp_path)).shards() == [str(good)]


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    secret = write(tmp_path, "diary.txt", "Dear diary.")
    inside = write(tmp_path / "texts", "a.txt", "Some text.")
    (inside.parent / "out.txt").symlink_to(secret)
    (inside.parent / "again.txt").symlink_to(inside)
    assert TextFiles(str(inside.parent)).shards() == [str(inside), str(inside.parent / "again.txt")]


def test_folders_without_text_get_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="There is no folder"):
        TextFiles(str(tmp_path / "missing")).shards()
    with pytest.raises(BadInput, match="no text files"):
        TextFiles(str(tmp_path)).shards()
    write(tmp_path, "a.bin", b"\0\1")
    with pytest.raises(BadInput, match="no text files"):
        TextFiles(str(tmp_path)).shards()


def test_an_unreadable_folder_gets_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(BadInput, match="cannot be read: Permission denied") as caught:
        TextFiles(str(tmp_path)).shards()
    assert caught.value.hint


def test_python_brings_its_documentation_along() -> None:
    names = {Path(path).name for path in TextFiles("python-docs").shards()}
    assert {"topics.py", "argparse.py"} <= names
