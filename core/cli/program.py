"""From words to a command, and from its end to an exit code."""

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType

from core.api.places import home_dir
from core.base.problems import Problem
from core.cli import window
from core.cli.parsing.commands import COMMANDS, add_commands
from core.cli.parsing.options import Missing, add_home
from core.cli.parsing.parser import Parser
from core.cli.printing.say import say_problem

EXIT_OK = 0
EXIT_INCOMPLETE = 1
"""A library is missing: a new version that ends so is gone back from (core.updates.launcher)."""
EXIT_PROBLEM = 2
EXIT_INTERRUPTED = 130

SCHEME = "potluck"
"""Scheme of links; it repeats that of core.backbone.link, which is too much to load for each command."""
PARTS: Mapping[str, str] = MappingProxyType(
    {
        "alone": "core.training.programs.alone",
        "app": "app.__main__",
        "costs": "core.tasks.costs",
        "data-work": "core.training.programs.data",
        "experts-worker": "core.training.experts.__main__",
        "hub-split": "core.text.sources.hub_split",
        "mirror": "core.backbone.mirror_work",
        "prepare": "core.training.programs.prepare",
        "reader": "core.reading.__main__",
        "senses": "core.schedule.senses.__main__",
        "site": "core.site.__main__",
        "site-requests": "core.site.requests",
        "use-model": "core.training.programs.use",
        "worker": "core.training.__main__",
    }
)
"""Processes of Potluck that only Potluck starts: in a frozen build all are this one program.  Their modules have a
`main(argv: list[str]) -> int | None`."""


def parser(named: Collection[str] = tuple(COMMANDS), link: str = "") -> Parser:
    """The parser of all commands of `potluck`.

    Args:
        named: Words among which the commands are whose arguments it has to know.
        link: A link that was clicked, for the window.
    """
    top = Parser(
        prog="potluck",
        description="Train one neural network together, with the idle computers of volunteers.",
        epilog="Without a command the window opens.",
    )
    top.add_argument("--version", action="store_true", help="print the version and end")
    top.add_argument("--hidden", action="store_true", help="open the window in the tray only, as at login")
    add_home(top)
    top.set_defaults(run=_without_command, json=False, home=None, link=link)
    add_commands(top, named)
    return top


def run(argv: Sequence[str]) -> int:
    """Run one command of `potluck`, or one of its `PARTS`.

    Returns:
        The exit code, as `run_with` has it.
    """
    if argv and argv[0] in PARTS:
        return int(importlib.import_module(PARTS[argv[0]]).main(list(argv[1:])) or 0)
    link, words = _clicked(argv)
    return run_with(lambda: parser(words, link), words)


def run_with(made: Callable[[], Parser], words: Sequence[str]) -> int:
    """Run the command that a parser finds in the words.

    Args:
        made: Makes the parser, whose commands set `run` and `json`.
        words: The command line without the program's name.

    Returns:
        0 when all is well, 1 when a library is missing, 2 when there is a problem that a person can mend (one sentence
        on stderr says which), 130 when it was interrupted.
    """
    json, home = "--json" in words, None  # until the words are understood
    try:
        args = made().parse_args(words)
        json, home = args.json, getattr(args, "home", None)
        if args.run is not _without_command:  # a second window forwards its link and ends: it loads next to nothing
            from core.parts import part  # noqa: PLC0415

            part.use(home or home_dir())
        code = int(args.run(args))
        sys.stdout.flush()
    except Problem as problem:
        say_problem(problem, json=json)
        return EXIT_INCOMPLETE if isinstance(problem, Missing) else EXIT_PROBLEM
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has closed it; nothing more may be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except Exception as error:
        from core.api.crash_report import write_report  # noqa: PLC0415 - a mistake is rare

        write_report(
            (home or home_dir()).expanduser().absolute(),
            next((word for word in words if word in COMMANDS), "command"),
            error,
        )
        raise
    return code


def _without_command(args: argparse.Namespace) -> int:
    """Open the window, or print the version."""
    if args.version:
        print(_version())
        return EXIT_OK
    return window.run(args)


def _clicked(argv: Sequence[str]) -> tuple[str, Sequence[str]]:
    """A link in the place of a command, as a desktop gives it that was clicked; and the other words."""
    if argv and argv[-1].startswith(f"{SCHEME}:") and "join" not in argv and "--join" not in argv:
        return argv[-1], argv[:-1]
    return "", argv


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - only needed here

    try:
        return f"potluck {version('potluck')}"
    except PackageNotFoundError:
        return "potluck (from a source folder)"
