"""Backups of charters: what stands in them, and files that are none."""

import contextlib
import json
import os
import shutil
import sqlite3
import zipfile
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from core.__main__ import main
from core.backbone import charter as charters
from core.backbone.backup import ABOUT, back_up, read_about, restore
from core.backbone.charter import Charter
from core.backbone.kept_states import KeptStates, kept_copies
from core.base.problems import BadInput, Damaged, NoSpace
from core.cli.organiser.backups import SEALED
from core.storage.sealed_key import WrongPassphrase, check_passphrase
from tests.unit.backbone.test_charter import make
from tests.unit.backbone.test_kept_states import NAMES, fetched

NOW = 1_800_000_000.0
PASSPHRASE = b"correct horse battery staple"


@pytest.fixture
def charter(tmp_path: Path) -> Charter:
    """A collaboration with two copies of its model, a database, and what a backbone leaves lying about."""
    made = make(tmp_path)
    kept = KeptStates(made.folder, manifest=made.manifest.id)
    for name in NAMES[1:3]:
        kept.keep(fetched(tmp_path, name, manifest=made.manifest.id), 3.5)
    (made.folder / "backbone.key").write_bytes(charters.new_authority().seed)
    for torn in ("backbone.lock", ".manifest.json.1-0123456789ab", "states/root.part", "states/refused.safetensors"):
        (made.folder / torn).touch()
    return made


def names(file: Path) -> set[str]:
    with zipfile.ZipFile(file) as archive:
        return {*archive.namelist()} - {ABOUT}


