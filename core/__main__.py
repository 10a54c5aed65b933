"""`python -m core`: the same program as `potluck`."""

import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from core.base import arrays
from core.system.hidden_links import own_words
from core.system.one_thread import one_thread


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program with these arguments (the process's own when None); returns the exit code.

    What this process and its children create is for its owner only: logs and folders too.
    """
    if argv is None:
        _import_nothing_from_here()
    words = own_words() if argv is None else argv
    _speak_utf8()
    arrays.loading = one_thread
    os.environ.setdefault("POTLUCK_UMASK", f"{os.umask(0o077):o}")  # for what is made to be served
    try:
        from core.cli.program import run  # noqa: PLC0415 - so that an import of this module stays cheap

        return run(words)
    except KeyboardInterrupt:
        return 130


def _import_nothing_from_here() -> None:
    """Have children import nothing from the folder where the person stands: others may have put it there.

    Python looks there first where it is started with `-m`.  A start by `python -m core` in a checkout is not touched.
    """
    if sys.path[:1] != [str(Path(__file__).parents[1])]:
        os.environ["PYTHONSAFEPATH"] = "1"


def _speak_utf8() -> None:
    """Have words leave as UTF-8 whatever the terminal's encoding lacks, and come in so from another program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a program without a terminal has none
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    if isinstance(sys.stdin, io.TextIOWrapper) and not sys.stdin.isatty():
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")


if __name__ == "__main__":
    sys.exit(main())
