import errno
import gzip
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec import AbstractFileSystem
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
from fsspec.implementations.memory import MemoryFileSystem

from core.api.data_state import DataCode
from core.base.content import DIGEST_BYTES
from core.base.data_source import DataSource
from core.base.problems import BadInput
from core.text.order.shard_index import INDEX_FILE, ShardIndex
from core.text.sources import buckets
from core.text.sources.cut_folder import CutFolder
from core.text.sources.index_at import index_at
from core.text.sources.source import Access
from tests.unit.sources.opened_sources import opened, texts, trouble


class Bucket(MemoryFileSystem):
    protocol = "s3"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[AbstractFileSystem]:
    """What is in s3://bucket, which the package for it, here none of S3's, asks one question after the other."""
    monkeypatch.setattr(buckets, "PACKAGES", {"s3": "fsspec"})
    system = Bucket()
    monkeypatch.setattr(fsspec, "filesystem", lambda *_, **__: AsyncFileSystemWrapper(system, asynchronous=False))
    yield system
    Bucket.store.clear()


def test_absent_package_is_a_sentence() -> None:
    with pytest.raises(BadInput, match="takes the package gcsfs"):
        opened("gs://bucket/texts")


def test_buckets_are_read_through_fsspec(bucket: AbstractFileSystem) -> None:
    line = "A line of text.\n"
    assert trouble(opened("s3://bucket/texts")).code == DataCode.MISSING
    bucket.pipe({"/bucket/texts/a.txt": (line * 400_000).encode(), "/bucket/texts/b.jsonl": b'{"text": "x"}\n'})
    bucket.pipe({"/bucket/texts/c.txt.gz": gzip.compress(line.encode() * 4), "/bucket/texts/.cut.json": b"{}"})
    allowed: list[int] = []
    source = opened("s3://bucket/texts", Access(allow=allowed.append))
    assert "".join(texts(source)) == line * 400_000 + "x" + line * 4
    assert max(allowed) <= 256 * 1024
    bucket.pipe({"/bucket/texts/a.txt": b"shorter"})
    assert trouble(source).code == DataCode.DAMAGED
    bucket.rm("/bucket/texts/a.txt")
    assert trouble(source).code == DataCode.MISSING


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PermissionError("the secret"), DataCode.REFUSED),
        (TypeError("an option of no use: the secret"), DataCode.REFUSED),
        (OSError(5, "the secret"), DataCode.NO_ANSWER),
        (OSError(errno.EINVAL, "the range is not satisfiable"), DataCode.DAMAGED),
    ],
)
def test_trouble_of_a_bucket_is_a_state(
    error: Exception, code: DataCode, bucket: AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.pipe({"/bucket/texts/a.txt": b"text"})
    source = opened("s3://bucket/texts")
    source.listing()

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(bucket, "cat_file", fail)
    found = trouble(source)
    assert found.code == code
    assert "secret" not in repr(found)


def test_silent_bucket_does_not_answer(bucket: AbstractFileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    monkeypatch.setattr(bucket, "find", lambda *_, **__: ended.wait())
    monkeypatch.setattr(buckets, "ANSWER_S", 0.2)
    found = trouble(opened("s3://bucket/texts"))
    ended.set()
    assert (found.code, found.arguments) == (DataCode.NO_ANSWER, {"host": "s3://bucket"})


def test_credentials_of_a_bucket_are_an_object(bucket: AbstractFileSystem) -> None:
    with pytest.raises(BadInput, match="cannot be used") as caught:
        opened("s3://bucket/texts", Access(secrets={"s3://bucket": "no json"}))
    assert "no json" not in str(caught.value)


@pytest.mark.parametrize(
    ("scheme", "options"), [("s3", {"anon": True}), ("gs", {"token": "anon"}), ("az", {"anon": True})]
)
def test_a_bucket_gets_no_credentials_of_its_own(
    scheme: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    def filesystem(_: str, **given: Any) -> AsyncFileSystemWrapper:
        asked.append(given)
        return AsyncFileSystemWrapper(Bucket(), asynchronous=False)

    monkeypatch.setattr(buckets, "PACKAGES", {scheme: "fsspec"})
    monkeypatch.setattr(fsspec, "filesystem", filesystem)
    assert trouble(opened(f"{scheme}://bucket/texts")).code == DataCode.MISSING
    assert options in asked
    assert all(given == options for given in asked)


INDEX = ShardIndex(sizes=(1,), documents=(1,), characters=(1,), roots=bytes(DIGEST_BYTES))


def test_index_in_a_bucket_is_read_as_members_read_it(
    bucket: AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    def filesystem(_: str, **given: Any) -> AsyncFileSystemWrapper:
        asked.append(given)
        return AsyncFileSystemWrapper(bucket, asynchronous=False)

    monkeypatch.setattr(fsspec, "filesystem", filesystem)
    bucket.pipe("/bucket/texts/" + INDEX_FILE, INDEX.encode())
    assert index_at(DataSource(address="s3://bucket/texts"), Access()) == INDEX
    assert index_at(DataSource(address="s3://bucket/other"), Access()) is None
    assert asked
    assert all(given == {"anon": True} for given in asked)
    asked.clear()
    kept = Access(secrets={"s3://bucket": '{"key": "x"}'})
    assert index_at(DataSource(address="s3://bucket/texts"), kept) == INDEX
    assert all(given == {"key": "x"} for given in asked)


def test_bucket_files_are_read_without_their_size(bucket: AbstractFileSystem) -> None:
    data = bytes(range(256)) * 10_000
    whole = data[: buckets.ASKED_BYTES * 2]
    bucket.pipe({"/bucket/shards/a": data, "/bucket/shards/b": b"", "/bucket/shards/c": whole})
    store = CutFolder("s3://bucket/shards")
    assert store.read("a", len(data) + 1) == data
    assert store.read("a", 10) == data[:10]
    assert store.read("b", 10) == b""
    assert store.read("c", len(whole) + 1) == whole
    assert store.read("d", 10) is None


def test_silent_bucket_has_no_index(bucket: AbstractFileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    monkeypatch.setattr(bucket, "cat_file", lambda *_, **__: ended.wait())
    monkeypatch.setattr(buckets, "ANSWER_S", 0.2)
    with pytest.raises(BadInput, match="does not answer"):
        CutFolder("s3://bucket/texts").read(INDEX_FILE, 10)
    ended.set()


def test_shards_are_written_with_the_credentials_of_this_computer(
    bucket: AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def url_to_fs(address: str, **given: Any) -> tuple[AbstractFileSystem, str]:
        assert (address, given) == ("s3://bucket/shards", {})
        return bucket, "/bucket/shards"

    monkeypatch.setattr("fsspec.core.url_to_fs", url_to_fs)
    store = CutFolder("s3://bucket/shards/")
    assert store.read_back("a", 10) is None
    store.write("a", b"written")
    assert store.read_back("a", 10) == b"written"
