"""The options of `run`, which are those of `potluck demo`: a wrong one is refused before anything is installed.

They are defined in core/cli/collaborate.py, which needs the standard library only, and so does all that it imports.
"""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

from steps import ROOT, SetupProblem

PROGRAM = "python3 packaging/bootstrap.py run"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        sentence = f"{message[:1].upper()}{message[1:]}. Nothing was installed or started."
        raise SetupProblem(f"{sentence} See what can be said: {PROGRAM} --help")


def read_demo_options(words: list[str]) -> argparse.Namespace:
    """What `potluck demo` will make of these words; `--help` prints its help and ends the process.

    Raises:
        SetupProblem: it would refuse them.
    """
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    # Of this checkout, wherever the person stands.
    from core.cli.collaborate import add_demo_options, refusal_of_demo  # noqa: PLC0415

    parser = _Parser(
        prog=PROGRAM,
        description="Set Potluck up in .venv, then run `potluck demo` with these options.",
        epilog="Before all of these may stand --torch LABEL: a certain build of torch, as in 2.13.0+LABEL.",
    )
    add_demo_options(parser)
    options = parser.parse_args(words, argparse.Namespace(home=None))
    if refusal := refusal_of_demo(options):
        raise SetupProblem(f"{refusal} Nothing was installed or started.")
    return options
