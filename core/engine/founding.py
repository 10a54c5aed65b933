"""From a recipe to a charter: text is read and the task prepared in a child, then manifest, keys and files are kept."""

import asyncio
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from core.backbone import charter as charters
from core.backbone.charter import Charter
from core.backbone.invitations import Invitation
from core.backbone.support import check_averaging, check_sources
from core.base.data_source import MEMBERS, DataSource
from core.base.manifest import Manifest, Numbers
from core.base.problems import BadInput
from core.base.recipe import Recipe
from core.engine.text.data_secrets import kept_secrets, secret_names
from core.system.atomic_files import make_directory, read_bounded
from core.system.child_process import own_command
from core.system.reports import answer
from core.text.order.shard_index import INDEX_BYTES_MAX, ShardIndex, read_index

Stage = Callable[[str, float], None]
"""Told what is being prepared, and the share that is done."""


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from a recipe's numbers, by closed formulas."""

    parameters: int
    activation_bytes: int
    """Bytes of one sample that the forward pass keeps for the backward pass."""
    optimizer_bytes: float
    """Bytes that the optimiser keeps for each parameter."""


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """What the preparation of a recipe found out."""

    numbers: Numbers
    blobs: dict[str, str]
    """Paths of files by the names that the task knows them by."""
    notes: tuple[str, ...]
    """Sentences for the organiser about what came out other than the recipe asks for."""
    summary: str
    costs: Costs


async def prepare(
    recipe: Recipe,
    out: Path,
    *,
    called: str,
    stage: Stage,
    log: BinaryIO | None = None,
    start: Path | None = None,
) -> Prepared:
    """Check a recipe, read its text and make what the task needs.

    Args:
        recipe: Its folders absolute.
        out: A folder for the files.
        called: How sentences call the recipe.
        stage: Told what happens.
        log: Where the child's errors go; None: to this process's own.
        start: A folder of `transformers` with the model that the collaboration begins with; None: a new one.

    Raises:
        BadInput: the recipe, the text or that model cannot be used.
        NoSpace: the disk is full.
        WorkerProblem: the child failed.
    """
    _check_averaging(recipe, called)
    check_sources(recipe.sources, called=f"{called}: ")
    for source in recipe.sources:
        if source.index:
            read_index_file(Path(source.index))
    make_directory(out)
    given = ["--recipe", msgspec.json.encode(recipe).decode(), "--called", called, "--out", str(out)]
    given += [] if start is None else ["--start", str(start)]
    command = [*own_command("prepare", "core.training.programs.prepare"), *given, "--with-parent"]
    secrets = await asyncio.to_thread(kept_secrets, secret_names(recipe.sources))
    share = 0.0

    def goes_on(line: dict[str, Any]) -> None:
        nonlocal share
        share = line.get("fraction", share)
        stage(line["text"], share)

    found = await answer(command, ["prepared"], progress=goes_on, log=log, secrets=secrets)
    return msgspec.convert(found, Prepared)


async def check(recipes: Mapping[str, Recipe]) -> None:
    """Hold every number of some recipes against its bounds.

    Args:
        recipes: By how sentences call them.

    Raises:
        BadInput: a number cannot be used.
    """
    words: list[str] = []
    for called, recipe in recipes.items():
        _check_averaging(recipe, called)
        words += ["--recipe", msgspec.json.encode(recipe).decode(), "--called", called]
    await answer([*own_command("prepare", "core.training.programs.prepare"), *words, "--with-parent"], ["checked"])


def _check_averaging(recipe: Recipe, called: str) -> None:
    try:
        check_averaging(recipe.averaging)
    except BadInput as problem:
        raise BadInput("{called}: [averaging] {problem}", called, problem.sentence, hint=problem.advice) from problem


def found(
    recipe: Recipe,
    prepared: Prepared,
    folder: Path,
    *,
    shards: Path | None = None,
    invitation: Invitation | None = None,
    keep: bool = False,
) -> Charter:
    """Write the charter of what was prepared, in a folder where no other one is; the prepared files are deleted.

    Args:
        recipe: What was prepared.
        prepared: What the preparation found out.
        folder: The charter's.
        shards: A folder for shards of the recipe's sources (`core.engine.text.own_text`), which goes into the charter,
            so that no folder is named.  None: the collaboration stays on this computer.
        invitation: Lets people in first; None: `first_invitation`.
        keep: Whether the prepared files stay, for the charter of another recipe with the same `text_work`.

    Raises:
        BadInput: the recipe's averaging is not of this version.
        NoSpace: the disk is full.
    """
    authority = charters.new_authority()
    files = {name: Path(path) for name, path in prepared.blobs.items()}
    sources, indexes = _indexed(recipe.sources)
    if shards is not None:
        sources = tuple(_nowhere(source) for source in sources)
    manifest = Manifest(
        name=recipe.name,
        summary=prepared.summary,
        organiser=recipe.organiser,
        task=recipe.task,
        numbers=prepared.numbers,
        data=_unless_usual(sources),
        blobs=charters.keep_blobs(folder, {**files, **indexes}),
        optimizer=recipe.epochs_optimizer,
        averaging=recipe.trusted_averaging,
        rule=recipe.epochs_rule,
        experts=recipe.experts,
        precision=recipe.precision,
        seed=recipe.seed,
        target_samples=recipe.target_samples,
        evaluate_every=recipe.evaluate_every,
        authority=authority.peer_id.hex(),
    )
    if shards is not None and shards.is_dir():
        shards.replace(folder / charters.SHARDS)
    charter = charters.found(folder, manifest, authority, invitation)
    for out in set() if keep else {path.parent for path in files.values()}:
        shutil.rmtree(out, ignore_errors=True)
    return charter


def read_index_file(path: Path) -> ShardIndex:
    """The index of shards in a file.

    Raises:
        BadInput: there is none, or it cannot be used.
    """
    try:
        data = read_bounded(path, INDEX_BYTES_MAX)
    except ValueError:
        data = b""
    if data is None:
        raise BadInput(
            "There is no index {path}.", path, hint="Cut the text with `potluck data cut`, which writes one."
        )
    return read_index(data, called=str(path))


def _indexed(sources: tuple[DataSource, ...]) -> tuple[tuple[DataSource, ...], dict[str, Path]]:
    """The sources with the names of blobs in the place of their indexes' files, and these files by the names."""
    named: list[DataSource] = []
    files: dict[str, Path] = {}
    for number, source in enumerate(sources):
        name = f"shards-{number}" if source.index else ""
        named.append(msgspec.structs.replace(source, index=name))
        files |= {name: Path(source.index)} if name else {}
    return tuple(named), files


def _nowhere(source: DataSource) -> DataSource:
    """The source as others can read it: shards of this computer come from the members."""
    return msgspec.structs.replace(source, address=MEMBERS) if source.path else source


def _unless_usual(sources: tuple[DataSource, ...]) -> tuple[DataSource, ...] | msgspec.UnsetType:
    """The sources as a manifest has them, which leaves out what it means where it says nothing."""
    return msgspec.UNSET if sources == (DataSource(),) else sources
