"""Where a collaboration's text comes from, as its manifest says it.

What the worst organiser gains: volunteers read what he names from where he names it, as fast as their own limits allow.
What lies on a volunteer's computer or in its own network is read only where the person has named it.
"""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

PYTHON_DOCS: Final = "python-docs"
"""The text that every computer has: the documentation that came with Python."""
SOURCES_MAX: Final = 16
"""Number of sources of one collaboration."""
SHARDS_MAX: Final = 65_536
"""Number of shards of one source: where there is more text, shards are larger."""
ADDRESS_LETTERS: Final = 4096

Word = Annotated[str, Meta(max_length=200)]


class DataSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One source of a collaboration's text, as its manifest has it."""

    address: Annotated[str, Meta(min_length=1, max_length=ADDRESS_LETTERS)] = PYTHON_DOCS
    """ "python-docs"; the absolute path of a folder or file; a URL that `fsspec` reads, such as "https://..." or
    "s3://..."; "hf://datasets/OWNER/NAME" for a data set of the hub."""
    form: Literal["auto", "text", "jsonl", "parquet", "csv"] = "auto"
    """What the files hold; "auto": as their names end, `.gz` and `.zst` after it."""
    column: Word = "text"
    """Of tables and JSON lines: where the text stands."""
    config: Word = ""
    """Of a hub data set."""
    split: Word = "train"
    """Of a hub data set."""
    share: Annotated[float, Meta(gt=0, le=1e6)] = 1.0
    """How often a sample is drawn from this source, relative to the others' shares (S000, I.4: 0.23 and 0.77)."""
    index: Word = ""
    """Name of the blob that lists its shards with their digests (`core.data.shard_index`); empty: there is none, so
    shards cannot be checked, and are not shared between peers."""
    filters: Annotated[dict[Word, int | float | str | bool], Meta(max_length=20)] = {}
    """What a document must be to be read (`core.data.filters`)."""
    licence: Annotated[str, Meta(max_length=200)] = ""
    """Of the text, for people: "CC BY-SA 4.0"."""
    credit: Annotated[str, Meta(max_length=1000)] = ""
    """Who made the text and where it is described, for people."""


DataSources = Annotated[tuple[DataSource, ...], Meta(min_length=1, max_length=SOURCES_MAX)]
