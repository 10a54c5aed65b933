"""The header of a state file: what the state is called, and who gave what up to there.

A state file is a safetensors file: 8 bytes of length, little-endian, and that many bytes of JSON, which hold the name.
"""

import re
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.base.bounds import Epoch
from core.base.content import DIGEST_BYTES
from core.base.problems import WireProblem
from core.base.wire import Schema

METADATA: Final = "potluck"
"""The key under which the name stands in the file's metadata."""
LENGTH_BYTES: Final = 8
LEDGER_BYTES_MAX: Final = 800 * 1024
"""Upper bound on a ledger, bytes: all its rows and points with the greatest numbers.  It fits a frame to the engine."""
MARK_BYTES: Final = 8
"""First bytes of a state's lineage, by which reports and files name its ancestors."""
ORIGIN_BYTES: Final = 8
"""Last bytes of a state's lineage: they stay as they are from state to state, and change when all go back to a copy."""
ANCESTORS_MAX: Final = 16
"""Upper bound on the ancestors that a state's file names, and on the means."""
HEADER_BYTES_MAX: Final = 4 * 1024 * 1024
"""Upper bound on a header that is read from others, bytes: the largest ledger has 1.1 million letters."""


_FILE_NAME: Final = re.compile(r"^state-(\d{8,})-[0-9a-f]{8}(?:-([0-9a-f]{32}))?\.safetensors$")
"""Epoch, beginning of the lineage, and of the file's digest, which earlier versions did not write."""
_Digest = Annotated[str, Meta(pattern=f"^([0-9a-f]{{2}}){{0,{DIGEST_BYTES}}}$")]


class StateHeader(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a state is called, as the file tells it; hex digits.  Fields that a newer version wrote are ignored."""

    epoch: Epoch
    lineage: _Digest
    manifest: _Digest
    format: Annotated[int, Meta(ge=0, le=2**31)] = 1
    ledger: Annotated[bytes, Meta(max_length=LEDGER_BYTES_MAX)] = b""
    """Who gave what, as far as this state goes."""
    ancestors: Annotated[str, Meta(pattern=f"^([0-9a-f]{{{2 * MARK_BYTES}}}){{0,{ANCESTORS_MAX}}}$")] = ""
    """Marks of the states that led to it, the nearest first; empty: the first one, or an earlier version wrote it."""
    means: Annotated[str, Meta(pattern=f"^([0-9a-f]{{{2 * DIGEST_BYTES}}}){{0,{ANCESTORS_MAX}}}$")] = ""
    """Root digests of the files of the means that led to it from there, the nearest first, as far as they can be kept:
    with them a peer that holds one of these states makes this one (docs/protocols/epoch.md)."""


class _File(msgspec.Struct, frozen=True):
    metadata: Annotated[dict[str, str], Meta(max_length=16)] = msgspec.field(name="__metadata__", default_factory=dict)


STATE_HEADER: Final = Schema(StateHeader, named="the name of a state", bytes_max=HEADER_BYTES_MAX, form="json")
_FILE: Final = Schema(_File, named="the header of a state file", bytes_max=HEADER_BYTES_MAX, form="json")


def state_file_name(epoch: int, lineage: bytes, root: bytes) -> str:
    """The name of a state's file, by which a bit is noticed that the disk has changed."""
    return f"state-{epoch:08d}-{lineage.hex()[:8]}-{root.hex()[:32]}.safetensors"


def epoch_of(file_name: str) -> int | None:
    """The epoch of a state's file; None: it has not the name of one."""
    named = _FILE_NAME.match(file_name)
    return None if named is None else int(named[1])


def names_digest(file_name: str, root: bytes) -> bool:
    """Whether a file's name says that it has this root digest, as far as it says anything."""
    named = _FILE_NAME.match(file_name)
    return named is None or root.hex().startswith(named[2] or "")


def header_bytes(head: bytes) -> int:
    """How many bytes from the file's beginning its header takes, as the first 8 say."""
    return LENGTH_BYTES + int.from_bytes(head[:LENGTH_BYTES], "little")


def header_of(head: bytes) -> StateHeader:
    """The header in the beginning of a state file that another peer gave.

    Raises:
        WireProblem: it is not a header, or not whole.
    """
    end = header_bytes(head)
    if not LENGTH_BYTES <= end <= len(head):
        raise WireProblem("not the whole header of a state file")
    return STATE_HEADER.decode(_FILE.decode(head[LENGTH_BYTES:end]).metadata.get(METADATA, "").encode())
