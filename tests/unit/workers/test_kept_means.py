"""Means of the last rounds on disk."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from core.averaging.kept_mean import MeanForm
from core.base.problems import Problem
from core.codecs.registry import codec_of
from core.kept.kept_means import KeptMeans
from core.kept.state_files import DiskStateFile, DiskStateSink

NUMEL = 100_000
FORM = MeanForm(codec_of("raw"), chunk_numel=4096, numel=NUMEL)


def mean(number: int) -> np.ndarray:
    return np.full(NUMEL, number, dtype=np.float32)


def kept(means: KeptMeans, number: int) -> DiskStateFile:
    root, file = means.keep(mean(number))
    assert file is not None
    assert file.digest == root
    return file


def test_mean_is_called_by_the_digest_of_its_chunks(tmp_path: Path) -> None:
    means = KeptMeans(tmp_path / "means", FORM)
    file = kept(means, 3)
    (path,) = (tmp_path / "means").iterdir()
    data = path.read_bytes()
    pieces = [data[at : at + 2**18] for at in range(0, len(data), 2**18)]
    digests = [hashlib.blake2b(piece, digest_size=32).digest() for piece in pieces]
    assert file.digest == hashlib.blake2b(b"".join(digests), digest_size=32).digest()
    assert path.name == f"{file.digest.hex()}.mean"
    again = np.empty(NUMEL, dtype=np.float32)
    means.read(path, again)
    assert again.tobytes() == mean(3).tobytes()


def test_only_the_newest_means_with_room_stay(tmp_path: Path) -> None:
    means = KeptMeans(tmp_path / "means", FORM)
    files = [kept(means, number) for number in range(4)]
    newest_first = [file.digest for file in reversed(files)]
    means.only(newest_first[:3], bytes_max=2 * files[0].size_bytes + 1)
    assert [file.digest for file in means.whole(newest_first)] == newest_first[:2]


def test_torn_mean_is_not_offered(tmp_path: Path) -> None:
    means = KeptMeans(tmp_path / "means", FORM)
    file = kept(means, 1)
    (path,) = (tmp_path / "means").iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    assert means.whole([file.digest]) == []
    with pytest.raises(Problem):
        means.read(path, np.empty(NUMEL, dtype=np.float32))


def test_full_disk_changes_no_digest(tmp_path: Path) -> None:
    expected = kept(KeptMeans(tmp_path / "means", FORM), 1).digest
    (tmp_path / "file").write_bytes(b"")
    assert KeptMeans(tmp_path / "file", FORM).keep(mean(1)) == (expected, None)


def test_what_is_not_kept_is_said_once_and_then_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    form = MeanForm(codec_of("fp16"), chunk_numel=4096, numel=NUMEL)
    means, wrong = KeptMeans(tmp_path / "means", form), np.full(NUMEL, 1 / 3, dtype=np.float32)
    for _ in range(9):
        assert means.keep(wrong) == (b"", None)
    why = "A round's mean is not kept for others: its codec changes its numbers"
    counted = [f"{why} ({times} times so far)." for times in (2, 4, 8)]
    assert [record.getMessage() for record in caplog.records] == [f"{why}.", *counted]
    assert list((tmp_path / "means").iterdir()) == []


def test_fetched_means_stay_beside_one_another(tmp_path: Path) -> None:
    source, folder = KeptMeans(tmp_path / "source", FORM), tmp_path / "means"
    files = [kept(source, number) for number in range(2)]
    sink = DiskStateSink(folder, means=True)
    for file in files:
        assert sink.begin(file.digest, file.size_bytes, file.chunks) == set()
        for index in range(len(file.chunks)):
            sink.write(index, memoryview(file.read(index)))
        assert Path(sink.finish()).parent == folder
    digests = [file.digest for file in files]
    assert [file.digest for file in KeptMeans(folder, FORM).whole(digests)] == digests
    again = DiskStateSink(folder, means=True)
    assert again.begin(files[0].digest, files[0].size_bytes, files[0].chunks) == set(range(len(files[0].chunks)))
