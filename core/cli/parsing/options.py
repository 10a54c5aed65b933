"""Options and checks that several commands share."""

import argparse
import importlib
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

import resources
from core.base.problems import BadInput, UserProblem, quoted
from core.base.usual_link import LINK_DAYS, LINK_USES
from core.cli.parsing.commands import CommandList

Commands = CommandList


ATTACHED: Final = "POTLUCK_ATTACHED"
"""Set where a home only leads to an engine elsewhere, and keeps nothing."""


class Missing(UserProblem):
    """A part of Potluck is not installed."""

    code = "missing"


def add_home(command: argparse.ArgumentParser) -> None:
    """Add the option `--home` to a command."""
    command.add_argument(
        "--home",
        type=Path,
        default=argparse.SUPPRESS,  # the program's own default stands, also when it is named before the command
        metavar="DIR",
        help="where this engine keeps its things (default: POTLUCK_HOME)",
    )


def add_json(command: argparse.ArgumentParser) -> None:
    """Add the option `--json` to a command."""
    command.add_argument("--json", action="store_true", help="print JSON, one object a line")


def add_hosts(command: argparse.ArgumentParser, *, words: str) -> None:
    """Add the option `--host` of an organiser's command, which can be given several times."""
    meaning = f"{words}; again for a further one"
    command.add_argument("--host", action="append", default=[], metavar="ADDRESS", help=meaning)


def add_lasting(command: argparse.ArgumentParser, *, link: str) -> None:
    """Add the options `--uses` and `--days` of a link."""
    command.add_argument(
        "--uses",
        type=whole(0, 1_000_000),
        metavar="N",
        help=f"number of computers that {link} lets in; 0: any number (default: {LINK_USES})",
    )
    command.add_argument(
        "--days",
        type=whole(0, 36_500),
        metavar="N",
        help=f"how long {link} lasts; 0: without end (default: {LINK_DAYS})",
    )


def add_metrics(command: argparse.ArgumentParser) -> None:
    """Add to a command the options that say where metrics of epochs are written."""
    command.add_argument("--metrics", type=Path, metavar="FILE", help="append metrics of each epoch, a line of JSON")
    command.add_argument("--prometheus", type=Path, metavar="FILE", help="newest metrics for the node exporter (.prom)")
    command.add_argument("--tensorboard", type=Path, metavar="DIR", help="metrics for TensorBoard, if installed")


def text_folder(folder: Path | None) -> Path | None:
    """The folder of text that a person named, absolute.

    Raises:
        BadInput: there is none, or it cannot be read.
    """
    if folder is None:
        return None
    folder = folder.expanduser().absolute()
    if not str(folder).isprintable():
        raise BadInput("The name of this folder has letters that cannot be shown.", hint="Rename the folder.")
    if not folder.is_dir():
        raise BadInput("There is no folder {folder}.", folder, hint="Name a folder that holds text files.")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise BadInput("The folder {folder} cannot be read.", folder, hint="Check its permissions.")
    return folder


def recipe_file(named: str) -> Path:
    """The file of a recipe.

    Args:
        named: The name of one that comes along, or a path.

    Raises:
        BadInput: there is none.
    """
    names = resources.names("recipes")
    path = Path(named).expanduser().absolute()
    if named in names or (named.removesuffix(".toml") in names and not path.is_file()):
        return resources.file("recipes", f"{named.removesuffix('.toml')}.toml")
    if not path.is_file():
        hint = "Name a file, or one of those that come along: {names}."
        raise BadInput("There is no recipe {named}.", quoted(named, 80), ", ".join(names), hint=hint)
    return path


def add_recipe(command: argparse.ArgumentParser, *, words: str) -> None:
    """Add the option `--recipe` to a command."""
    names = ", ".join(resources.names("recipes"))
    command.add_argument("--recipe", default="first-words", metavar="NAME|FILE", help=f"{words}: {names}; or a file")


def whole(minimum: int, maximum: int) -> Callable[[str], int]:
    """A type for argparse: a whole number within limits."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{quoted(text)} is not a whole number") from None
        if not minimum <= number <= maximum:
            raise argparse.ArgumentTypeError(f"{number} is not between {minimum} and {maximum}")
        return number

    return read


def calling(target: str) -> Callable[[argparse.Namespace], int]:
    """A command that is `module:function` of another part of Potluck, imported when it is called.

    The function gets the argparse.Namespace and returns the exit code.
    """
    module_name, _, function_name = target.partition(":")

    def run(args: argparse.Namespace) -> int:
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            name = error.name or module_name
            if name.partition(".")[0] == "core":
                raise
            message = "This command needs {name}, which is not installed."
            raise Missing(message, name, hint="Get it with: potluck training-part get") from error
        return int(getattr(module, function_name)(args))

    return run


def read_moment(said: str) -> float:
    """The moment that a person has written, Unix seconds.

    Raises:
        BadInput: it is not one.
    """
    try:
        return datetime.fromisoformat(said.strip()).timestamp()  # of this computer's zone, if it names none
    except (ValueError, OverflowError, OSError) as error:
        hint = "Write it like this: 2026-11-24, or '2026-11-24 18:30'."
        raise BadInput("{words} is not a date.", quoted(said), hint=hint) from error
