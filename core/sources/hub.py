"""Data sets of the hub: which files a split consists of, and their bytes.  No code of a data set is ever run.

The list of files comes from the hub's API, and which of them are a split from the data set's card (README.md), or where
that does not say from names of files and folders, as the library `datasets` has it.  All of it is asked through
`core.sources.web`: the library itself follows whatever address a card names.
"""

import fnmatch
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlsplit

import msgspec

from core.api.data_state import DataCode
from core.base.data_source import DataSource
from core.sources.file_shards import FileShards, FoundFiles, StoredFile
from core.sources.source import Access, LeftOut, SourceStalled, secret_name
from core.sources.unpack import CODECS
from core.sources.web import Web, authorization

HUB: Final = "https://huggingface.co"
LIST_BYTES_MAX: Final = 64 * 1024 * 1024
CARD_BYTES_MAX: Final = 1024 * 1024
CARD: Final = "README.md"
PATTERNS_MAX: Final = 256
"""Of a split; each is held against each name."""
_TEXT: Final = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".txt", ".md")
_SPLITS: Final = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
"""Words by which names of files and folders tell which split they are."""


class _Sibling(msgspec.Struct, frozen=True):
    rfilename: str
    size: int | None = None


class _Listed(msgspec.Struct, frozen=True):
    """What the hub's API says of a data set."""

    sha: str
    siblings: list[_Sibling] = []


def open_place(source: DataSource, access: Access) -> FileShards:
    """The files of a split of a data set (`core.sources.source.PLACES`)."""
    return FileShards(HubFiles(source, access), source, access)


class HubFiles:
    """Files of one split of a data set (`core.sources.file_shards.FilePlace`).

    Args:
        source: As the manifest has it.
        access: What it may use; a token is kept for "hf://datasets".
    """

    network = True

    def __init__(self, source: DataSource, access: Access) -> None:
        self._source = source
        self._web = web_of_hub(source.address, access)
        self._revision = ""
        self._sizes: dict[str, int] = {}

    def found(self) -> FoundFiles:
        """The files of the split, in the order of their names (`FilePlace.found`)."""
        data = self._whole(f"{_hub()}/api/datasets/{_name(self._source.address)}?blobs=true", LIST_BYTES_MAX)
        try:
            listed = msgspec.json.decode(data, type=_Listed)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise SourceStalled(DataCode.DAMAGED, name=self._source.address) from error
        self._revision = quote(listed.sha, safe="")
        self._sizes = {sibling.rfilename: sibling.size or 0 for sibling in listed.siblings}
        card = self._card() if CARD in self._sizes else {}
        wanted = files_of_split(sorted(self._sizes), card, config=self._source.config, split=self._source.split)
        if not wanted:
            raise SourceStalled(DataCode.MISSING, name=f"{self._source.config} {self._source.split}".strip())
        files = [StoredFile(name, self._sizes[name]) for name in wanted if _holds_text(name) and self._sizes[name]]
        return FoundFiles(files, [LeftOut(name, DataCode.DAMAGED) for name in wanted if not _holds_text(name)])

    def read(self, name: str, start: int, end: int | None) -> Iterator[bytes]:
        """The bytes of a range of a file (`FilePlace.read`)."""
        return self._web.read(self._url(name), start, end, size=self._sizes.get(name, 0))

    def _card(self) -> Mapping[str, Any]:
        """What stands above the text of the data set's card."""
        import yaml  # noqa: PLC0415 - only here

        text = self._whole(self._url(CARD), CARD_BYTES_MAX).decode("utf-8", "replace")
        found = re.match(r"\s*---\r?\n(.*?)\r?\n---", text, re.DOTALL)
        try:
            card = yaml.safe_load(found[1]) if found else {}
        except Exception:  # noqa: BLE001 - a stranger's card: the library raises whatever it likes
            return {}
        return card if isinstance(card, dict) else {}

    def _whole(self, url: str, bytes_max: int) -> bytes:
        data = bytearray()
        for chunk in self._web.read(url, 0, None, size=0):
            data += chunk
            if len(data) > bytes_max:
                raise SourceStalled(DataCode.DAMAGED, name=self._source.address)
        return bytes(data)

    def _url(self, name: str) -> str:
        return resolved_url(self._source.address, self._revision, name)


