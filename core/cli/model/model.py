"""Commands that use the model of a collaboration: `export`, `try`."""

import argparse
from pathlib import Path
from typing import Final

from core.cli.parsing.options import Commands, add_home, add_json, calling

REPOSITORY: Final = "OWNER/NAME"


def add(commands: Commands) -> None:
    """Add the commands to the program."""
    export = commands.add_parser(
        "export",
        description="Write the newest model on this computer: config.json, model.safetensors, the tokenizer, and a "
        "README.md that says what it is, who trained it and how to load it: any program that has transformers does.  "
        "Where the model has experts, Potluck loads it; an engine that runs first fetches those that live elsewhere.",
    )
    export.add_argument("folder", type=Path, metavar="DIR", help="where to write it")
    export.add_argument("--force", action="store_true", help="replace an earlier export")
    export.add_argument(
        "--incomplete", action="store_true", help="a model with experts: also where some of them are missing"
    )
    export.add_argument("--progress", action="store_true", help="print a line of JSON, too, for each step on the way")
    export.add_argument(
        "--push",
        metavar=REPOSITORY,
        help="send it to the Hugging Face hub too, as a private model; the token comes from HF_TOKEN, "
        "or from the keyring (potluck, hub-token)",
    )
    _add_which(export)
    export.set_defaults(run=calling("core.cli.model.export:run"))
    attempt = commands.add_parser(
        "try",
        description="Ask the newest model on this computer. A model that fills blanks gives the five best words for "
        "each, with their probabilities; one that writes goes on with the text.",
    )
    words = 'for example: "People bring their ___ computers"; -: the first line of stdin'
    attempt.add_argument("text", metavar="TEXT", help=words)
    attempt.add_argument("--step", type=int, metavar="N", help="the model after this step, where it is kept")
    attempt.add_argument(
        "--stay",
        action="store_true",
        help='for programs: answer each line of stdin, such as {"text": "a ___ here", "step": 40}, until that ends',
    )
    _add_which(attempt)
    attempt.set_defaults(run=calling("core.cli.model.ask:run"))


def _add_which(command: argparse.ArgumentParser) -> None:
    add_home(command)
    add_json(command)
    which = command.add_mutually_exclusive_group()
    which.add_argument(
        "--collaboration", metavar="NAME", help="its name, or how its id begins (default: the one this computer is in)"
    )
    which.add_argument("--charter", type=Path, metavar="DIR", help="the collaboration that you organise in this folder")
