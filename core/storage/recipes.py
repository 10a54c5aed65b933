"""Recipes as files: those that come along, and a person's own."""

import hashlib
import platform
from pathlib import Path
from typing import Final

import msgspec

import resources
from core.base.problems import BadInput
from core.base.recipe import PYTHON_DOCS, RECIPE_BYTES_MAX, Recipe, read_recipe
from core.system.atomic_files import read_bounded

DEFAULT_RECIPE: Final = resources.file("recipes", "first-words.toml")


def open_recipe(path: Path, *, text: Path | None = None) -> Recipe:
    """The recipe in a file.

    Args:
        path: The file.
        text: A folder in the place of the recipe's own; absolute.

    Raises:
        BadInput: it is missing or cannot be used; the sentence names the file, the key and what is allowed.
    """
    try:
        data = read_bounded(path, RECIPE_BYTES_MAX)
    except ValueError as error:
        raise BadInput(f"{path.name} is too large for a recipe.") from error
    if data is None:
        raise BadInput(f"There is no file {path}.")
    recipe = read_recipe(data, called=path.name)
    if text is not None:
        return msgspec.structs.replace(recipe, text=str(text))
    if recipe.text == PYTHON_DOCS:
        return recipe
    return msgspec.structs.replace(recipe, text=str((path.parent / Path(recipe.text).expanduser()).absolute()))


def folder_name(path: Path, recipe: Recipe) -> str:
    """A name for a folder of this recipe's: another one with any other number or text."""
    mark = hashlib.sha256(msgspec.json.encode(recipe, order="deterministic")).hexdigest()[:12]
    if recipe.text == PYTHON_DOCS:
        mark += f"-python-{platform.python_version()}"
    stem = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in path.stem[:40])
    return f"{stem}-{mark}"
