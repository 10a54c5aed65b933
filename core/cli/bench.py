"""`potluck bench`: how fast the parts are on this computer."""

from core.cli.options import Commands, add_json, calling, share, whole


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

    dht = parts.add_parser("dht", help="stores and gets between real nodes of the DHT")
    add_json(dht)
    dht.add_argument("--nodes", type=whole(2, 1024), default=64, metavar="N", help="default: 64")
    dht.add_argument("--processes", type=whole(2, 64), default=4, metavar="N", help="default: 4")
    dht.add_argument("--repeats", type=whole(1, 100), default=3, metavar="N", help="default: 3")
    dht.add_argument(
        "--freeze",
        type=share,
        default=0.25,
        metavar="SHARE",
        help="the share of the processes that falls silent in the end (default: 0.25)",
    )
    dht.add_argument("--hivemind", metavar="PYTHON", help="measure hivemind's too, with this Python")
    dht.add_argument("--peers-scripts", metavar="DIR", help="the folder of the script that measures hivemind")
    dht.add_argument("--hivemind-freeze", action="store_true", help="silence hivemind's nodes too (minutes)")
    dht.add_argument("--footprint", action="store_true", help="watch one idle process with one node instead")
    dht.add_argument("--seconds", type=whole(1, 86_400), default=60, metavar="S", help="of --footprint; default: 60")
    dht.set_defaults(run=calling("core.bench.dht:run"))
