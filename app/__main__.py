"""The program `python -m app`: the window."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from app.forward import forward
from app.screen import obstacle
from core.api.places import home_dir

REFUSED = 2
"""Exit code with one sentence on stderr."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Open the window, or say in a sentence why there is none.

    Returns:
        The exit code: 0, or 2 with a sentence on stderr.
    """
    options = _parser().parse_args(arguments)
    home = (options.home or home_dir()).expanduser().absolute()
    if options.screenshot is not None:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    elif not options.hidden and forward(home, options.link):
        return 0
    sentence = obstacle(os.environ)
    if sentence is not None:
        return _refuse(sentence)
    try:
        from app import launch  # noqa: PLC0415 - only now it is known that Qt is there
    except ImportError as error:
        return _refuse(f"The window cannot be opened: {error}.")
    if options.screenshot is not None:
        return _refuse(why) if (why := launch.screenshot(options)) else 0
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
    developer.add_argument("--screenshot", type=Path, metavar="FILE", help="draw the window into a picture and end")
    developer.add_argument("--snapshot", type=Path, metavar="FILE", help="what it shows: a snapshot as JSON")
    developer.add_argument("--reports", type=Path, metavar="FILE", help="and answers for its pages, as JSON by method")
    developer.add_argument("--tell", action="store_true", help="print a word once the window shows an engine's state")
    developer.add_argument("--size", type=_size, default=(1100, 720), metavar="WxH")
    developer.add_argument("--page", default="home", metavar="NAME", help="the page that is open first (default: home)")
    developer.add_argument("--language", choices=("en", "de"), default="en")
    developer.add_argument("--theme", choices=("light", "dark", "contrast"), default="light")
    return parser


def _size(words: str) -> tuple[int, int]:
    width, _, height = words.partition("x")
    if not (width.isdecimal() and height.isdecimal() and 0 < int(width) < 10_000 and 0 < int(height) < 10_000):
        raise argparse.ArgumentTypeError(f"not a size like 1100x720: {words!r}")
    return int(width), int(height)


def _refuse(sentence: str) -> int:
    sys.stderr.write(f"{sentence}\n")
    return REFUSED


if __name__ == "__main__":
    sys.exit(main())
