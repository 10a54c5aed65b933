"""Opens text by its address: the only file of the room that knows all kinds of places."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final

from core.base.data_source import PYTHON_DOCS, DataSource
from core.base.problems import BadInput
from core.text.order.shard_index import ShardIndex
from core.text.sources.source import Access, FetchedShards, Origin, TextShards, scheme_of

PLACES: Final[Mapping[str, str]] = MappingProxyType(
    {
        PYTHON_DOCS: "core.text.sources.python_docs",
        "": "core.text.sources.folder",
        "http": "core.text.sources.http",
        "https": "core.text.sources.http",
        "hf": "core.text.sources.hub",
        **dict.fromkeys(("s3", "gs", "az"), "core.text.sources.buckets"),
    }
)
"""Every kind of address, by the scheme of its URL: a module with `open_place(source, access) -> TextShards`."""

INDEXED: Final = "core.text.sources.indexed"
"""Loaded by name, as `PLACES` are: it knows the network, which a worker that opens a folder must not."""


def open_source(source: DataSource, access: Access) -> TextShards:
    """The source that a manifest names; nothing of it is read yet.

    Args:
        source: As the manifest has it.
        access: What it may use.

    Raises:
        BadInput: this version cannot read such an address, or it names what the person has not allowed.
    """
    scheme = scheme_of(source.address)
    if scheme not in PLACES:
        known = ", ".join(name for name in PLACES if name)
        message = "Potluck cannot read {scheme}:// addresses."
        raise BadInput(message, scheme, known, hint="It reads folders, and {known}; name one of these.")
    found: TextShards = import_module(PLACES[scheme]).open_place(source, access)
    return found


def open_indexed(source: DataSource, index: ShardIndex, access: Access) -> FetchedShards:
    """The source that a manifest names, where it names an index, too; nothing of it is read yet.

    Args:
        source: As the manifest has it.
        index: As the manifest's blob has it.
        access: What it may use.

    Raises:
        BadInput: this version cannot read such an address, or it names what the person has not allowed.
    """
    found: FetchedShards = import_module(INDEXED).IndexedShards(source, index, access)
    return found


def open_origin(address: str, access: Access) -> Origin:
    """The server that gives files at an address (`core.text.sources.indexed.origin_of`).

    Raises:
        BadInput: this version cannot read such an address.
    """
    found: Origin = import_module(INDEXED).origin_of(address, access, seen=address)
    return found
