"""Break a real small collaboration again and again, as a seed draws it, and see that nothing is lost.

python -m tests.faults [--seed N] [--minutes M]     faults of all kinds on a backbone and three volunteers
python -m tests.faults kills [--seed N]             25 kills of the demo's children, and what they cost
python -m tests.faults trees [--seed N]             the whole demo killed 60 times

Prints one JSON line a fault and a verdict.  Exit code 1: something did not hold.  As root on Linux links are cut and
disks fill up, too; elsewhere these faults are skipped.
"""

import argparse
import contextlib
import signal
import sys
import tempfile
from pathlib import Path

from tests.faults import demo, suite
from tests.faults.drawing import Kind
from tests.faults.processes import ProcessRole
from tests.faults.trial import Trial


def main() -> int:
    args = _arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.ExitStack() as stack:
        folder = args.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="potluck-faults-")))
        folder.mkdir(parents=True, exist_ok=True)
        return 0 if _run(args, Trial(folder.absolute(), args.seed, args.patience)) else 1


def _run(args: argparse.Namespace, trial: Trial) -> bool:
    match args.command:
        case "kills":
            return demo.kills(trial, number=args.number or 25, peers=args.peers, only=args.only)
        case "trees":
            return demo.trees(trial, number=args.number or 60)
        case _:
            return suite.run(trial, kinds=args.kinds, number=args.number, seconds=60 * (args.minutes or 10.0))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__.splitlines()[0])
    parser.add_argument("command", nargs="?", choices=("all", "kills", "trees"), default="all")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="draws the faults (default: 1)")
    parser.add_argument("--minutes", type=float, metavar="M", help="how long faults go on (default: 10)")
    parser.add_argument("--peers", type=int, default=2, metavar="N", help="volunteers of `kills` (default: 2)")
    kinds = ", ".join(Kind)
    parser.add_argument(
        "--kinds", nargs="+", type=Kind, choices=list(Kind), default=list(Kind), metavar="KIND", help=f"of {kinds}"
    )
    parser.add_argument(
        "--number", type=int, metavar="N", help="number of faults (default: as time allows; kills: 25; trees: 60)"
    )
    victims = ", ".join(demo.VICTIMS)
    parser.add_argument(
        "--only", type=ProcessRole, choices=demo.VICTIMS, metavar="ROLE", help=f"kill only one of {victims}"
    )
    parser.add_argument(
        "--patience", type=float, default=1.0, metavar="X", help="times as long as two cores of its own would take"
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="a new folder in which everything is kept")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
