"""A copy of the model as a state of its own, to which everybody goes back (docs/protocols/states.md).

A state that led to what everybody holds is passed over by those who hold it.  So the copy becomes the **derived root**:
the same numbers and the same ledger, under a name that came from nowhere and has an origin of its own.  It follows from
the copy and the origin alone: all who have the copy make the same file, and moderators sign its digest.
"""

import json
import shutil
from pathlib import Path
from typing import Any, Final

import msgspec

from core.authority.decisions import GoBack
from core.base.content import chunk_digests, root_digest
from core.base.ids import hashed_key
from core.base.problems import Damaged, WireProblem
from core.base.state_header import (
    HEADER_BYTES_MAX,
    LENGTH_BYTES,
    METADATA,
    ORIGIN_BYTES,
    header_bytes,
    header_of,
    names_digest,
)
from core.system.atomic_files import problem_of
from core.system.file_chunks import file_chunks

ALIGNMENT: Final = 8
"""Alignment of the numbers in a state's file, bytes."""
METADATA_KEY: Final = "__metadata__"


def derive_root(source: Path, part: Path, origin: bytes) -> GoBack:
    """Write the derived root of a copy into a file, and say what it is.

    Args:
        source: The copy.
        part: The new file.
        origin: The new origin.

    Raises:
        Damaged: the copy is not what was written.
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    try:
        if not names_digest(source.name.partition("-")[2], root_digest(chunk_digests(file_chunks(source)))):
            raise Damaged(f"The copy {source.name} is not what was written.", hint="Choose another one.")
        epoch, before, lineage = _write_root(source, part, origin)
        return GoBack(epoch=epoch, source=before, root=lineage, digest=root_digest(chunk_digests(file_chunks(part))))
    except WireProblem as error:
        raise Damaged(f"The copy {source.name} is not a state.", hint="Choose another one.") from error
    except OSError as error:
        raise problem_of(error, part) from error


def _write_root(source: Path, part: Path, origin: bytes) -> tuple[int, bytes, bytes]:
    """Write the root's file as a trainer would; returns its epoch, the lineage of the copy, and its own.

    Args:
        source: The copy.
        part: The new file.
        origin: The end of its name.

    Raises:
        OSError: the disk is full.
        WireProblem: the copy is not a state.
    """
    with source.open("rb") as file, part.open("wb") as written:
        head = file.read(HEADER_BYTES_MAX)
        header = header_of(head)
        before = bytes.fromhex(header.lineage)
        lineage = hashed_key(b"roll back", before, origin)[:-ORIGIN_BYTES] + origin
        named = msgspec.structs.replace(header, lineage=lineage.hex(), ancestors="", means="")
        described: dict[str, Any] = json.loads(head[LENGTH_BYTES : header_bytes(head)])
        described[METADATA_KEY] = {METADATA: json.dumps(msgspec.to_builtins(named), sort_keys=True)}
        text = json.dumps(described, separators=(",", ":"), ensure_ascii=False).encode()
        text += b" " * (-len(text) % ALIGNMENT)
        written.write(len(text).to_bytes(LENGTH_BYTES, "little") + text)
        file.seek(header_bytes(head))
        shutil.copyfileobj(file, written)
    return header.epoch, before, lineage