def web_of_hub(address: str, access: Access) -> Web:
    """Asks the hub for a data set, with the token that is kept for it."""
    return Web(_hub(), access, headers=authorization(access.secrets.get(secret_name(address), "")))


def resolved_url(address: str, revision: str, name: str) -> str:
    """Where a file of a data set is.

    Args:
        address: Of the data set, "hf://datasets/OWNER/NAME".
        revision: A commit, or a branch.
        name: Of the file.
    """
    return f"{_hub()}/datasets/{_name(address)}/resolve/{revision}/{quote(name)}"


def _hub() -> str:
    return os.environ.get("HF_ENDPOINT", HUB).rstrip("/")


def _name(address: str) -> str:
    return quote(urlsplit(address).path.strip("/"))


def files_of_split(names: Sequence[str], card: Mapping[str, Any], *, config: str, split: str) -> list[str]:
    """Which files of a data set are a split.

    Args:
        names: All its files.
        card: Its card's data.
        config: Which of its configurations; empty: its default.
        split: Which split.
    """
    configs = [each for each in _list(card.get("configs")) if isinstance(each, dict) and "data_files" in each]
    if configs:
        chosen = [each for each in configs if _word(each.get("config_name", "default")) == config]
        if not config:
            chosen = [each for each in configs if each.get("default") is True or each.get("config_name") == "default"]
            chosen = chosen or configs
        if not chosen:
            return []
        patterns = _patterns(chosen[0]["data_files"], split)
        if patterns is not None:
            folder = _word(chosen[0].get("data_dir")).strip("/")
            globs = [_glob(f"{folder}/{pattern}" if folder else pattern) for pattern in patterns[:PATTERNS_MAX]]
            return [name for name in names if any(_fits(name.split("/"), glob) for glob in globs)]
        return []
    return _by_names([name for name in names if not config or name.startswith(f"{config}/")], split)


def _patterns(data_files: object, split: str) -> list[str] | None:
    """The patterns of a split; None: there is no such split."""
    if isinstance(data_files, dict):
        data_files = [{"split": name, "path": path} for name, path in data_files.items()]
    if isinstance(data_files, str) or all(isinstance(each, str) for each in _list(data_files)):
        return _list(data_files) if split == "train" else None
    for each in _list(data_files):
        if isinstance(each, dict) and each.get("split", "train") == split:
            return [path for path in _list(each.get("path")) if isinstance(path, str)]
    return None


def _by_names(names: Sequence[str], split: str) -> list[str]:
    """The files whose names, or whose folders' names, have the split's word; where none has any, all are "train"."""
    names = [name for name in names if _holds_text(name) and name != CARD and "/." not in f"/{name}"]
    told = {word: [name for name in names if _tells(name, words)] for word, words in _SPLITS.items()}
    if any(told.values()):
        return told.get(split, [name for name in names if _tells(name, (split,))])
    return list(names) if split == "train" else []


def _tells(name: str, words: Sequence[str]) -> bool:
    return any(re.search(rf"(?:^|[^a-z]){re.escape(word)}(?:[^a-z]|$)", name.lower()) for word in words)


def _glob(pattern: str) -> list[re.Pattern[str] | None]:
    """A pattern of file names, part by part: `*` stands for all within a part; None is `**`, any number of parts."""
    parts = pattern.removeprefix("./").split("/")
    return [None if part == "**" else re.compile(fnmatch.translate(part)) for part in parts]


def _fits(parts: Sequence[str], glob: Sequence[re.Pattern[str] | None]) -> bool:
    """Whether a name fits a pattern, both part by part.

    No pattern of a stranger's takes longer than the product of both lengths: `fnmatch` goes back to the last `*` only.
    """
    ends = {0}
    """How many parts of the name the pattern can have taken so far."""
    for part in glob:
        if part is None:
            ends = set(range(min(ends), len(parts) + 1)) if ends else ends
        else:
            ends = {end + 1 for end in ends if end < len(parts) and part.fullmatch(parts[end])}
    return len(parts) in ends


def _holds_text(name: str) -> bool:
    low = name.lower()
    return any(low.endswith(ending + codec) for ending in _TEXT for codec in ("", *CODECS))


def _word(value: object) -> str:
    """What a card has where one word belongs: another value of it can be longer than all memory, written out."""
    return value if isinstance(value, str) else ""


def _list(value: object) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
