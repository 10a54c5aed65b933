"""A list of open collaborations that somebody has signed: what a person sees of it before any of them is asked."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.api.joined import LETTERS_MAX

ENTRIES_MAX: Final = 500
"""Number of entries that are shown; further ones are left out and counted."""
FILE_BYTES_MAX: Final = 1024 * 1024
ADDRESS_LETTERS_MAX: Final = 2000


class DirectoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A collaboration that takes in anybody with the link, as the list describes it."""

    id: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    """Hex digest of the manifest, which the link names too."""
    name: Annotated[str, Meta(min_length=1, max_length=80)]
    summary: Annotated[str, Meta(max_length=300)] = ""
    link: Annotated[str, Meta(max_length=LETTERS_MAX)]


class DirectoryView(msgspec.Struct, frozen=True, kw_only=True):
    """The list as it was read, its signature verified."""

    name: str
    fingerprint: str
    """Fingerprint of the key that signed it, for a person to compare."""
    made: float
    """Unix seconds at which it was signed."""
    entries: tuple[DirectoryEntry, ...] = ()
    left_out: int = 0
    """Number of entries that cannot be used."""
