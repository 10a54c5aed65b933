import shutil
from pathlib import Path
from random import Random

import pytest

from core.base.content import CHUNK_BYTES, chunk_digests, root_digest
from core.base.problems import Damaged, NoSpace, UserProblem
from core.kept.state_files import DiskStateFile, DiskStateSink
from core.system.file_chunks import file_chunks


def checkpoint(folder: Path, size: int) -> tuple[Path, bytes]:
    path = folder / "state"
    path.write_bytes(Random(size).randbytes(size))
    return path, root_digest(chunk_digests(file_chunks(path)))


@pytest.mark.parametrize("size", [1, CHUNK_BYTES, 3 * CHUNK_BYTES + 5])
def test_a_file_goes_over_in_chunks(tmp_path: Path, size: int) -> None:
    path, root = checkpoint(tmp_path, size)
    file, sink = DiskStateFile(path, root), DiskStateSink(tmp_path / "incoming")
    assert sink.begin(root, file.size_bytes, file.chunks) == set()
    for index in reversed(range(len(file.chunks))):
        sink.write(index, memoryview(file.read(index)))
    assert Path(sink.finish()).read_bytes() == path.read_bytes()


def test_a_file_stays_readable_after_the_worker_deleted_it(tmp_path: Path) -> None:
    path, root = checkpoint(tmp_path, 2 * CHUNK_BYTES)
    data = path.read_bytes()
    file = DiskStateFile(path, root)
    path.unlink()
    assert file.read(0) + file.read(1) == data


def test_a_file_that_is_not_what_was_promised_is_damage(tmp_path: Path) -> None:
    path, _ = checkpoint(tmp_path, 100)
    with pytest.raises(Damaged):
        DiskStateFile(path, b"x" * 32)


def test_file_is_not_read_where_its_chunks_are_named(tmp_path: Path) -> None:
    path, root = checkpoint(tmp_path, 3 * CHUNK_BYTES + 5)
    told = chunk_digests(file_chunks(path))
    path.write_bytes(bytes(3 * CHUNK_BYTES + 5))
    file = DiskStateFile(path, root, chunks=b"".join(told))
    assert (list(file.chunks), file.digest, file.size_bytes) == (told, root, 3 * CHUNK_BYTES + 5)


@pytest.mark.parametrize("size", [3 * CHUNK_BYTES, 4 * CHUNK_BYTES + 1, 0])
def test_file_of_another_size_than_its_chunks_is_damage(tmp_path: Path, size: int) -> None:
    path, root = checkpoint(tmp_path, 3 * CHUNK_BYTES + 5)
    told = chunk_digests(file_chunks(path))
    path.write_bytes(bytes(size))
    with pytest.raises(Damaged):
        DiskStateFile(path, root, chunks=b"".join(told))


def test_chunks_of_another_root_are_damage(tmp_path: Path) -> None:
    path, root = checkpoint(tmp_path, 100)
    with pytest.raises(Damaged):
        DiskStateFile(path, root, chunks=b"x" * 32)


def test_broken_transfer_keeps_only_what_was_verified(tmp_path: Path) -> None:
    path, root = checkpoint(tmp_path, 4 * CHUNK_BYTES)
    file, sink = DiskStateFile(path, root), DiskStateSink(tmp_path / "incoming")
    sink.begin(root, file.size_bytes, file.chunks)
    sink.write(2, memoryview(file.read(2)))
    sink.write(0, memoryview(b"x" * CHUNK_BYTES))
    sink.close()
    again = DiskStateSink(tmp_path / "incoming")
    assert again.begin(root, file.size_bytes, file.chunks) == {2}
    for index in (0, 1, 3):
        again.write(index, memoryview(file.read(index)))
    assert Path(again.finish()).read_bytes() == path.read_bytes()


def test_another_download_takes_the_place_of_an_old_one(tmp_path: Path) -> None:
    sink = DiskStateSink(tmp_path / "incoming")
    sink.begin(b"a" * 32, 10, [b"d" * 32])
    sink.begin(b"b" * 32, 10, [b"d" * 32])
    sink.close()
    assert [path.name for path in (tmp_path / "incoming").iterdir()] == [f"{(b'b' * 32).hex()}.part"]


def test_a_file_that_is_gone_is_damage(tmp_path: Path) -> None:
    with pytest.raises(Damaged, match="cannot be read"):
        DiskStateFile(tmp_path / "state", b"x" * 32)


def test_a_folder_that_cannot_be_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserProblem, match="could not be written"):
        DiskStateSink(tmp_path / "file").begin(b"x" * 32, 100, [])


def test_copy_larger_than_the_room_is_refused_before_it_comes(tmp_path: Path) -> None:
    larger = 1 + shutil.disk_usage(tmp_path).free
    with pytest.raises(NoSpace, match="too much of the room"):
        DiskStateSink(tmp_path, copies=True).begin(b"x" * 32, larger, [])
    assert not list(tmp_path.glob("*.part"))
