"""Run the lab by hand, as root.

python -m tests.lab matrix [--kinds public kept ...] [--rtt 0 40] [--load 2] [--json FILE]
python -m tests.lab speed  [--seconds 6] [--json FILE]
python -m tests.lab control [--json FILE]
python -m tests.lab faults [--json FILE]
python -m tests.lab train  [--routers kept symmetric] [--rtt 40] [--json FILE]

Exit code 1: something required was not found; 2: there can be no lab here.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import msgspec

from tests.lab import faults, matrix, speed, train
from tests.lab.ground import Kind, missing


def main() -> int:
    args = _arguments()
    reason = missing()
    if reason is not None:
        sys.stderr.write(f"{reason}\n")
        return 2
    match args.command:
        case "matrix":
            cells = matrix.run(kinds=args.kinds, rtts_s=[ms / 1000 for ms in args.rtt], load_s=args.load)
            _say(args, [cell.as_dict() for cell in cells], matrix.table(cells))
            wanting = matrix.shortfalls(cells)
        case "speed":
            lines = speed.run_speed(seconds=args.seconds)
            _say(args, [line.as_dict() for line in lines], speed.table(lines))
            wanting = speed.shortfalls(lines)
        case "faults":
            outcomes = faults.run()
            _say(args, [outcome.as_dict() for outcome in outcomes], faults.table(outcomes))
            wanting = [outcome.what for outcome in outcomes if not outcome.kept]
        case "train":
            trained = train.run([tuple(args.routers)] if args.routers else list(train.PAIRS), rtt_s=args.rtt / 1000)
            _say(args, [one.as_dict() for one in trained], "".join(one.text() for one in trained))
            wanting = [f"{' and '.join(one.routers)} train together" for one in trained if not one.kept]
        case _:
            told = speed.run_control()
            _say(args, told.as_dict(), told.text())
            wanting = [] if told.kept else ["control waits behind bulk"]
    for line in wanting:
        sys.stderr.write(f"required: {line}\n")
    return 1 if wanting else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.lab")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("matrix", "speed", "control", "faults", "train"):
        commands.add_parser(name).add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    grid, line = commands.choices["matrix"], commands.choices["speed"]
    grid.add_argument("--kinds", nargs="+", type=Kind, choices=list(Kind), default=list(Kind))
    grid.add_argument("--rtt", nargs="+", type=float, default=[0.0, 40.0], metavar="MS")
    grid.add_argument("--load", type=float, default=0.0, metavar="SECONDS", help="measure the throughput of each pair")
    line.add_argument("--seconds", type=float, default=6.0)
    homes = commands.choices["train"]
    homes.add_argument("--routers", nargs=2, type=Kind, choices=list(Kind), help="default: several pairs, one by one")
    homes.add_argument("--rtt", type=float, default=40.0, metavar="MS")
    return parser.parse_args()


def _say(args: argparse.Namespace, figures: Any, text: str) -> None:
    if args.json is not None:
        args.json.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=1) + b"\n")
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
