"""Buckets of S3, Google and Azure, through `fsspec` and the package that it has for each."""

import errno
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import count as count_from
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from core.api.data_state import DataCode
from core.base.data_source import DataSource
from core.base.problems import BadInput
from core.text.sources.file_shards import FileShards, FoundFiles, StoredFile
from core.text.sources.source import READ_BYTES, Access, ShardUnreadable, SourceStalled, scheme_of, secret_name

PACKAGES: Final = {"s3": "s3fs", "gs": "gcsfs", "az": "adlfs"}
ANONYMOUS: Final = {"s3": '{"anon": true}', "gs": '{"token": "anon"}', "az": '{"anon": true}'}
"""Where no credential is kept: what each package must be told lest it use the person's own of that cloud."""
ASKED_BYTES: Final = 4 * READ_BYTES
"""Bytes of one question: a bucket takes a tenth of a second to answer each."""
ANSWER_S: Final = 60.0
"""Upper bound on a question and its answer, seconds: the packages themselves would try for many minutes."""
BEYOND: Final = frozenset({errno.EINVAL, 416})
"""How packages say that a file is shorter than where a range begins."""


def open_place(source: DataSource, access: Access) -> FileShards:
    """The files below an address in a bucket (`core.text.sources.source.PLACES`).

    Raises:
        BadInput: the package that reads it is not installed, or the credentials that are kept cannot be used.
    """
    return FileShards(bucket_of(source.address, access), source, access)


def bucket_of(address: str, access: Access) -> "BucketFiles":
    """The files below an address.

    Raises:
        BadInput: as `open_place` has it.
    """
    scheme = scheme_of(address)
    package = PACKAGES[scheme]
    if find_spec(package) is None:
        message = "Reading {scheme}:// takes the package {package}, which is not installed."
        raise BadInput(message, scheme, package, hint="Install it where Potluck is: pip install {package}")
    return BucketFiles(address, access)


def options_of(address: str, secret: str) -> dict[str, Any]:
    """What a package is told for an address.

    Args:
        address: In a bucket.
        secret: The credential that is kept for it, the package's options as a JSON object; empty: none is.

    Raises:
        BadInput: the credential is not a JSON object.
    """
    try:
        return msgspec.json.decode(secret or ANONYMOUS[scheme_of(address)], type=dict[str, Any])
    except msgspec.MsgspecError:
        hint = 'Give a JSON object, such as {"key": "...", "secret": "..."}.'
        raise BadInput("The credentials of {address} cannot be used.", secret_name(address), hint=hint) from None


class BucketFiles:
    """Files below an address (`core.text.sources.file_shards.FilePlace`).

    Args:
        address: Address of a bucket, a folder in it, or a file.
        access: What it may use; a credential is kept as the options that the package takes, a JSON object.

    Raises:
        BadInput: the credential is not a JSON object.
    """

    network = True

    def __init__(self, address: str, access: Access) -> None:
        self._address = address
        self._access = access
        self.path = urlsplit(address).netloc + urlsplit(address).path.rstrip("/")
        self._sizes: dict[str, int] = {}
        self._options = options_of(address, access.secrets.get(secret_name(address), ""))

    def found(self) -> FoundFiles:
        """The files, sorted by name, hidden ones left out (`FilePlace.found`)."""
        self._access.allow(READ_BYTES)
        try:
            self._system().invalidate_cache()  # it remembers that there was nothing
            infos = self._asked("find", self.path, detail=True)
        except Exception as error:  # noqa: BLE001 - each package has its own
            raise self._stalled(error) from None
        sizes = {str(name): int(info.get("size") or 0) for name, info in sorted(infos.items())}
        self._sizes = {name: size for name, size in sizes.items() if size and "/." not in name.removeprefix(self.path)}
        return FoundFiles([StoredFile(name, size) for name, size in self._sizes.items()])

    def read(self, name: str, start: int, end: int | None) -> Iterator[bytes]:
        """The bytes of a range of a file (`FilePlace.read`); of one that was not listed, all that there are."""
        end = self._sizes.get(name) if end is None else end
        for at in count_from(start, ASKED_BYTES) if end is None else range(start, end, ASKED_BYTES):
            count = ASKED_BYTES if end is None else min(ASKED_BYTES, end - at)
            for taken in range(0, count, READ_BYTES):
                self._access.allow(min(READ_BYTES, count - taken))
            try:
                data: bytes = self._asked("cat_file", name, start=at, end=at + count)
            except FileNotFoundError:
                raise ShardUnreadable(DataCode.MISSING, name=name) from None
            except Exception as error:  # noqa: BLE001 - each package has its own
                if BEYOND & {getattr(error, "errno", None), getattr(error, "code", None)}:
                    data = b""
                else:
                    raise self._stalled(error) from None
            if len(data) != count and end is not None:
                raise ShardUnreadable(DataCode.DAMAGED, name=name)
            for taken in range(0, count, READ_BYTES):
                yield data[taken : taken + READ_BYTES]
            if len(data) < count:
                return

    def _asked(self, what: str, *words: str, **how: object) -> Any:
        """What the file system answers to a question; it gets `ANSWER_S`, and no more, however often it would try."""
        from fsspec.asyn import sync  # noqa: PLC0415 - only here

        system = self._system()
        return sync(system.loop, getattr(system, f"_{what}"), *words, timeout=ANSWER_S, **how)

    def _system(self) -> Any:
        """The file system, which `fsspec` keeps."""
        import fsspec  # noqa: PLC0415 - only here

        return fsspec.filesystem(scheme_of(self._address), **self._options)

    def _stalled(self, error: Exception) -> SourceStalled:
        """A problem of a package in our words: its own can hold a credential."""
        host = secret_name(self._address)
        if isinstance(error, FileNotFoundError):
            return SourceStalled(DataCode.MISSING, name=self._address)
        if isinstance(error, PermissionError):
            return SourceStalled(DataCode.REFUSED, host=host, status=403)
        if (
            isinstance(error, TypeError | ValueError | KeyError) or "Credential" in type(error).__name__
        ):  # these options do not do
            return SourceStalled(DataCode.REFUSED, host=host, status=0)
        return SourceStalled(DataCode.NO_ANSWER, host=host)
