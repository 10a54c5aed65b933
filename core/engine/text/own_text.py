"""Text on the organiser's own computer, made into shards that the backbone gives to members.

Nobody else has the folder that a recipe names, so it is cut, or, where that was done already, its shards are taken as
they are.  They lie in the charter; the manifest names their index, and no place of the organiser's computer.
"""

import asyncio
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from core.api.data_state import DataCode
from core.base.data_source import DataSource
from core.base.problems import BadInput
from core.base.recipe import Recipe
from core.engine.founding import Stage, read_index_file
from core.system.atomic_files import make_directory, problem_of
from core.system.child_process import own_command
from core.system.reports import answer
from core.text.order.shard_index import INDEX_FILE
from core.text.sources.folder import Folder
from core.text.sources.requests import CutRequest
from core.text.sources.source import SourceStalled, SourceTrouble
from core.text.sources.texts import problem_of_trouble

SHARD_BYTES: Final = 4_000_000
"""Size of a shard as it lies on the disk, compressed: a newcomer waits for one before it computes."""
_ABOUT: Final = frozenset({"readme", "license", "licence"})
"""First words of the names of files that speak of the shards beside them."""


@dataclass(frozen=True, slots=True)
class OwnText:
    """A recipe whose text is ready to be given to members.

    Attributes:
        recipe: Names the shards in the place of folders.
        cuts: What cutting each folder has found, as `core.training.programs.cut_text.SourceCut`.
    """

    recipe: Recipe
    cuts: tuple[dict[str, Any], ...]


async def own_text(recipe: Recipe, out: Path, *, stage: Stage) -> OwnText:
    """Cut the folders of a recipe, and bring together the shards that were cut before.

    Args:
        recipe: Its folders absolute.
        out: A folder for the shards: those of source N lie in its folder N.
        stage: Told what is cut, and the share that is done.

    Raises:
        BadInput: a folder holds no text, or has changed while it was cut; shards are missing.
        NoSpace: the disk is full.
        WorkerProblem: the child failed.
    """
    sources: list[DataSource] = []
    cuts: list[dict[str, Any]] = []
    for place, source in enumerate(recipe.sources):
        folder = out / str(place)
        index = await asyncio.to_thread(_index_of, source)
        if index is not None:
            whole = await asyncio.to_thread(_bring, index, folder)
            if source.path and not whole:
                message = "Some of the shards that {index} lists do not lie beside it, or have changed."
                raise BadInput(message, index, hint="Bring them back.")
        elif source.path:
            cuts.append(await _cut(source, folder, stage))
        if source.path:
            given = DataSource(address=str(folder), index=str(folder / INDEX_FILE))
            rights = {"share": source.share, "licence": source.licence, "credit": source.credit}
            sources.append(msgspec.structs.replace(given, **rights))
        else:
            sources.append(source)
    changed = tuple(sources) != recipe.sources
    return OwnText(recipe.with_sources(tuple(sources)) if changed else recipe, tuple(cuts))


def check_folder(folder: Path) -> None:
    """Look whether a folder holds text at all, before anybody waits for the cut.

    Raises:
        BadInput: it does not, or it is not clear which of its files are the text.
    """
    try:
        there = _index_of(DataSource(address=str(folder))) is not None or Folder(folder).holds_text()
    except SourceTrouble as trouble:
        raise problem_of_trouble(trouble) from trouble
    if not there:
        raise problem_of_trouble(SourceStalled(DataCode.MISSING, name=str(folder)))


def _index_of(source: DataSource) -> Path | None:
    """The index of a source's shards on this computer; None: it was not cut.

    Raises:
        BadInput: other files of text lie beside the shards, and nobody has said which of them are the text.
    """
    if source.index:
        return Path(source.index)
    folder = Path(source.path)
    if not source.path or not (folder / INDEX_FILE).is_file():
        return None
    index = read_index_file(folder / INDEX_FILE)
    known = {INDEX_FILE, *(index.shard(number).name for number in range(len(index)))}
    names = (file.name for file in Folder(folder).found().files if not _speaks_of_others(file.name))
    if other := next((name for name in names if name not in known), ""):
        message = "{folder} holds shards that were cut earlier, and other files, such as {other}."
        hint = "Move those away; or move {index_file} and the shards away, so that the others are cut."
        raise BadInput(message, folder, other, INDEX_FILE, hint=hint)
    return folder / INDEX_FILE


def _speaks_of_others(name: str) -> bool:
    """Whether a file is a readme or a licence, in whatever language or form: README.bn.md, LICENSE-MIT."""
    return re.split(r"[._-]", Path(name).name.lower())[0] in _ABOUT


def _bring(index_file: Path, folder: Path) -> bool:
    """Link the shards that lie beside an index into a folder, or copy them where the disk knows no links.

    Returns:
        False: not all of them lie there, and none was brought.

    Raises:
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    index = read_index_file(index_file)
    shards = [index_file.parent / index.shard(number).name for number in range(len(index))]
    if not all(path.is_file() and path.stat().st_size == index.shard(at).size for at, path in enumerate(shards)):
        return False
    make_directory(folder)
    try:
        for path in shards:
            link_or_copy(path, folder / path.name)
        shutil.copyfile(index_file, folder / INDEX_FILE)
    except OSError as error:
        raise problem_of(error, folder) from error
    return True


def link_or_copy(path: Path, to: Path) -> None:
    """Link a file to another place, or copy it where the disk knows no links."""
    try:
        os.link(path, to)
    except OSError:
        shutil.copyfile(path, to)


async def _cut(source: DataSource, folder: Path, stage: Stage) -> dict[str, Any]:
    asked = CutRequest(source=source, out=str(folder), ending="jsonl.zst", shard_bytes=SHARD_BYTES)
    words = ["--asked", msgspec.json.encode(asked).decode(), "--with-parent"]
    command = [*own_command("data-work", "core.training.programs.data"), *words]
    return await answer(command, ("cut",), progress=lambda line: stage(line["text"], line.get("fraction", 0.0)))
