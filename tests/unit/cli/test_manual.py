"""docs/commands.md is what the parsers say.  `python tests/unit/cli/test_manual.py` writes it anew."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from core.cli.parsing.commands import COMMANDS
from core.cli.parsing.parser import Parser
from core.cli.program import parser

PAGE: Final = Path(__file__).parents[3] / "docs" / "commands.md"
HEAD: Final = """# Commands

Made of the parsers by `python tests/unit/cli/test_manual.py`; a test sees that it is true. `potluck COMMAND --help`
says the same. Commands of an engine take `--home DIR`, where it keeps its things; most take `--json`, for programs.

| command | what it does |
|---|---|
"""
EVERYWHERE: Final = {"help", "home", "json"}


def manual() -> str:
    """Return the whole page."""
    commands = _subcommands(parser())
    index = "".join(f"| [`{name}`](#potluck-{name}) | {COMMANDS[name].words} |\n" for name in commands)
    sections = (part for name, one in commands.items() for part in _section(f"potluck {name}", one, depth=2))
    return HEAD + index + "".join(sections)


def _section(name: str, one: Parser, *, depth: int) -> Iterator[str]:
    yield f"\n{'#' * depth} {name}\n"
    if one.description:
        yield f"\n{' '.join(one.description.split())}\n"
    below = _subcommands(one)
    rows = [row for action in one.arguments if (row := _row(action, one))]
    if rows:
        yield "\n| | |\n|---|---|\n" + "".join(rows)
    if one.epilog:
        yield f"\n```\n{one.epilog.strip()}\n```\n"
    for word, inner in below.items():
        yield from _section(f"{name} {word}", inner, depth=depth + 1)


def _row(action: argparse.Action, one: Parser) -> str:
    if action.dest in EVERYWHERE or action.help == argparse.SUPPRESS or isinstance(action.choices, dict):
        return ""
    choices = "|".join(map(str, action.choices)) if action.choices and len(list(action.choices)) < 10 else ""
    metavar = action.metavar if isinstance(action.metavar, str) else " ".join(action.metavar or ())
    value = "" if action.nargs == 0 else metavar or choices or action.dest.upper()
    words = (action.help or "") % {**vars(action), "prog": one.prog}
    name = " ".join([*action.option_strings[-1:], value]).strip()
    return f"| `{_cell(name)}` | {_cell(words)} |\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _subcommands(one: Parser) -> dict[str, Parser]:
    return next((action.choices for action in one.arguments if isinstance(action.choices, dict)), {})


def test_page_of_commands_is_what_the_parsers_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == manual(), "python tests/unit/cli/test_manual.py writes it anew"


if __name__ == "__main__":
    PAGE.write_text(manual(), encoding="utf-8", newline="\n")
