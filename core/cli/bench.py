"""`potluck bench`: how fast the parts are on this computer."""

from core.cli.options import Commands, add_json, calling, whole


def add(commands: Commands) -> None:
    """Add the commands to the program."""
    bench = commands.add_parser("bench", help="measure how fast the parts are on this computer")
    parts = bench.add_subparsers(title="parts", metavar="PART", required=True)

    averaging = parts.add_parser("averaging", help="rounds of butterfly all-reduce over real connections")
    add_json(averaging)
    averaging.add_argument("--peers", type=whole(2, 64), default=4, metavar="N", help="default: 4")
    averaging.add_argument(
        "--numel",
        type=whole(1, 10**9),
        default=10_000_000,
        metavar="N",
        help="numbers to average (default: 10 million)",
    )
    averaging.add_argument("--codec", choices=("raw", "fp16"), default="raw", help="how numbers travel (default: raw)")
    averaging.add_argument("--rounds", type=whole(1, 1000), default=5, metavar="N", help="default: 5")
    averaging.set_defaults(run=calling("core.bench.averaging:run"))

    streams = parts.add_parser("streams", help="one encrypted stream between two processes")
    add_json(streams)
    streams.add_argument("--mebibytes", type=whole(1, 100_000), default=256, metavar="N", help="default: 256")
    streams.set_defaults(run=calling("core.bench.streams:run"))
