"""The options of `run`, which are those of `potluck demo`: a wrong one is refused before anything is installed.

They are defined in core/cli/volunteer/collaborate.py, which needs the standard library only, and so does all that it
imports.
"""

from __future__ import annotations

import argparse
import sys

from steps import ROOT, SetupProblem

PROGRAM = "python3 packaging/bootstrap.py run"


def read_demo_options(words: list[str]) -> argparse.Namespace:
    """What `potluck demo` will make of these words; `--help` prints its help and ends the process.

    Raises:
        SetupProblem: it would refuse them.
    """
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    # Of this checkout, wherever the person stands.
    from core.base.problems import BadInput  # noqa: PLC0415
    from core.cli.parsing.parser import Parser  # noqa: PLC0415
    from core.cli.volunteer.collaborate import add_demo_options, refusal_of_demo  # noqa: PLC0415

    parser = Parser(
        prog=PROGRAM,
        description="Set Potluck up in .venv, then run `potluck demo` with these options.",
        epilog="Before all of these may stand --torch LABEL: a certain build of torch, as in 2.13.0+LABEL, or plain.",
    )
    add_demo_options(parser)
    try:
        options = parser.parse_args(words, argparse.Namespace(home=None))
    except BadInput as problem:
        raise SetupProblem(f"{problem.message} Nothing was installed or started. {problem.hint}") from problem
    if refusal := refusal_of_demo(options):
        raise SetupProblem(f"{refusal} Nothing was installed or started.")
    return options
