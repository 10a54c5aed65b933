"""The program `python -m app`: the window."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from app.shell.forward import forward
from core.api.places import home_dir

INCOMPLETE = 1
"""A library is missing: a new version that ends so is gone back from (core.updates.launcher)."""
REFUSED = 2
"""Exit code with one sentence on stderr."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Open the window, or say in a sentence why there is none.

    Returns:
        The exit code: 0, or 1 or 2 with a sentence on stderr.
    """
    options = _parser().parse_args(arguments)
    home = (options.home or home_dir()).expanduser().absolute()
    if not options.hidden and forward(home, options.link):
        return 0

    from app.shell.screen import obstacle  # noqa: PLC0415 - a second start ends above, and its person waits for it
    from core.api.joined import without_screen  # noqa: PLC0415 - as above

    sentence = obstacle(os.environ, without_screen(home))
    if sentence is not None:
        return _refuse(sentence)
    try:
        from app.shell import launch  # noqa: PLC0415 - only now it is known that Qt is there
    except ImportError as error:
        _refuse(f"The window cannot be opened: {error}.")
        return INCOMPLETE
    opened = launch.Opened(
        link=options.link, hidden=options.hidden, page=options.page, tell=options.tell, far=options.far
    )
    return launch.run(home, opened, engine=None if options.attach else options.engine)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="potluck", description="The window of Potluck.")
    parser.add_argument("link", nargs="?", default="", metavar="LINK", help="potluck://… of a collaboration to join")
    parser.add_argument("--home", type=Path, help="home directory of the engine")
    parser.add_argument("--hidden", action="store_true", help="open in the tray only, as at login")
    parser.add_argument("--attach", action="store_true", help="never start an engine")
    parser.add_argument("--far", default="", metavar="NAME", help="it attaches to another computer's engine, called so")
    parser.add_argument(
        "--engine", nargs=argparse.REMAINDER, default=[], metavar="WORD", help="further words for an engine; the last"
    )
    developer = parser.add_argument_group("for developers")
    developer.add_argument("--tell", action="store_true", help="print a word once the window shows an engine's state")
    developer.add_argument("--page", default="home", metavar="NAME", help="the page that is open first (default: home)")
    return parser


def _refuse(sentence: str) -> int:
    sys.stderr.write(f"{sentence}\n")
    return REFUSED


if __name__ == "__main__":
    sys.exit(main())
