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
from types import MappingProxyType
from typing import Any, Final

import msgspec

from tests.lab import faults, matrix, speed, train
from tests.lab.ground import Kind, missing

COMMANDS: Final = MappingProxyType(
    {
        "matrix": "which way two homes find to each other, and how soon",
        "speed": "how fast the ways are, against iperf3",
        "control": "how long control waits while bulk fills the line",
        "faults": "what holds when lines, relays and peers fail",
        "train": "whether two homes train together",
    }
)
RTT_MS_MAX: Final = 2000


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
    parser = argparse.ArgumentParser(
        prog="python -m tests.lab",
        description="Homes behind routers, on this computer alone.  Needs root.",
        epilog="Exit code 1: something required was not found; 2: there can be no lab here.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, meaning in COMMANDS.items():
        command = commands.add_parser(name, help=meaning, description=f"Find out {meaning}.")
        command.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    grid, line = commands.choices["matrix"], commands.choices["speed"]
    kinds = ", ".join(Kind)
    grid.add_argument(
        "--kinds", nargs="+", type=_kind, default=list(Kind), metavar="KIND", help=f"{kinds} (default: all)"
    )
    grid.add_argument(
        "--rtt", nargs="+", type=_ms, default=[0.0, 40.0], metavar="MS", help="round trips (default: 0 40)"
    )
    grid.add_argument("--load", type=float, default=0.0, metavar="SECONDS", help="measure the throughput of each pair")
    line.add_argument("--seconds", type=float, default=6.0, help="of each measurement (default: 6)")
    homes = commands.choices["train"]
    homes.add_argument(
        "--routers", nargs=2, type=_kind, metavar="KIND", help=f"two of {kinds} (default: several pairs, one by one)"
    )
    homes.add_argument("--rtt", type=_ms, default=40.0, metavar="MS", help="round trip (default: 40)")
    return parser.parse_args()


def _kind(word: str) -> Kind:
    try:
        return Kind(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is none of {', '.join(Kind)}") from None


def _ms(word: str) -> float:
    try:
        ms = float(word)
    except ValueError:
        ms = -1.0
    if not 0 <= ms <= RTT_MS_MAX:
        raise argparse.ArgumentTypeError(f"{word!r} is not a number of milliseconds from 0 to {RTT_MS_MAX}")
    return ms


def _say(args: argparse.Namespace, figures: Any, text: str) -> None:
    if args.json is not None:
        args.json.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=1) + b"\n")
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
