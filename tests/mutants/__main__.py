"""Break the program on purpose, one line at a time: some test must notice each.

python -m tests.mutants [--only NAME ...] [--jobs N] [--limit SECONDS] [--list]

Each mutant of the tables in this folder is tried in a copy of the working tree, with the few files of tests that are to
notice it.  Exit code 1: one survived, does not apply any more, or was noticed although the table calls it equivalent;
2: the tests fail without any mutant, or a name is unknown; 130: interrupted.
"""

import argparse
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from tests.mutants.table import ROOT, Mutant, load
from tests.mutants.trial import GOOD, BaselineFailed, Result, Run, Tried, try_mutants

LIMIT_S: Final = 300.0
INTERRUPTED: Final = 130
"""As a shell says of a program that Ctrl-C has ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    args = _arguments(arguments)
    mutants = load()
    unknown = set(args.only) - {mutant.name for mutant in mutants}
    if unknown:
        _say(f"There is no mutant {', '.join(sorted(unknown))}.")
        return 2
    chosen = [mutant for mutant in mutants if not args.only or mutant.name in args.only]
    if args.list:
        for mutant in chosen:
            _say(f"{mutant.name:42} {mutant.file}")
        return 0
    tempfile.gettempdir()  # it tries the folder with a file, which an interruption would leave there
    signal.signal(signal.SIGTERM, _interrupt)
    progress = _Progress(len(chosen))
    try:
        _say(f"Mutants: {len(chosen)}. First their tests without any.")
        tried = try_mutants(chosen, root=ROOT, jobs=args.jobs, limit_s=args.limit, tell=progress.tell)
    except BaselineFailed as problem:
        _say(f"{problem}\nThe tests fail without any mutant.")
        return 2
    except KeyboardInterrupt:
        _say("Interrupted.")
        return INTERRUPTED
    return _summary(tried)


class _Progress:
    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0

    def tell(self, news: Tried | Run) -> None:
        if isinstance(news, Run):
            _say(f"They pass, in {news.seconds:.0f} s.")
            return
        self._done += 1
        _say(f"{self._done:3}/{self._total} {_line(news)}")


def _line(one: Tried) -> str:
    return f"{one.result:14} {one.mutant.name:42} {one.seconds:5.1f} s  {one.why}"


def _summary(tried: Sequence[Tried]) -> int:
    counts = Counter(one.result for one in tried)
    _say(", ".join(f"{counts[result]} {result}" for result in Result if counts[result]) + ".")
    bad = [one for one in tried if one.result not in GOOD]
    for one in bad:
        _say(f"\n{_line(one)}\n{_change(one.mutant)}")
    return 1 if bad else 0


def _change(mutant: Mutant) -> str:
    return f"    {mutant.file}\n    - {mutant.old}\n    + {mutant.new}\n    {' '.join(mutant.tests)}"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants", description="Break the program, one line at a time: tests must notice."
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these mutants only")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="mutants tried at the same time")
    parser.add_argument("--limit", type=float, default=LIMIT_S, metavar="SECONDS", help="for the tests of one mutant")
    parser.add_argument("--list", action="store_true", help="only name them")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
