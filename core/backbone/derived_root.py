"""A copy of the model as a state of its own, to which all go back, or with which a collaboration begins.

A state that led to what everybody holds is passed over by those who hold it.  So the copy becomes the **derived root**:
the same numbers and the same ledger, under a name that came from nowhere and has an origin of its own.  It follows from
the copy and the origin alone: all who have the copy make the same file, and moderators sign its digest
(docs/protocols/states.md).
"""

import json
import shutil
from pathlib import Path
from typing import Any, Final

import msgspec

from core.authority.decisions import GoBack
from core.base import state_header
from core.base.content import chunk_digests, root_digest
from core.base.ids import hashed_key
from core.base.problems import Damaged, WireProblem
from core.system.atomic_files import problem_of
from core.system.file_chunks import file_chunks

ALIGNMENT: Final = 8
"""Alignment of the numbers in a state's file, bytes."""
METADATA_KEY: Final = "__metadata__"


def derive_root(source: Path, part: Path, origin: bytes, *, manifest: bytes = b"") -> GoBack:
    """Write the derived root of a copy into a file, and say what it is.

    Args:
        source: The copy.
        part: The new file.
        origin: The new origin.
        manifest: Id of the collaboration that begins with the root; empty: it stays the copy's.

    Raises:
        Damaged: the copy is not what was written.
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    try:
        if not state_header.names_digest(
            source.name.partition("-")[2], root_digest(chunk_digests(file_chunks(source)))
        ):
            raise Damaged("The copy {name} is not what was written.", source.name, hint="Choose another one.")
        epoch, before, lineage = _write_root(source, part, origin, manifest)
        return GoBack(epoch=epoch, source=before, root=lineage, digest=root_digest(chunk_digests(file_chunks(part))))
    except WireProblem as error:
        raise Damaged("The copy {name} is not a state.", source.name, hint="Choose another one.") from error
    except OSError as error:
        raise problem_of(error, part) from error


def new_origin(copy: state_header.StateHeader | None, manifest: bytes, chosen: GoBack | None) -> bytes:
    """The origin of the derived root of a copy, which follows from it, so that a signer can ask for the same root.

    Args:
        copy: What the copy says of itself; None: it is not a state.
        manifest: The collaboration's id.
        chosen: To what everybody has gone back before; None: they have not.
    """
    lineage, before = b"" if copy is None else bytes.fromhex(copy.lineage), b"" if chosen is None else chosen.root
    return hashed_key(b"way back", manifest, lineage, before)[: state_header.ORIGIN_BYTES]


def root_lineage(source: bytes, origin: bytes, *, manifest: bytes = b"") -> bytes:
    """The lineage of the derived root.

    Args:
        source: That of the copy.
        origin: The end of the root's.
        manifest: Id of the collaboration that begins with the root; empty: it stays the copy's.
    """
    hashed = hashed_key(b"go on", source, manifest) if manifest else hashed_key(b"roll back", source, origin)
    return hashed[: -state_header.ORIGIN_BYTES] + origin


def _write_root(source: Path, part: Path, origin: bytes, manifest: bytes) -> tuple[int, bytes, bytes]:
    """Write the root's file as a trainer would; returns its epoch, the lineage of the copy, and its own.

    Args:
        source: The copy.
        part: The new file.
        origin: The end of its name.
        manifest: Id of the collaboration that begins with it; empty: the copy's.

    Raises:
        OSError: the disk is full.
        WireProblem: the copy is not a state.
    """
    with source.open("rb") as file, part.open("wb") as written:
        head = file.read(state_header.HEADER_BYTES_MAX)
        header = state_header.header_of(head)
        before = bytes.fromhex(header.lineage)
        lineage, whose = root_lineage(before, origin, manifest=manifest), manifest.hex() or header.manifest
        named = msgspec.structs.replace(header, lineage=lineage.hex(), manifest=whose, ancestors="", means="")
        described: dict[str, Any] = json.loads(head[state_header.LENGTH_BYTES : state_header.header_bytes(head)])
        described[METADATA_KEY] = {state_header.METADATA: json.dumps(msgspec.to_builtins(named), sort_keys=True)}
        text = json.dumps(described, separators=(",", ":"), ensure_ascii=False).encode()
        text += b" " * (-len(text) % ALIGNMENT)
        written.write(len(text).to_bytes(state_header.LENGTH_BYTES, "little") + text)
        file.seek(state_header.header_bytes(head))
        shutil.copyfileobj(file, written)
    return header.epoch, before, lineage
