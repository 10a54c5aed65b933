"""`potluck` without a command: the window."""

import argparse
import importlib
import importlib.util

from core.cli.parsing.options import Missing


def require_window() -> None:
    """Return if the window can be opened.

    Raises:
        Missing: PySide6 is not installed.
    """
    if importlib.util.find_spec("PySide6") is None or importlib.util.find_spec("app.__main__") is None:
        raise Missing(
            "The window needs PySide6, which is not installed.",
            hint='Install it with: pip install "potluck[app]" - or use a command, see: potluck --help',
        )


def run(args: argparse.Namespace) -> int:
    """Open the window in this process.

    Raises:
        Missing: PySide6 is not installed.
    """
    require_window()
    words = ["--home", str(args.home)] if args.home is not None else []
    words += ["--hidden"] if args.hidden else []
    words += [args.link] if args.link else []
    return int(importlib.import_module("app.__main__").main(words) or 0)
