import errno
import gzip
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
from datasets import load_dataset_builder
from fsspec import AbstractFileSystem
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
from fsspec.implementations.memory import MemoryFileSystem

from core.api.data_state import DataCode
from core.base.data_source import DataSource
from core.base.problems import BadInput
from core.sources import buckets, hub
from core.sources.hub_split import SplitAnswer, SplitQuestion, answered
from core.sources.source import Access, NoSplit, SourceTrouble, TextShards, open_source
from core.sources.texts import problem_of_trouble
from tests.web_server import Site, web_server

CARD = """---
license: cc0-1.0
configs:
- config_name: en
  data_files:
  - split: train
    path: "data/en/*.jsonl"
  - split: test
    path: data/en-test.jsonl
- config_name: bn
  default: true
  data_files: "data/bn/**"
---
# A data set
"""
FILES = {
    "data/en/0.jsonl": '{"text": "one"}\n',
    "data/en/1.jsonl": '{"text": "two"}\n',
    "data/en-test.jsonl": '{"text": "three"}\n',
    "data/bn/0.txt": "চার",
    "data/bn/deep/1.txt": "পাঁচ",
    "data/bn/picture.png": "no text",
    "README.md": CARD,
    "load.py": "raise SystemExit('code was run')",
}


def hub_of(files: dict[str, str]) -> dict[str, bytes]:
    names = [{"rfilename": name, "size": len(text.encode())} for name, text in files.items()]
    listed = {"id": "someone/words", "sha": "abc", "siblings": names}
    found = {f"/datasets/someone/words/resolve/abc/{name}": text.encode() for name, text in files.items()}
    return found | {"/api/datasets/someone/words": json.dumps(listed).encode()}


@pytest.fixture
def a_hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with web_server(hub_of(FILES)) as site:
        monkeypatch.setenv("HF_ENDPOINT", site.url)
        yield site


def opened(address: str = "hf://datasets/someone/words", access: Access | None = None, **fields: Any) -> TextShards:
    return open_source(DataSource(address=address, **fields), access or Access())


def texts(source: TextShards) -> list[str]:
    shards = range(len(source.listing().shards))
    return [text for shard in shards for piece in source.read(shard) for text in piece.texts]


def trouble(source: TextShards) -> SourceTrouble:
    with pytest.raises(SourceTrouble) as caught:
        texts(source)
    return caught.value


def split_of(names: list[str], card: str = "", **fields: str) -> SplitAnswer:
    question = {"more_card": "", "config": "", "split": "train"} | fields
    return answered(SplitQuestion(names=names, card=card, **question))


def card_of(*patterns: str, **fields: str) -> str:
    return f"---\nconfigs:\n- {json.dumps({'config_name': 'default', 'data_files': patterns} | fields)}\n---\n"


def test_a_split_of_a_data_set_is_read(a_hub: Site) -> None:
    assert texts(opened(config="en")) == ["one", "two"]
    assert texts(opened(config="en", split="test")) == ["three"]
    source = opened(access=Access(secrets={"hf://datasets": "hf_token"}))
    assert texts(source) == ["চার", "পাঁচ"]
    assert [left.name for left in source.listing().left_out] == ["data/bn/picture.png"]
    assert a_hub.asked[-1][2] == "Bearer hf_token"
    assert not any("load.py" in path for path, _, _ in a_hub.asked)


def test_what_the_hub_has_not_is_a_state(a_hub: Site) -> None:
    assert trouble(opened("hf://datasets/someone/else")).code == DataCode.MISSING
    a_hub.status = 401
    assert trouble(opened()).code == DataCode.REFUSED
    a_hub.status, a_hub.files = 0, {"/api/datasets/someone/words": b"<html>"}
    assert trouble(opened()).code == DataCode.DAMAGED


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"config": "fr"}, "It has 'en', 'bn': name the right one with --config"),
        ({"config": "en", "split": "dev"}, "It has 'train', 'test': name the right one with --split"),
    ],
)
def test_absent_split_is_a_sentence_that_names_others(a_hub: Site, fields: dict[str, str], hint: str) -> None:
    found = trouble(opened(**fields))
    assert isinstance(found, NoSplit)
    assert found.code == DataCode.MISSING
    assert hint in problem_of_trouble(found).hint


