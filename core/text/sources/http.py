"""Files of a web server: one, or many whose names count: "https://texts.org/part-{000..099}.jsonl.zst"."""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from core.base.data_source import SHARDS_MAX, DataSource
from core.base.problems import BadInput
from core.text.sources.file_shards import FileShards, FoundFiles, StoredFile
from core.text.sources.source import Access, authorization, secret_name
from core.text.sources.web import Web

LOOKED_AT_MAX: Final = 16
"""Number of files whose sizes are asked for before any is read; where there are more, each is one shard."""
_COUNTING: Final = re.compile(r"\{(\d{1,9})\.\.(\d{1,9})\}")


def open_place(source: DataSource, access: Access) -> FileShards:
    """The file or files of an address (`core.text.sources.source.PLACES`).

    Raises:
        BadInput: it counts too far.
    """
    secret = access.secrets.get(secret_name(source.address), "")
    web = Web(source.address, access, headers=authorization(secret))
    return FileShards(WebFiles(numbered(source.address), web), source, access)


def numbered(address: str) -> list[str]:
    """The addresses that one with a `{first..last}` stands for.

    Raises:
        BadInput: there are none, or more than `SHARDS_MAX`.
    """
    found = _COUNTING.search(address)
    if found is None:
        return [address]
    first, last = int(found[1]), int(found[2])
    if not 0 <= last - first < SHARDS_MAX:
        message = "{address} names no files, or more than {most}."
        raise BadInput(message, address[:80], f"{SHARDS_MAX:,}", hint="Cut it differently.")
    digits = len(found[1])
    return [f"{address[: found.start()]}{n:0{digits}}{address[found.end() :]}" for n in range(first, last + 1)]


class WebFiles:
    """Files of web servers (`core.text.sources.file_shards.FilePlace`).

    Args:
        urls: Their addresses.
        web: Asks for them.
    """

    network = True

    def __init__(self, urls: list[str], web: Web) -> None:
        names = [self._name(url) for url in urls]
        if len(set(names)) < len(names):  # they differ in what people are not shown
            names = [f"{number}/{name}" for number, name in enumerate(names)]
        self._urls = dict(zip(names, urls, strict=True))
        self._web = web
        self._sizes: dict[str, int] = {}

    def found(self) -> FoundFiles:
        """The files, with their sizes where they are few (`FilePlace.found`)."""
        if len(self._urls) > LOOKED_AT_MAX:
            return FoundFiles([StoredFile(name, 0, ranges=False) for name in self._urls])
        files = []
        for name, url in self._urls.items():
            answer = self._web.look(url)
            self._sizes[name] = answer.size
            files.append(StoredFile(name, answer.size, ranges=answer.ranges))
        return FoundFiles(files)

    def read(self, name: str, start: int, end: int | None) -> Iterator[bytes]:
        """The bytes of a range of a file (`FilePlace.read`)."""
        return self._web.read(self._urls[name], start, end, size=self._sizes.get(name, 0))

    @staticmethod
    def _name(url: str) -> str:
        parts = urlsplit(url)
        return f"{parts.hostname}{parts.path}"
