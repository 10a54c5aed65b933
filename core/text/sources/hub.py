"""Data sets of the hub: which files a split consists of, and their bytes.  No code of a data set is ever run.

The list of files comes from the hub's API, and which of them are a split from the library `datasets`
(`core.text.sources.hub_split`), which is given names and the data set's card, and nothing to follow.  All that is asked
of the network is asked through `core.text.sources.web`.
"""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from typing import Final
from urllib.parse import quote, urlsplit

import msgspec

from core.api.data_state import DataCode
from core.base.data_source import DataSource
from core.system.child_process import own_command
from core.text.sources.file_shards import FileShards, FoundFiles, StoredFile
from core.text.sources.hub_split import MEANINGLESS, SplitAnswer, SplitQuestion
from core.text.sources.source import Access, LeftOut, NoSplit, SourceStalled, authorization, secret_name
from core.text.sources.unpack import CODECS
from core.text.sources.web import Web

HUB: Final = "https://huggingface.co"
LIST_BYTES_MAX: Final = 64 * 1024 * 1024
CARD_BYTES_MAX: Final = 1024 * 1024
CARDS: Final = ("README.md", ".huggingface.yaml")
"""Files in which a data set says which files a split has."""
_TEXT: Final = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".txt", ".md")


class _Sibling(msgspec.Struct, frozen=True):
    rfilename: str
    size: int | None = None


class _Listed(msgspec.Struct, frozen=True):
    """What the hub's API says of a data set."""

    sha: str
    siblings: list[_Sibling] = []


def open_place(source: DataSource, access: Access) -> FileShards:
    """The files of a split of a data set (`core.text.sources.source.PLACES`)."""
    return FileShards(HubFiles(source, access), source, access)


class HubFiles:
    """Files of one split of a data set (`core.text.sources.file_shards.FilePlace`).

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
        """The files of the split, in the order of their names (`FilePlace.found`).

        Raises:
            NoSplit: there is no such split.
            SourceStalled: the hub does not say, or nonsense.
        """
        data = self._whole(f"{_hub()}/api/datasets/{_name(self._source.address)}?blobs=true", LIST_BYTES_MAX)
        try:
            listed = msgspec.json.decode(data, type=_Listed)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise SourceStalled(DataCode.DAMAGED, name=self._source.address) from error
        self._revision = quote(listed.sha, safe="")
        self._sizes = {sibling.rfilename: sibling.size or 0 for sibling in listed.siblings}
        answer = self._asked(list(self._sizes))
        if not answer.files:
            raise NoSplit(self._source, configs=answer.configs, splits=answer.splits)
        unread = [name for name in answer.files if not _holds_text(name)] + answer.left_out
        files = [
            StoredFile(name, self._sizes[name]) for name in answer.files if _holds_text(name) and self._sizes[name]
        ]
        return FoundFiles(files, [LeftOut(name, DataCode.NO_TEXT) for name in unread])

    def read(self, name: str, start: int, end: int | None) -> Iterator[bytes]:
        """The bytes of a range of a file (`FilePlace.read`)."""
        return self._web.read(self._url(name), start, end, size=self._sizes.get(name, 0))

    def _asked(self, names: list[str]) -> SplitAnswer:
        """Which files are the split, as a child process says that has the library."""
        card, more_card = (
            self._whole(self._url(name), CARD_BYTES_MAX).decode("utf-8", "replace") if name in self._sizes else ""
            for name in CARDS
        )
        source = self._source
        asked = SplitQuestion(names=names, card=card, more_card=more_card, config=source.config, split=source.split)
        done = subprocess.run(
            own_command("hub-split", "core.text.sources.hub_split"),
            input=msgspec.json.encode(asked),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # the library writes there whatever a card says
            check=False,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        if done.returncode not in {0, MEANINGLESS}:
            raise SourceStalled(DataCode.UNDECIDED, name=source.address)
        try:
            return msgspec.json.decode(done.stdout, type=SplitAnswer)
        except msgspec.MsgspecError as error:
            raise SourceStalled(DataCode.DAMAGED, name=f"{source.address}/{CARDS[0]}") from error

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
    """Asks the hub for a data set, with its token; the person has named what is asked in the hub's place."""
    headers = authorization(access.secrets.get(secret_name(address), ""))
    return Web(_hub(), replace(access, near=True), headers=headers)


def resolved_url(address: str, revision: str, name: str) -> str:
    """Where a file of a data set is.

    Args:
        address: Address of the data set, "hf://datasets/OWNER/NAME".
        revision: A commit, or a branch.
        name: Name of the file.
    """
    return f"{_hub()}/datasets/{_name(address)}/resolve/{revision}/{quote(name)}"


def _hub() -> str:
    return os.environ.get("HF_ENDPOINT", HUB).rstrip("/")


def _name(address: str) -> str:
    return quote(urlsplit(address).path.strip("/"))


def _holds_text(name: str) -> bool:
    low = name.lower()
    return any(low.endswith(ending + codec) for ending in _TEXT for codec in ("", *CODECS))
