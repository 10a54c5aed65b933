import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
from datasets import load_dataset_builder
from fsspec.implementations.memory import MemoryFileSystem

from core.api.data_state import DataCode
from core.base.data_source import DataSource
from core.base.problems import BadInput
from core.sources import buckets
from core.sources.hub import files_of_split
from core.sources.source import Access, SourceTrouble, TextShards, open_source
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
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
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


def test_a_split_of_a_data_set_is_read(hub: Site) -> None:
    assert texts(opened(config="en")) == ["one", "two"]
    assert texts(opened(config="en", split="test")) == ["three"]
    source = opened(access=Access(secrets={"hf://datasets": "hf_token"}))
    assert texts(source) == ["চার", "পাঁচ"]
    assert [left.name for left in source.listing().left_out] == ["data/bn/picture.png"]
    assert hub.asked[-1][2] == "Bearer hf_token"
    assert not any("load.py" in path for path, _, _ in hub.asked)


def test_what_the_hub_has_not_is_a_state(hub: Site) -> None:
    assert trouble(opened(config="fr")).code == DataCode.MISSING
    assert trouble(opened(config="en", split="validation")).code == DataCode.MISSING
    assert trouble(opened("hf://datasets/someone/else")).code == DataCode.MISSING
    hub.status = 401
    assert trouble(opened()).code == DataCode.REFUSED
    hub.status, hub.files = 0, {"/api/datasets/someone/words": b"<html>"}
    assert trouble(opened()).code == DataCode.DAMAGED


LAYOUTS = [
    FILES,
    {"train.csv": "text\n1", "test.csv": "text\n1"},
    {"data/train-00000-of-00002.csv": "text\n1", "data/train-00001-of-00002.csv": "text\n1", "x/dev.csv": "text\n1"},
    {"one.txt": "x", "sub/two.txt": "y", "README.md": "# no yaml"},
    {"train/a.jsonl": '{"text": "x"}\n', "validation/b.jsonl": '{"text": "x"}\n'},
    {"a.txt": "x", "README.md": "---\nconfigs:\n- config_name: default\n  data_files: a*\n---\n"},
]


@pytest.mark.parametrize("files", LAYOUTS)
def test_splits_have_the_files_that_datasets_gives_them(files: dict[str, str], tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "data/bn/picture.png").unlink(missing_ok=True)
    config = "en" if files is FILES else None
    builder = load_dataset_builder(str(tmp_path), config, cache_dir=str(tmp_path / ".cache"))
    card: dict[str, Any] = {}
    if "---" in files.get("README.md", ""):
        import yaml

        card = yaml.safe_load(files["README.md"].split("---")[1])
    for split, found in builder.config.data_files.items():
        theirs = sorted(Path(path).relative_to(tmp_path).as_posix() for path in found)
        ours = files_of_split(sorted(files), card, config=config or "", split=str(split))
        assert ours == theirs


class Bucket(MemoryFileSystem):
    protocol = "s3"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]


def test_buckets_are_read_through_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="takes the package s3fs"):
        opened("s3://bucket/texts")
    monkeypatch.setattr(buckets, "PACKAGES", {"s3": "fsspec"})
    fsspec.register_implementation("s3", Bucket, clobber=True)
    system = fsspec.filesystem("s3", anon=True)
    line = "A line of text.\n"
    system.pipe({"/bucket/texts/a.txt": (line * 400_000).encode(), "/bucket/texts/b.jsonl": b'{"text": "x"}\n'})
    allowed: list[int] = []
    source = opened("s3://bucket/texts", Access(allow=allowed.append))
    assert "".join(texts(source)) == line * 400_000 + "x"
    assert max(allowed) <= 256 * 1024
    system.rm("/bucket/texts/a.txt")
    assert trouble(source).code == DataCode.MISSING
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
    monkeypatch.setattr(buckets, "PACKAGES", {scheme: "fsspec"})
    monkeypatch.setattr(fsspec, "filesystem", lambda _, **given: asked.append(given))
    assert trouble(opened(f"{scheme}://bucket/texts")).code == DataCode.NO_ANSWER
    assert asked == [options]


def test_a_hostile_card_costs_little() -> None:
    name = "a" * 200 + ".txt"
    for pattern in ("*a" * 60 + "*b", "**/" * 60 + "b", "**a" * 60 + "**b"):
        assert not files_of_split([name], {"configs": [{"data_files": pattern}]}, config="", split="train")
    nested: list[Any] = ["x"]
    for _ in range(60):
        nested = [nested] * 9
    for configs in (
        {"data_files": [{"path": [nested]}]},
        {"data_files": "*", "data_dir": nested, "config_name": nested},
    ):
        files_of_split([name], {"configs": [configs]}, config="", split="train")


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("data/**", "data/a/b.txt data/c.txt"),
        ("**/*.txt", "data/a/b.txt data/c.txt d.txt"),
        ("./data/*.txt", "data/c.txt"),
        ("**/a/**", "data/a/b.txt"),
        ("data/[a-b]/?.txt", "data/a/b.txt"),
        ("*", "d.txt"),
    ],
)
def test_patterns_go_within_folders_or_through_them(pattern: str, fits: str) -> None:
    names = ["data/a/b.txt", "data/c.txt", "d.txt"]
    assert files_of_split(names, {"configs": [{"data_files": pattern}]}, config="", split="train") == fits.split()


@pytest.mark.parametrize("value", ['!!int ""', "!!timestamp x", "!!bool x", "[", "{a: b}: c"])
def test_a_card_that_cannot_be_read_says_nothing(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"README.md": f"---\nx: {value}\n---\n", "a.txt": "one"}
    with web_server(hub_of(files)) as site:
        monkeypatch.setenv("HF_ENDPOINT", site.url)
        assert texts(opened()) == ["one"]
