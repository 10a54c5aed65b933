"""Files that survive."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError
from safetensors.numpy import save_file

from core.base.problems import NoSpace, UserProblem
from core.system.atomic_files import (
    delete_torn,
    make_directory,
    problem_of,
    read_bounded,
    set_aside,
    system_error_of,
    write_atomic,
    write_new,
)
from tests.process.small_disk import small_disk


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def full(*_args: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_writes_privately_and_replaces(tmp_path):
    path = tmp_path / "deep" / "er" / "file"
    write_atomic(path, b"one")
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert names_in(path.parent) == ["file"]


@pytest.mark.parametrize("broken", ["write", "fsync", "replace"])
def test_a_full_disk_loses_nothing(tmp_path, monkeypatch, broken):
    path = tmp_path / "file"
    write_atomic(path, b"precious")
    with monkeypatch.context() as patch:
        patch.setattr(os, broken, full)
        with pytest.raises(NoSpace, match="disk is full") as caught:
            write_atomic(path, b"x" * 100_000)
    assert "Nothing was lost" in caught.value.hint
    assert path.read_bytes() == b"precious"
    assert names_in(tmp_path) == ["file"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting needs root")
def test_a_really_full_disk_loses_nothing(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        path = disk / "file"
        write_atomic(path, b"precious")
        with pytest.raises(NoSpace):
            write_atomic(path, b"x" * 200_000)
        assert path.read_bytes() == b"precious"
        assert names_in(disk) == ["file"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_place_that_is_no_folder_gets_a_sentence(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UserProblem, match="could not be written"):
        write_atomic(tmp_path / "file" / "inner", b"")
    with pytest.raises(UserProblem):
        make_directory(tmp_path / "file")


def test_new_never_replaces(tmp_path):
    path = tmp_path / "file"
    write_new(path, b"one")
    with pytest.raises(FileExistsError):
        write_new(path, b"two")
    assert path.read_bytes() == b"one"
    assert names_in(tmp_path) == ["file"]


def test_new_where_there_are_no_hard_links(tmp_path, monkeypatch):
    def refuse(*_args: object) -> None:
        raise OSError(errno.EPERM, "no links")

    monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "file"
    write_new(path, b"one")
    with pytest.raises(FileExistsError):
        write_new(path, b"two")
    assert path.read_bytes() == b"one"


def test_set_aside_keeps_all(tmp_path):
    path = tmp_path / "file.json"
    names = []
    for content in (b"1", b"2", b"3"):
        path.write_bytes(content)
        os.utime(path, (1234.5, 1234.5))
        names.append(set_aside(path).name)
    assert names == ["file.json.damaged-1234", "file.json.damaged-1234-2", "file.json.damaged-1234-3"]
    assert not path.exists()
    assert (tmp_path / names[2]).read_bytes() == b"3"


def test_read_bounded(tmp_path):
    path = tmp_path / "file"
    assert read_bounded(path, 3) is None
    path.write_bytes(b"abc")
    assert read_bounded(path, 3) == b"abc"
    with pytest.raises(ValueError, match="more than 2"):
        read_bounded(path, 2)
    with pytest.raises(UserProblem, match="could not be read"):
        read_bounded(tmp_path, 3)


def test_what_a_killed_process_was_writing_is_deleted(tmp_path):
    killed_while_syncing = """
import os, sys
from pathlib import Path
from core.system.atomic_files import write_new
os.fsync = lambda _: os._exit(1)
write_new(Path(sys.argv[1]), b"half")
"""
    path = tmp_path / "deep" / "identity.json"
    subprocess.run([sys.executable, "-c", killed_while_syncing, str(path)], check=False)
    (torn,) = path.parent.iterdir()
    being_written, numbered_again = (
        path.with_name(torn.name.replace(torn.suffix, f".{number}-0123456789ab"))
        for number in (os.getppid(), os.getpid())
    )
    numbered_again.write_bytes(b"by the process that had our number before us")
    for other in (being_written, tmp_path / ".profile", tmp_path / ".notes.2026-11-23"):
        other.write_bytes(b"somebody's")
    delete_torn(tmp_path)
    assert names_in(path.parent) == [being_written.name]
    assert names_in(tmp_path) == [".notes.2026-11-23", ".profile", "deep"]


def test_error_of_the_system_is_found_in_a_librarys_words(tmp_path):
    with small_disk(tmp_path / "disk", mib=1) as mounted:
        if not mounted:
            pytest.skip("needs the right to mount a file system")
        with pytest.raises(SafetensorError) as raised:
            save_file({"a": np.zeros(1_000_000)}, tmp_path / "disk" / "a")
    found = system_error_of(raised.value)
    assert found is not None
    assert isinstance(problem_of(found, tmp_path), NoSpace)
    assert system_error_of(ValueError("no (28) here")) is None
