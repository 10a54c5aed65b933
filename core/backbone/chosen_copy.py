"""The organiser has everybody go back to a copy of the model, also while all are there (docs/protocols/states.md).

A state that led to what everybody holds is passed over by those who hold it.  So the copy becomes a state of its own,
the **derived root**: the same numbers and the same ledger, under a name that came from nowhere.  It is the newest copy
from then on, and the backbone stands on it until the others have come.

The choice is written before its copy is there, under a number that nobody else takes.  Where the command is killed in
between, nobody goes back: a backbone heeds no choice without its copy.
"""

import json
import os
import shutil
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import Any, Final

import msgspec

from core.backbone.kept_states import CHOSEN, KeptCopy, kept_copies, losses_of, next_number, note_loss
from core.base.content import chunk_digests, root_digest
from core.base.ids import hashed_key
from core.base.problems import BadInput, Damaged, WireProblem
from core.base.state_header import (
    HEADER_BYTES_MAX,
    LENGTH_BYTES,
    METADATA,
    header_bytes,
    header_of,
    names_digest,
    state_file_name,
)
from core.system.atomic_files import move_synced, problem_of, write_atomic
from core.system.file_chunks import file_chunks

ALIGNMENT: Final = 8
"""Alignment of the numbers in a state's file, bytes."""
METADATA_KEY: Final = "__metadata__"


def go_back(folder: Path, number: int) -> KeptCopy:
    """Make the derived root of a copy, and choose it; a backbone that runs finds it within seconds.

    Args:
        folder: Folder of the copies, with the lock of those who change them.
        number: The copy's.

    Raises:
        BadInput: there is no such copy.
        Damaged: it is not what was written.
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    copies = {copy.number: copy for copy in kept_copies(folder)}
    if number not in copies:
        raise BadInput(f"There is no copy {number}.", hint="List them with: potluck copies --charter DIR")
    source, made = copies[number].path, next_number(folder)
    part = folder / f".chosen.{os.getpid()}-{token_hex(6)}"  # a backbone that starts deletes what is torn
    try:
        if not names_digest(source.name.partition("-")[2], root_digest(chunk_digests(file_chunks(source)))):
            raise Damaged(f"The copy {source.name} is not what was written.", hint="Choose another one.")
        epoch, lineage = _write_root(source, part, token_bytes(LENGTH_BYTES))
        name = state_file_name(epoch, lineage, root_digest(chunk_digests(file_chunks(part))))
        path = folder / f"{made:06d}-{name}"
        write_atomic(folder / CHOSEN, str(made).encode())
        move_synced(part, path)
    except WireProblem as error:
        raise Damaged(f"The copy {source.name} is not a state.", hint="Choose another one.") from error
    except OSError as error:
        raise problem_of(error, part) from error
    finally:
        part.unlink(missing_ok=True)
    note_loss(folder, made, losses_of(folder).get(number))
    return KeptCopy(made, path)


def _write_root(source: Path, part: Path, origin: bytes) -> tuple[int, bytes]:
    """Write the derived root's file, as a trainer would; returns the epoch and the lineage of its state.

    Args:
        source: The copy.
        part: The new file.
        origin: Makes the name one that no other root has.

    Raises:
        OSError: the disk is full.
        WireProblem: the copy is not a state.
    """
    with source.open("rb") as file, part.open("wb") as written:
        head = file.read(HEADER_BYTES_MAX)
        header = header_of(head)
        lineage = hashed_key(b"roll back", bytes.fromhex(header.lineage), origin)
        named = msgspec.structs.replace(header, lineage=lineage.hex(), ancestors="", means="")
        described: dict[str, Any] = json.loads(head[LENGTH_BYTES : header_bytes(head)])
        described[METADATA_KEY] = {METADATA: json.dumps(msgspec.to_builtins(named), sort_keys=True)}
        text = json.dumps(described, separators=(",", ":"), ensure_ascii=False).encode()
        text += b" " * (-len(text) % ALIGNMENT)
        written.write(len(text).to_bytes(LENGTH_BYTES, "little") + text)
        file.seek(header_bytes(head))
        shutil.copyfileobj(file, written)
    return header.epoch, lineage