LAYOUTS = [
    FILES,
    {"train.csv": "text\n1", "test.csv": "text\n1"},
    {"data/train-00000-of-00002.csv": "text\n1", "data/train-00001-of-00002.csv": "text\n1", "x/dev.csv": "text\n1"},
    {"one.txt": "x", "sub/two.txt": "y", "README.md": "# no yaml"},
    {"train/a.jsonl": '{"text": "x"}\n', "validation/b.jsonl": '{"text": "x"}\n'},
    {"a.txt": "x", "README.md": "---\nconfigs:\n- config_name: default\n  data_files: a*\n---\n"},
    {"a.txt": "x", "b.txt": "x", "c.csv": "text\n1", "x.py": "1", ".hidden.txt": "x", "__cache/d.txt": "x"},
    {
        "bn/train.txt": "x",
        "bn/test.txt": "x",
        "de/train.txt": "x",
        "README.md": "---\nconfigs:\n- config_name: bn\n  data_dir: bn\n---\n",
    },
    {
        "a.txt": "x",
        "b.txt": "y",
        ".huggingface.yaml": "configs:\n- {config_name: default, data_files: b.txt}\n",
        "README.md": card_of("a.txt"),
    },
]


@pytest.mark.parametrize("files", LAYOUTS)
def test_splits_have_the_files_that_datasets_gives_them(files: dict[str, str], tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    config = "en" if files is FILES else None
    builder = load_dataset_builder(str(tmp_path), config, cache_dir=str(tmp_path / ".cache"))
    assert builder.config.data_files
    for split, found in builder.config.data_files.items():
        theirs = sorted(Path(path).relative_to(tmp_path).as_posix() for path in found)
        card, more_card = (files.get(name, "") for name in hub.CARDS)
        ours = split_of(list(files), card, more_card=more_card, config=config or "", split=str(split))
        assert ours.files == theirs


def test_folders_are_configurations_where_no_card_names_any() -> None:
    names = ["OSCAR-2301.py", "bn_meta/bn_meta_part_1.jsonl.zst", "bn_meta/checksum.sha256", "de_meta/1.jsonl.zst"]
    assert split_of(names, config="bn_meta").files == ["bn_meta/bn_meta_part_1.jsonl.zst"]
    assert split_of(names, config="fr_meta") == SplitAnswer()
    mixed = split_of(["a.jsonl", "b.jsonl", "c.txt"])
    assert (mixed.files, mixed.left_out) == (["a.jsonl", "b.jsonl"], ["c.txt"])
    assert split_of(["a.zip"]).files == ["a.zip"]


def test_card_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("x")
    with web_server({"/secret.txt": b"x"}) as site:
        hops = [f"zip://*.txt::{site.url}/secret.txt", f"a/b::{site.url}/secret.txt", f"*.txt::{site.url}/secret.txt"]
        outside = [f"{site.url}/secret.txt", f"{tmp_path}/*", f"file://{tmp_path}/*", "../*", "hf://datasets/x/y/*"]
        assert split_of(["a.txt"], card_of("a.txt", *hops, *outside)).files == ["a.txt"]
        for folder in (str(tmp_path), site.url, f"x::{site.url}", ".."):
            assert not split_of(["a.txt"], card_of("**", data_dir=folder)).files
        assert not site.asked


@pytest.mark.parametrize("pattern", ["*a" * 60 + "*b.txt", "**/" * 60 + "b", "[" * 900, "*" * 1000, "x" * 5000])
def test_hostile_pattern_ends_with_its_process(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    short = "from core.sources import hub_split; hub_split.SPLIT_S = 3.0; hub_split.main()"
    monkeypatch.setattr(hub, "own_command", lambda *_: [sys.executable, "-c", short])
    files = {"a" * 200 + ".txt": "one", "a/" * 100 + "a.txt": "two", "README.md": card_of(pattern)}
    with web_server(hub_of(files)) as site:
        monkeypatch.setenv("HF_ENDPOINT", site.url)
        assert trouble(opened()).code in {DataCode.DAMAGED, DataCode.MISSING}


@pytest.mark.parametrize(
    "card",
    [
        "x: !!int ''",
        "x: !!timestamp x",
        "[",
        "{a: b}: c",
        "configs: [x]",
        "configs: [{data_files: x}]",
        "configs: [{config_name: x, data_files: 1}]",
        "a: &a [x,x,x,x,x,x,x,x,x]\nconfigs: &b [*a, *b]",
        f"a: &a0 [{'x' * 100}]\n" + "".join(f"a{n}: &a{n + 1} [{f'*a{n},' * 9}]\n" for n in range(9)) + "configs: *a9",
    ],
)
def test_card_that_means_nothing_is_refused(card: str) -> None:
    with pytest.raises(Exception):  # noqa: B017 - the library raises whatever it likes
        split_of(["a.txt"], f"---\n{card}\n---\n")


def test_card_that_means_nothing_is_a_state(monkeypatch: pytest.MonkeyPatch) -> None:
    with web_server(hub_of({"README.md": "---\n[\n---\n", "a.txt": "one"})) as site:
        monkeypatch.setenv("HF_ENDPOINT", site.url)
        found = trouble(opened())
    assert (found.code, found.arguments["name"]) == (DataCode.DAMAGED, "hf://datasets/someone/words/README.md")


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
