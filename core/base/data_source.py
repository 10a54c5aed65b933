"""Where a collaboration's text comes from, as its manifest says it.

What the worst organiser gains: volunteers read what he names from where he names it, as fast as their own limits allow.
What lies on a volunteer's computer or in its own network is read only where the person has named it.
"""

import math
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from core.base.problems import quoted

PYTHON_DOCS: Final = "python-docs"
"""The text that every computer has: the documentation that came with Python."""
MEMBERS: Final = "members"
"""Text that lies at no address: the backbone and other members give the shards that its index lists."""
SOURCES_MAX: Final = 16
"""Number of sources of one collaboration."""
SHARDS_MAX: Final = 65_536
"""Number of shards of one source: where there is more text, shards are larger."""
ADDRESS_LETTERS: Final = 4096
SECRETS: Final = "POTLUCK_SECRETS"
"""The environment variable in which a child that prepares text finds a person's credentials."""
HUB: Final = "hf"
SCHEMES: Final = frozenset({HUB, "http", "https", "s3", "gs", "az"})
"""What a URL may begin with: all of these read over a network."""

_RESERVED: Final = frozenset({"invalid", "example"})
"""Last parts of names that no server has (RFC 2606, RFC 6761)."""

Word = Annotated[str, Meta(max_length=200)]


class DataSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One source of a collaboration's text, as its manifest has it."""

    address: Annotated[str, Meta(min_length=1, max_length=ADDRESS_LETTERS)] = PYTHON_DOCS
    """ "python-docs"; "members"; a URL that `fsspec` reads, such as "https://..." or "s3://...";
    "hf://datasets/OWNER/NAME" for a data set of the hub; on one's own computer the absolute path of a folder or file,
    which no collaboration of several computers names."""
    form: Literal["auto", "text", "jsonl", "parquet", "csv"] = "auto"
    """What the files hold; "auto": as their names end, `.gz` and `.zst` after it."""
    column: Word = "text"
    """Column of a table, or key of a JSON line, that holds the text."""
    config: Word = ""
    """Configuration of a hub data set."""
    split: Word = "train"
    """Split of a hub data set."""
    share: Annotated[float, Meta(gt=0, le=1e6)] = 1.0
    """How often a sample is drawn from this source, relative to the others' shares (S000, I.4: 0.23 and 0.77)."""
    index: Annotated[str, Meta(max_length=ADDRESS_LETTERS)] = ""
    """Where the shards are listed with their digests (`core.text.order.shard_index`): in a manifest the name of a blob,
    in a recipe a path relative to the recipe.  Empty: there is no list, so shards cannot be checked, nor shared."""
    filters: Annotated[dict[Word, int | float | str | bool], Meta(max_length=20)] = {}
    """What a document must be to be read (`core.text.order.filters`)."""
    licence: Annotated[str, Meta(max_length=200)] = ""
    """Licence of the text, for people: "CC BY-SA 4.0"."""
    credit: Annotated[str, Meta(max_length=1000)] = ""
    """Who made the text and where it is described, for people."""

    def __post_init__(self) -> None:
        """Refuse what no reader could use, or must not.

        Raises:
            ValueError: so it is, in a sentence; msgspec makes a `ValidationError` of it where it decodes.
        """
        if why := _refusal_of(self.address):
            raise ValueError(why)
        if self.address == MEMBERS and not self.index:
            raise ValueError("Without an index nobody knows which shards the members give each other.")
        if not all(math.isfinite(value) for value in (self.share, *self.filters.values()) if isinstance(value, float)):
            raise ValueError("share and filters must be finite numbers.")

    @property
    def path(self) -> str:
        """The folder or file of a volunteer's computer that it names; empty: none."""
        return "" if self.address in {PYTHON_DOCS, MEMBERS} or "://" in self.address else self.address

    @property
    def host(self) -> str:
        """Who is asked for it over a network, for people: a host's name, or what a bucket is called; empty: nobody."""
        if "://" not in self.address:
            return ""
        parts = urlsplit(self.address)
        return "huggingface.co" if parts.scheme == HUB else parts.hostname or ""


def why_no_server(address: str) -> str:
    """Why nobody can answer at an address that a person has written, in a sentence; empty: somebody may."""
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"}:
        return ""
    labels = (parts.hostname or "").rstrip(".").split(".")
    if all(labels) and labels[-1] not in _RESERVED:
        return ""
    return f"No server can be called {parts.hostname!r:.80}, as {address[:80]!r} says."


DataSources = Annotated[tuple[DataSource, ...], Meta(min_length=1, max_length=SOURCES_MAX)]


def _refusal_of(address: str) -> str:
    """Why an address cannot be used, in a sentence; empty: it can."""
    if "://" not in address:
        return ""
    try:
        parts = urlsplit(address)
        host, secret = parts.hostname, parts.username or parts.password
        _ = parts.port
    except ValueError:
        return f"The address {quoted(address, 80)} cannot be read."
    if parts.scheme not in SCHEMES:
        known = ", ".join(f"{name}://" for name in sorted(SCHEMES))
        return f"An address may begin with {known}; {quoted(address, 80)} does not."
    if not host or not address.isprintable() or " " in address or "::" in address.replace(parts.netloc, "", 1):
        return f"The address {quoted(address, 80)} cannot be read."
    if secret is not None:
        return "An address is public: it must not hold a name or a password. Keep them with: potluck data login"
    if parts.scheme == HUB and not (host == "datasets" and len(parts.path.strip("/").split("/")) in {1, 2}):
        return f"A data set of the hub is written hf://datasets/OWNER/NAME, not {quoted(address, 80)}."
    return ""
