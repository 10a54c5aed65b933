"""Recipes as files: those that come along, and a person's own."""

import hashlib
import platform
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

import resources
from core.base.data_source import MEMBERS, PYTHON_DOCS, DataSource
from core.base.manifest import Number
from core.base.problems import BadInput
from core.base.recipe import RECIPE_BYTES_MAX, Recipe, read_recipe
from core.system.atomic_files import read_bounded

DEFAULT_RECIPE: Final = resources.file("recipes", "first-words.toml")


def called(path: Path, changes: Mapping[str, Number] = MappingProxyType({})) -> str:
    """How sentences call a recipe with some values changed."""
    return f"{path.name} with {told(changes)}" if changes else path.name


def told(changes: Mapping[str, Number]) -> str:
    """Changed values in a few words, as they are given to `--set`."""
    return ", ".join(f"{key}={value}" for key, value in changes.items())


def open_recipe(
    path: Path, *, text: Path | None = None, changes: Mapping[str, Number] = MappingProxyType({})
) -> Recipe:
    """The recipe in a file.

    Args:
        path: The file.
        text: A folder in the place of the recipe's own; absolute.
        changes: Values in the place of the file's, by dotted keys.

    Raises:
        BadInput: it is missing or cannot be used; the sentence names the file, the key and what is allowed.
    """
    try:
        data = read_bounded(path, RECIPE_BYTES_MAX)
    except ValueError as error:
        raise BadInput("{name} is too large for a recipe.", path.name) from error
    if data is None:
        raise BadInput("There is no file {path}.", path)
    recipe = read_recipe(data, called=called(path, changes), changes=changes)
    if recipe.tokenizer_file:
        recipe = msgspec.structs.replace(recipe, tokenizer=_beside(recipe.tokenizer_file, path.parent))
    if text is not None:
        return recipe.with_sources((DataSource(address=str(text)),))
    if not any(source.path or source.index for source in recipe.sources):
        return recipe
    return recipe.with_sources(tuple(_absolute(source, path.parent) for source in recipe.sources))


def folder_name(path: Path, recipe: Recipe, *, start: bytes = b"") -> str:
    """A name for a folder of this recipe's: another one with any other number or text.

    Args:
        path: The recipe's file.
        recipe: The recipe.
        start: What tells the model that it begins with from others; empty: a new one.
    """
    mark = hashlib.sha256(msgspec.json.encode(recipe, order="deterministic") + start).hexdigest()[:12]
    if any(source.address == PYTHON_DOCS for source in recipe.sources):
        mark += f"-python-{platform.python_version()}"
    stem = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in path.stem[:40])
    return f"{stem}-{mark}"


def _absolute(source: DataSource, folder: Path) -> DataSource:
    """A source whose folder and index, seen from the recipe's own, are named by their absolute paths.

    Shards without an address lie beside their index.
    """
    index = _beside(source.index, folder) if source.index else ""
    if source.address == MEMBERS:
        return msgspec.structs.replace(source, address=str(Path(index).parent), index=index)
    address = _beside(source.path, folder) if source.path else source.address
    return msgspec.structs.replace(source, address=address, index=index)


def _beside(named: str, folder: Path) -> str:
    return str((folder / Path(named).expanduser()).absolute())