def entries(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def written(file: Path, content: dict[str, bytes], *, packed: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(file, "w", packed) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return file


def test_backup_restores_all_but_earlier_copies(tmp_path: Path, charter: Charter) -> None:
    file, there = tmp_path / "kept.zip", tmp_path / "there"
    back_up(charter, file, now=NOW)
    assert file.stat().st_mode & 0o777 == 0o600
    assert restore(file, there).at == NOW
    newest = kept_copies(charter.folder / "states")[-1].path
    again = {path.relative_to(there).as_posix() for path in there.rglob("*") if path.is_file()}
    assert again == names(file)
    assert {name for name in again if name.startswith("states/")} == {"states/losses.json", f"states/{newest.name}"}
    assert not {"backbone.lock", ".manifest.json.1-0123456789ab"} & again
    for name in again:
        assert (there / name).read_bytes() == (charter.folder / name).read_bytes()
        assert (there / name).stat().st_mode & 0o077 == 0
    assert abs((there / "states" / newest.name).stat().st_mtime - newest.stat().st_mtime) <= 2
    back_up(charter, file, now=NOW, all_copies=True)
    assert len([name for name in names(file) if name.endswith(".safetensors")]) == 2


def test_sealed_backup_holds_no_open_key(tmp_path: Path, charter: Charter) -> None:
    file = tmp_path / "kept.zip"
    back_up(charter, file, now=NOW, passphrase=PASSPHRASE)
    seeds = [charter.authority.seed, (charter.folder / "backbone.key").read_bytes()]
    assert not any(seed in file.read_bytes() for seed in seeds)
    for wrong in (b"", b"correct horse battery stable"):
        with pytest.raises(WrongPassphrase):
            restore(file, tmp_path / f"there {len(wrong)}", wrong)
    restore(file, tmp_path / "there", PASSPHRASE)
    assert [(tmp_path / "there" / name).read_bytes() for name in ("authority.key", "backbone.key")] == seeds
    assert not [*(tmp_path / "there").glob("*.sealed")]
    with pytest.raises(BadInput, match="too short"):
        check_passphrase("twelveletter")


def test_restored_keys_survive_a_power_cut(tmp_path: Path, charter: Charter, monkeypatch: pytest.MonkeyPatch) -> None:
    file, synced, sync = tmp_path / "kept.zip", set[tuple[int, int]](), os.fsync
    back_up(charter, file, now=NOW, passphrase=PASSPHRASE)

    def fsync(descriptor: int) -> None:
        about = os.fstat(descriptor)
        synced.add((about.st_ino, about.st_size))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    restore(file, tmp_path / "there", PASSPHRASE)
    keys = [*(tmp_path / "there").glob("*.key")]
    assert len(keys) >= 2
    assert {(key.stat().st_ino, key.stat().st_size) for key in keys} <= synced


def test_database_in_use_is_copied_whole(tmp_path: Path, charter: Charter) -> None:
    with contextlib.closing(sqlite3.connect(charter.folder / "site.sqlite")) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE account (name TEXT)")
        database.execute("INSERT INTO account VALUES ('Ada')")
        database.commit()
        database.execute("INSERT INTO account VALUES ('Eve')")  # not committed
        back_up(charter, tmp_path / "kept.zip", now=NOW)
    assert "site.sqlite-wal" not in names(tmp_path / "kept.zip")
    restore(tmp_path / "kept.zip", tmp_path / "there")
    with contextlib.closing(sqlite3.connect(tmp_path / "there" / "site.sqlite")) as database:
        assert database.execute("SELECT name FROM account").fetchall() == [("Ada",)]


def test_file_that_vanishes_begins_the_backup_again(
    tmp_path: Path, charter: Charter, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, packed = KeptStates(charter.folder, manifest=charter.manifest.id), []
    whole = zipfile.ZipInfo.from_file

    def replaced(path: Path, name: str, **options: bool) -> zipfile.ZipInfo:
        if name.startswith("states/000002") and name not in packed:
            kept.keep(fetched(tmp_path, NAMES[3], manifest=charter.manifest.id))
            path.unlink(missing_ok=True)
        packed.append(name)
        return whole(path, name, **options)

    monkeypatch.setattr(zipfile.ZipInfo, "from_file", replaced)
    (charter.folder / "admitted.log").write_bytes(b"\n")
    back_up(charter, tmp_path / "kept.zip", now=NOW)
    newest = kept_copies(charter.folder / "states")[-1].path.name
    assert newest.startswith("000003")
    assert f"states/{newest}" in names(tmp_path / "kept.zip")
    assert packed[-1].endswith(".log"), "logs come last"
    restore(tmp_path / "kept.zip", tmp_path / "there")


@pytest.mark.parametrize("data", [b"", b"not a zip", b"PK\5\6" + bytes(18)])
def test_other_file_is_no_backup(tmp_path: Path, charter: Charter, data: bytes) -> None:
    file = tmp_path / "thesis"
    file.write_bytes(data)
    with pytest.raises(BadInput, match="is not a backup"):
        read_about(file)
    with pytest.raises(BadInput, match="is not a backup"):
        back_up(charter, file, now=NOW)
    assert file.read_bytes() == data


def test_backup_of_another_collaboration_is_not_replaced(tmp_path: Path, charter: Charter) -> None:
    (tmp_path / "other").mkdir()
    back_up(make(tmp_path / "other"), tmp_path / "kept.zip", now=NOW)
    with pytest.raises(BadInput, match="of another collaboration"):
        back_up(charter, tmp_path / "kept.zip", now=NOW)
    with pytest.raises(BadInput, match="cannot lie in the folder"):
        back_up(charter, charter.folder / "kept.zip", now=NOW)


@pytest.mark.parametrize("name", ["../out", "/out", "a/../../out", "a\\..\\out", "C:out", ".out", "a//out", "a\x07b"])
def test_path_out_of_the_folder_is_refused(tmp_path: Path, charter: Charter, name: str) -> None:
    back_up(charter, tmp_path / "kept.zip", now=NOW)
    bad = written(tmp_path / "bad.zip", entries(tmp_path / "kept.zip") | {name: b"!"})
    with pytest.raises(BadInput, match="leads out of the folder"):
        restore(bad, tmp_path / "in" / "there")
    assert not [*tmp_path.rglob("out")]


def test_newer_backup_asks_for_an_update(tmp_path: Path, charter: Charter) -> None:
    back_up(charter, tmp_path / "kept.zip", now=NOW)
    about = json.dumps({"version": 2, "else": []}).encode()
    newer = written(tmp_path / "newer.zip", entries(tmp_path / "kept.zip") | {ABOUT: about})
    with pytest.raises(BadInput, match="newer version"):
        restore(newer, tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_damaged_backups_are_refused(tmp_path: Path, charter: Charter) -> None:
    file = tmp_path / "kept.zip"
    back_up(charter, file, now=NOW)
    whole, content = file.read_bytes(), entries(file)
    changed = bytearray(whole)
    changed[whole.index(content["manifest.json"]) + 5] ^= 1
    file.write_bytes(changed)
    with pytest.raises(Damaged):
        restore(file, tmp_path / "1")
    file.write_bytes(whole[:-40])
    with pytest.raises(BadInput, match="is not a backup"):
        restore(file, tmp_path / "2")
    with pytest.raises(BadInput, match="is not a backup"):
        restore(written(tmp_path / "packed.zip", content, packed=zipfile.ZIP_DEFLATED), tmp_path / "3")
    with zipfile.ZipFile(tmp_path / "half.zip", "w") as archive:
        for name, data in content.items():
            packed = zipfile.ZIP_DEFLATED if name == "manifest.json" else zipfile.ZIP_STORED
            archive.writestr(name, data, packed)
    with pytest.raises(Damaged):
        restore(tmp_path / "half.zip", tmp_path / "5")
    about = msgspec.structs.replace(read_about(written(tmp_path / "whole.zip", content)), sealed={"../x": "ab" * 32})
    with pytest.raises(Damaged):
        restore(written(file, content | {ABOUT: msgspec.json.encode(about)}), tmp_path / "4")


def test_backup_larger_than_the_disk_is_refused(
    tmp_path: Path, charter: Charter, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_up(charter, tmp_path / "kept.zip", now=NOW)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(NoSpace, match="MB are free"):
        restore(tmp_path / "kept.zip", tmp_path / "there")
    with pytest.raises(NoSpace, match="MB are free"):
        back_up(charter, tmp_path / "another.zip", now=NOW)
    assert not (tmp_path / "another.zip").exists()


def test_commands_refuse_a_folder_that_is_there(
    tmp_path: Path, charter: Charter, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / "kept.zip")
    monkeypatch.chdir(tmp_path)
    assert main(["backup", "charter", file, "--json"]) == 0  # by the name that its folder has
    assert json.loads(capsys.readouterr().out)["sealed"] is False
    assert all(name in SEALED for name in ("ways.toml", "copies.json", "site.sqlite")), "they lie open"
    assert main(["restore", file, str(charter.folder)]) == 2
    assert "nothing in it was changed" in capsys.readouterr().err
    assert main(["restore", file, str(tmp_path / "there")]) == 0
    assert "both have the key backbone.key" in capsys.readouterr().out
    assert main(["restore", str(tmp_path / "none"), str(tmp_path / "else")]) == 2
    assert main(["backup", "nobody", file]) == 2
    assert {path.name for path in tmp_path.iterdir() if path.name.startswith(".")} == set()
