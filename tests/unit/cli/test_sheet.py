"""`potluck sheet`: a key on a page, and back on another computer."""

import io
import json
from pathlib import Path

import pytest

from core.__main__ import main
from core.backbone.charter import load_charter
from core.storage.identity import load_identity
from core.storage.paths import Home
from tests.unit.backbone.test_charter import make

PASSPHRASE = "correct horse battery staple"


def sheet(monkeypatch: pytest.MonkeyPatch, *words: object, said: str = PASSPHRASE) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(said + "\n"))
    return main(["sheet", *map(str, words)])


def lines_of(page: Path) -> str:
    """What a telephone reads from the square, or a person types."""
    return page.read_text().partition("<pre>")[2].partition("</pre>")[0]


def test_key_comes_back_on_a_new_computer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, page = Home(tmp_path / "old"), Home(tmp_path / "new"), tmp_path / "sheet.html"
    key = load_identity(old.identity_file, None).keys
    assert sheet(monkeypatch, page, "--home", old.directory) == 0
    assert page.stat().st_mode & 0o777 == 0o600
    text = page.read_text()
    assert key.peer_id.hex() in text
    assert "<script" not in text
    assert "src=" not in text
    assert "href=" not in text
    assert sheet(monkeypatch, page, "--home", old.directory) == 2, "nothing is overwritten"
    assert sheet(monkeypatch, page, "--read", "--home", new.directory, said="correct horse battery stable") == 2
    assert not new.identity_file.exists()
    assert "This passphrase does not open the key" in capsys.readouterr().err
    other = load_identity(new.identity_file, None).keys
    typed = tmp_path / "typed"
    halves = [(line, "") if "-----" in line else (line[:30], line[30:]) for line in lines_of(page).splitlines()]
    typed.write_text("\r\n".join(f" {half} " for line in halves for half in line))
    assert sheet(monkeypatch, typed, "--read", "--home", new.directory) == 0
    assert load_identity(new.identity_file, None).keys.seed == key.seed != other.seed
    assert len([*new.directory.glob("identity.json.replaced-*")]) == 1


def test_key_of_a_collaboration_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    charter, page = make(tmp_path), tmp_path / "sheet.html"
    assert sheet(monkeypatch, page, "--charter", charter.folder, "--json") == 0
    assert json.loads(capsys.readouterr().out)["key"] == charter.authority.peer_id.hex()
    (charter.folder / "authority.key").unlink()
    assert sheet(monkeypatch, page, "--read", "--charter", charter.folder) == 0
    assert load_charter(charter.folder).authority.seed == charter.authority.seed
    (tmp_path / "other").mkdir()
    another = make(tmp_path / "other")
    assert sheet(monkeypatch, page, "--read", "--charter", another.folder) == 2
    assert "another collaboration" in capsys.readouterr().err
    assert load_charter(another.folder).authority.seed == another.authority.seed
    assert sheet(monkeypatch, page, "--read", "--charter", tmp_path / "none") == 2


@pytest.mark.parametrize("text", ["", "hello", "Public key: " + "ab" * 32, "\xff" * 9])
def test_other_pages_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "page").write_text(text)
    assert sheet(monkeypatch, tmp_path / "page", "--read", "--home", tmp_path / "home") == 2
    assert sheet(monkeypatch, tmp_path / "none", "--read", "--home", tmp_path / "home") == 2


def test_changed_letter_of_a_sheet_brings_no_other_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, home = tmp_path / "sheet.html", Home(tmp_path / "new")
    assert sheet(monkeypatch, page, "--home", tmp_path / "old") == 0
    text = lines_of(page)
    begin = text.index("KEY-----") + len("KEY-----\n")
    for at in range(begin + 163, begin + 175):  # the seal's second block: what it opens to is a whole key, and another
        (tmp_path / "typed").write_text(text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :])
        assert sheet(monkeypatch, tmp_path / "typed", "--read", "--home", home.directory) == 2
        assert not home.identity_file.exists()


def test_weak_passphrase_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sheet(monkeypatch, tmp_path / "sheet.html", "--home", tmp_path / "old", said="secret") == 2
    assert not (tmp_path / "sheet.html").exists()
