"""All commands by name: which module adds each to the program, and what the list of `potluck --help` says of it.

Only the modules of those commands are imported that the person's words name.
"""

import argparse
import importlib
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple


class CommandEntry(NamedTuple):
    """One line of the list that `potluck --help` prints."""

    module: str
    """Module of `core.cli` whose `add(commands)` adds this command, and others."""
    words: str


COMMANDS: Final[Mapping[str, CommandEntry]] = MappingProxyType(
    {
        "demo": CommandEntry("volunteer.collaborate", "train together with yourself: volunteers on this computer"),
        "engine": CommandEntry("volunteer.collaborate", "take part without a window"),
        "backbone": CommandEntry("volunteer.collaborate", "welcome others, without training"),
        "invite": CommandEntry("volunteer.collaborate", "make a link that lets people in, list all, or withdraw one"),
        "revoke": CommandEntry("volunteer.collaborate", "shut somebody out of a collaboration"),
        "moderate": CommandEntry("organiser.moderate_command", "decide with other moderators, and see what waits"),
        "copies": CommandEntry("volunteer.collaborate", "list the kept copies of the model, or go back to one"),
        "backup": CommandEntry("organiser.keeping_commands", "all of a collaboration in one file, while it runs"),
        "sheet": CommandEntry("organiser.keeping_commands", "a page to print with a secret key under a passphrase"),
        "restore": CommandEntry("organiser.keeping_commands", "bring a collaboration back from a backup"),
        "join": CommandEntry("volunteer.collaborate", "take part in a collaboration"),
        "login": CommandEntry("volunteer.collaborate", "sign in at a collaboration's page, and take part"),
        "leave": CommandEntry("volunteer.collaborate", "take part in a collaboration no longer; its files stay"),
        "choose": CommandEntry("volunteer.collaborate", "give a collaboration that was joined the highest priority"),
        "account": CommandEntry("volunteer.account_command", "your own computers: list, add, end one, sign out"),
        "directory": CommandEntry("volunteer.collaborate", "a signed list of open collaborations: show or make one"),
        "collaborations": CommandEntry(
            "volunteer.collaborate", "the collaborations that were joined, by priority, and which one is served"
        ),
        "found": CommandEntry("organiser.recipe_commands", "make a collaboration of a recipe"),
        "host": CommandEntry("organiser.recipe_commands", "have this computer's Potluck run a backbone, or not"),
        "where": CommandEntry("organiser.recipe_commands", "from where others could reach a backbone of this computer"),
        "plan": CommandEntry("organiser.recipe_commands", "what a recipe takes on this computer"),
        "train": CommandEntry("organiser.recipe_commands", "train a recipe on this computer, without others"),
        "data": CommandEntry("organiser.data", "look at text, cut it into shards, check them"),
        "tokenizer": CommandEntry("organiser.data", "train a tokenizer"),
        "status": CommandEntry("engine.control", "what the engine does, and why"),
        "quit": CommandEntry("engine.control", "stop the engine"),
        "show": CommandEntry("engine.control", "bring the window to the front"),
        "experts": CommandEntry("engine.experts", "who hosts which expert of the model, and how old its copies are"),
        "leaderboard": CommandEntry("engine.control", "who gave how much"),
        "log": CommandEntry("engine.control", "what happened"),
        "pause": CommandEntry("engine.pausing", "stop contributing; training stands still within a second"),
        "resume": CommandEntry("engine.pausing", "contribute again"),
        "people": CommandEntry("engine.ledger", "who is in a collaboration, for its organiser"),
        "requests": CommandEntry("engine.ledger", "who asks to be let in, and your answer"),
        "receipts": CommandEntry("engine.ledger", "what the members of past rounds signed"),
        "export": CommandEntry("model.model", "write the model as a folder that loads elsewhere"),
        "try": CommandEntry("model.model", "fill the blanks of a text with the model, or go on with a text"),
        "settings": CommandEntry("engine.settings", "what Potluck may use, and when: rules, limits, hours, port"),
        "startup": CommandEntry("engine.startup", "what starts when you log in"),
        "remote": CommandEntry("engine.remote", "the window or a command for another computer of yours, through SSH"),
        "devices": CommandEntry("engine.devices", "what training can run on here"),
        "training-part": CommandEntry("engine.training_part", "torch and what comes with it: get, show or remove it"),
        "update": CommandEntry("engine.update", "look for a newer version and take it, or choose whether to"),
        "doctor": CommandEntry("engine.doctor", "is everything here that Potluck needs?"),
    }
)


class CommandList:
    """Takes the parsers of commands, each with its words of the list.

    Args:
        parsers: What argparse adds them with.
    """

    def __init__(self, parsers: Any) -> None:
        self._parsers = parsers

    def add_parser(self, name: str, **options: Any) -> argparse.ArgumentParser:
        """Return the parser of a command, to which its module adds arguments.

        Args:
            name: One of `COMMANDS`.
            options: As `argparse.ArgumentParser` takes them.
        """
        parser: argparse.ArgumentParser = self._parsers.add_parser(name, help=COMMANDS[name].words, **options)
        return parser


def add_commands(top: argparse.ArgumentParser, named: Collection[str]) -> None:
    """Add all commands to the program; those that are not named have no arguments.

    Args:
        top: The program's parser.
        named: Words of the person, commands among them.
    """
    commands = CommandList(top.add_subparsers(title="commands", metavar="COMMAND", prog=top.prog))
    wanted = {COMMANDS[word].module for word in named if word in COMMANDS}
    added = set[str]()
    for name, entry in COMMANDS.items():
        if entry.module not in wanted:
            commands.add_parser(name)
        elif entry.module not in added:
            added.add(entry.module)
            importlib.import_module(f"core.cli.{entry.module}").add(commands)
