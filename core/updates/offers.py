"""The list of versions as its publisher signs it, and which of them one installation takes."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.api.program_folder import VERSION_PATTERN, numbers, this_system

LIST: Final = "releases.json"
"""The signed file that names all versions and their archives."""
ARCHIVE: Final = ".tar.xz"
BYTES_MAX: Final = 4 * 10**9
"""Upper bound on an archive, and on what it unpacks to."""


class OfferedArchive(msgspec.Struct, frozen=True, kw_only=True):
    """A version's files for one kind of system."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._+-]{1,200}\.tar\.xz$")]
    """As the signed metadata know it."""
    unpacked_bytes: Annotated[int, Meta(ge=0, le=BYTES_MAX)]


class OfferedVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version, what is new in it, and who takes it by now."""

    version: Annotated[str, Meta(pattern=VERSION_PATTERN, max_length=30)]
    share: Annotated[float, Meta(ge=0, le=1)] = 1.0
    """Part of all installations that take it."""
    news: Annotated[list[Annotated[str, Meta(max_length=2000)]], Meta(max_length=100)] = []
    archives: Annotated[dict[Annotated[str, Meta(max_length=40)], OfferedArchive], Meta(max_length=20)] = {}
    """By kind of system (`core.api.program_folder.this_system`)."""


class VersionList(msgspec.Struct, frozen=True):
    """What `releases.json` says: each version that is offered, the newest last."""

    releases: Annotated[list[OfferedVersion], Meta(max_length=200)] = []


def place(installation: str, version: str) -> float:
    """Where an installation stands among all, 0 to 1; for each version elsewhere.

    It follows from a number that the installation has drawn and never tells, so nobody knows who is who.  A version
    that is given to a share of all is taken by those whose place is below it, so raising the share takes nobody out.

    Args:
        installation: The number that it has drawn.
        version: The version.
    """
    digest = hashlib.sha256(f"{installation} {version}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def best(
    offered: Sequence[OfferedVersion], *, installation: str, above: str, is_bad: Callable[[str], bool]
) -> OfferedVersion | None:
    """The version that an installation takes; None: it stays with what it has.

    Args:
        offered: All that the publisher names.
        installation: The number that this installation has drawn.
        above: The newest version that is here.
        is_bad: Whether a version did not come up here.
    """
    taken = [
        one
        for one in offered
        if numbers(one.version) > numbers(above)
        and this_system() in one.archives
        and place(installation, one.version) < one.share
        and not is_bad(one.version)
    ]
    return max(taken, key=lambda one: numbers(one.version), default=None)
