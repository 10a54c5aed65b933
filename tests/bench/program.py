"""`python -m tests.bench`: how fast the parts are on this computer."""

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from core.base.tasks import TOKENIZERS
from core.cli.parsing.options import add_json, calling, recipe_file, whole
from core.cli.parsing.parser import Parser
from core.cli.program import run_with
from core.codecs.registry import CODEC_NAMES
from tests.bench.training.loop_turns import LOOPS
from tests.sim.program import share

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""A polite request to end, and that the terminal is gone, as when a connection breaks."""
STOPPED = "Stopped before the measurement was finished; what it had started has ended."


def main(argv: Sequence[str]) -> int:
    """Measure one part; returns the exit code (`core.cli.program.run_with`)."""
    return run_with(parser, argv)


def parser() -> Parser:
    """The parser of all measurements."""
    top = Parser(prog="python -m tests.bench", description="How fast the parts are on this computer.")
    top.set_defaults(json=False)
    parts = top.add_subparsers(title="parts", metavar="PART", required=True)

    averaging = parts.add_parser(
        "averaging",
        help="rounds of butterfly all-reduce over real connections",
        description="Peers, each a process of its own, average a vector of random numbers, round after round, over "
        "real and encrypted connections. Prints how long a round takes from when its group is found until the last "
        "peer has the mean, and what it costs. Ends with 1 if a round failed, lacked a part, or left peers other bits.",
    )
    add_json(averaging)
    averaging.add_argument("--peers", type=whole(2, 64), metavar="N", help="how many (default: 4; not with a fleet)")
    averaging.add_argument(
        "--numel",
        type=whole(1, 10**9),
        default=10_000_000,
        metavar="N",
        help="numbers to average (default: 10 million)",
    )
    averaging.add_argument("--codec", choices=CODEC_NAMES, default="raw", help="how numbers travel (default: raw)")
    averaging.add_argument("--rounds", type=whole(1, 100_000), default=5, metavar="N", help="that count (default: 5)")
    averaging.add_argument(
        "--fleet",
        metavar="FLEET",
        help="give each peer a line of its own (Linux, root): hetero8, hetero8+1aux, hetero8+2aux, hetero8-3client, "
        "homog8, homog8+1aux, home8, pair, onefast, fibre4, hetero16, or DOWN/UP[a|c][*COUNT] in Mbit/s, a for a "
        "helper, c for a client that reduces nothing, such as 100/40*2,20/5c",
    )
    averaging.add_argument(
        "--warm",
        type=whole(0, 100),
        metavar="N",
        help="rounds on a fleet before those that count (default: 8)",
    )
    for name, about in (
        ("--ping", "ping through each line of the fleet, before the rounds and beside them"),
        ("--strangers", "measure rounds among strangers too, clipped and proven, in turns with those among friends"),
        ("--calls", "measure rounds beside calls of experts too"),
    ):
        averaging.add_argument(name, action="store_true", help=about)
    averaging.add_argument(
        "--rtt", type=whole(0, 1000), default=0, metavar="MS", help="how long a packet takes there and back"
    )
    averaging.add_argument(
        "--hivemind", metavar="PYTHON", help="measure hivemind and gloo too, with this Python, where they are installed"
    )
    averaging.add_argument(
        "--peers-scripts",
        metavar="DIR",
        help="the folder of bench_allreduce.py, bench_gloo.py and bench_netns.py, which measure them",
    )
    averaging.set_defaults(run=_measuring("tests.bench.averaging.averaging:run"))

    overlap = parts.add_parser("overlap", help="averaging beside computing, and after it, by real engines")
    add_json(overlap)
    overlap.add_argument("--peers", type=whole(2, 16), default=2, metavar="N", help="default: 2")
    overlap.add_argument("--epochs", type=whole(1, 1000), default=6, metavar="N", help="steps each way (default: 6)")
    overlap.add_argument(
        "--seconds",
        type=whole(1, 600),
        default=10,
        metavar="S",
        help="about as long take computing and averaging each (default: 10)",
    )
    overlap.set_defaults(run=_measuring("tests.bench.averaging.overlap:run"))

    _add_backbone(parts)
    _add_desk(parts)
    _add_training(parts)
    _add_data(parts)

    _add_streams(parts)
    _add_experts(parts)

    _add_groups(parts)

    dht = parts.add_parser("dht", help="stores and gets between real nodes of the DHT")
    add_json(dht)
    dht.add_argument("--nodes", type=whole(2, 1024), default=64, metavar="N", help="default: 64")
    dht.add_argument("--processes", type=whole(2, 64), default=4, metavar="N", help="default: 4")
    dht.add_argument("--repeats", type=whole(1, 100), default=3, metavar="N", help="default: 3")
    silent = "the share of the processes that falls silent in the end (default: 0.25)"
    dht.add_argument("--freeze", type=share, default=0.25, metavar="SHARE", help=silent)
    dht.add_argument("--hivemind", metavar="PYTHON", help="measure hivemind's too, with this Python")
    dht.add_argument("--peers-scripts", metavar="DIR", help="the folder of the script that measures hivemind")
    dht.add_argument("--hivemind-freeze", action="store_true", help="silence hivemind's nodes too (minutes)")
    dht.add_argument("--footprint", action="store_true", help="watch one idle process with one node instead")
    dht.add_argument("--seconds", type=whole(1, 86_400), default=60, metavar="S", help="of --footprint; default: 60")
    dht.set_defaults(run=_measuring("tests.bench.dht.dht:run"))

    _add_optimizer(parts)

    plan = parts.add_parser("plan", help="dividing a round: how long it takes, and how far from the optimum it is")
    add_json(plan)
    plan.add_argument("--peers", type=whole(4, 256), default=256, metavar="N", help="the largest group (default: 256)")
    plan.add_argument("--repeats", type=whole(1, 1000), default=7, metavar="N", help="fleets a size (default: 7)")
    plan.add_argument("--seed", type=whole(0, 10**9), default=1, metavar="N", help="which fleets (default: 1)")
    plan.set_defaults(run=_measuring("tests.bench.plan.plan:run"))
    return top


def _add_groups(parts: Any) -> None:
    groups = parts.add_parser("groups", help="the best size of a group for a number of peers and a failure rate")
    add_json(groups)
    groups.add_argument("--peers", type=whole(2, 4096), nargs="+", metavar="N", help="default: 16 to 1024")
    groups.add_argument(
        "--failure-rates", type=share, nargs="+", metavar="P", help="of a peer in an iteration; default: 0.0001 to 0.2"
    )
    groups.set_defaults(run=_measuring("tests.bench.averaging.groups:run"))


def _add_experts(parts: Any) -> None:
    experts = parts.add_parser(
        "experts",
        help="a host of experts beside plain torch loops over the same blocks, in turns on one core",
        description="Calls come from memory, as if there were no network, to the program's own host and worker. Ends "
        "with 1 if the host computes less than 0.7 of what a loop with the same arithmetic computes.",
    )
    add_json(experts)
    experts.add_argument("--experts", type=whole(1, 4096), default=56, metavar="N", help="blocks (default: 56)")
    experts.add_argument("--width", type=whole(8, 8192), default=128, metavar="N", help="of a block (default: 128)")
    experts.add_argument("--batch", type=whole(1, 512), default=64, metavar="N", help="rows of a visit (default: 64)")
    experts.add_argument("--codec", choices=("u8", "fp16", "raw"), default="u8", help="of the calls (default: u8)")
    experts.add_argument("--seconds", type=whole(1, 600), default=5, metavar="S", help="of each turn (default: 5)")
    experts.add_argument("--turns", type=whole(1, 100), default=3, metavar="N", help="of each (default: 3)")
    far = "instead: many batches in flight over far blocks at four hosts, with these mean delays, such as 10,50,200"
    experts.add_argument("--delays", default="", metavar="MS,MS", help=far)
    experts.add_argument("--blocks", type=whole(8, 256), default=224, metavar="N", help="far blocks (default: 224)")
    experts.add_argument("--hivemind", metavar="PYTHON", help="measure hivemind.moe too: python with hivemind")
    experts.add_argument("--peers-scripts", metavar="DIR", help="folder of the script that measures it")
    experts.set_defaults(run=_measuring("tests.bench.experts.experts:run"))


def _add_streams(parts: Any) -> None:
    streams = parts.add_parser("streams", help="one encrypted stream between two processes")
    add_json(streams)
    streams.add_argument("--mebibytes", type=whole(1, 100_000), default=256, metavar="N", help="default: 256")
    streams.set_defaults(run=_measuring("tests.bench.network.streams:run"))


def _add_backbone(parts: Any) -> None:
    backbone = parts.add_parser(
        "backbone",
        help="a backbone and its page under load: renewals, newcomers, visitors, rounds beside them, memory",
        description="A backbone of many accounts with its page. Questions come at a rate, whether or not the ones "
        "before have been answered, each kind alone and several times; then two engines train beside all of them.",
    )
    add_json(backbone)
    backbone.add_argument("--accounts", type=whole(256, 100_000), default=10_000, metavar="N", help="default: 10,000")
    backbone.add_argument("--seconds", type=whole(1, 600), default=10, metavar="S", help="of each run (default: 10)")
    backbone.add_argument("--runs", type=whole(1, 100), default=3, metavar="N", help="of each kind (default: 3)")
    backbone.add_argument("--day", action="store_true", help="all renewals and pages of a day, too (7 minutes)")
    backbone.add_argument(
        "--rounds", type=whole(0, 1000), default=8, metavar="N", help="of each stretch; 0: none (default: 8)"
    )
    backbone.add_argument(
        "--share", type=whole(1, 1000), default=1, metavar="N", help="load beside rounds, one Nth of it (default: 1)"
    )
    backbone.add_argument(
        "--target", type=whole(16, 65_536), default=256, metavar="N", help="samples of a round (default: 256)"
    )
    backbone.set_defaults(run=_measuring("tests.bench.backbone.backbone:run"))


def _add_desk(parts: Any) -> None:
    desk = parts.add_parser("desk", help="what window, engine and command line cost at rest, and how soon they come")
    add_json(desk)
    desk.add_argument("--seconds", type=whole(1, 600), default=10, metavar="S", help="of each look (default: 10)")
    desk.set_defaults(run=_measuring("tests.bench.desk.desk:run"))


def _add_optimizer(parts: Any) -> None:
    optimizer = parts.add_parser("optimizer", help="steps of the optimisers: their time, their memory, and eight bits")
    add_json(optimizer)
    optimizer.add_argument(
        "--millions",
        type=whole(1, 10_000),
        nargs="+",
        default=[18, 72],
        metavar="N",
        help="numbers in the model (default: 18 72)",
    )
    optimizer.add_argument("--repeats", type=whole(1, 100), default=3, metavar="N", help="turns (default: 3)")
    optimizer.add_argument("--threads", type=whole(1, 1024), metavar="N", help="of torch (default: its own choice)")
    optimizer.add_argument("--device", default="cpu", help="where the model lies, such as cuda (default: cpu)")
    optimizer.set_defaults(run=_measuring("tests.bench.training.optimizer:run"))


def _add_data(parts: Any) -> None:
    data = parts.add_parser(
        "data",
        help="reading text: tokens a second on one core, beside datasets with the same tokenizer",
        description="Text becomes rows on the disk as a worker's reader makes them, by one that knows no word yet and "
        "once more by one that does; the rows are drawn from there; and datasets streams the same paragraphs through "
        "the same tokenizer.  They take turns on one core, and processor seconds count.",
    )
    add_json(data)
    data.add_argument("--text", default="python-docs", metavar="DIR", help="a folder of text (default: python-docs)")
    data.add_argument("--megabytes", type=whole(1, 10_000), default=16, metavar="N", help="of it at most (default: 16)")
    data.add_argument("--recipe", choices=TOKENIZERS, default=TOKENIZERS[0], help="of the tokenizer (default: plain)")
    data.add_argument("--vocab", type=whole(300, 60_000), default=30_000, metavar="N", help="pieces (default: 30000)")
    data.add_argument("--length", type=whole(16, 512), default=128, metavar="N", help="of a sample (default: 128)")
    data.add_argument("--turns", type=whole(1, 100), default=3, metavar="N", help="of each way (default: 3)")
    data.add_argument("--no-worker", action="store_true", help="leave the demo's worker out, which takes half a minute")
    data.set_defaults(run=_measuring("tests.bench.training.reading:run"))


def _add_training(parts: Any) -> None:
    _add_equivalence(parts)
    _add_late(parts)
    training = parts.add_parser(
        "training",
        help="one worker beside other loops, and two in a collaboration beside the two alone",
        description="For each recipe the worker's own loop, a plain PyTorch loop and transformers.Trainer (where the "
        "package accelerate is installed) take turns, each in a process of its own; then, with the first recipe, two "
        "workers alone, two in a collaboration, and two alone again, with steps of about 2 s and 0.5 s, with and "
        "without delayed updates.",
    )
    add_json(training)
    training.add_argument(
        "--recipes",
        nargs="+",
        default=["first-words"],
        metavar="RECIPE",
        help="files, or names of those that come along (default: first-words)",
    )
    training.add_argument(
        "--loops", choices=LOOPS, nargs="*", default=LOOPS, metavar="LOOP", help=f"default: {' '.join(LOOPS)}"
    )
    training.add_argument("--device", default="cpu", metavar="NAME", help="of the loops, such as cuda:0 (default: cpu)")
    training.add_argument("--threads", type=whole(1, 1024), default=1, metavar="N", help="of each loop (default: 1)")
    training.add_argument(
        "--micro-batch",
        type=whole(1, 65_536),
        metavar="N",
        help="samples of a pass, in all loops (default: what the worker finds best)",
    )
    training.add_argument("--turns", type=whole(1, 1000), default=5, metavar="N", help="of each loop (default: 5)")
    training.add_argument("--turn", type=whole(1, 600), default=4, metavar="S", help="seconds of one (default: 4)")
    training.add_argument(
        "--seconds", type=whole(0, 3600), default=20, metavar="S", help="of each collaboration; 0: none (default: 20)"
    )
    training.add_argument("--hivemind", metavar="PYTHON", help="measure hivemind.Optimizer too, with this Python")
    training.add_argument("--peers-scripts", metavar="DIR", help="the folder of bench_optimizer.py, which measures it")
    training.set_defaults(run=_run_training)


def _run_training(args: argparse.Namespace) -> int:
    args.recipes = [recipe_file(name) for name in args.recipes]
    return _measuring("tests.bench.training.training:run")(args)


def _add_equivalence(parts: Any) -> None:
    equivalence = parts.add_parser(
        "equivalence",
        help="four unequal workers beside one process with the same large batch: their held-out losses",
        description="Runs a small ALBERT in collaborations of four workers with unequal threads and lines, then in one "
        "process by transformers and torch alone, and compares the held-out losses.",
    )
    add_json(equivalence)
    equivalence.add_argument("--steps", type=whole(5, 100_000), default=200, metavar="N", help="default: 200")
    equivalence.add_argument("--seeds", type=whole(1, 20), default=3, metavar="N", help="runs of each (default: 3)")
    equivalence.add_argument(
        "--target", type=whole(16, 65_536), default=1024, metavar="N", help="samples (default: 1,024)"
    )
    equivalence.add_argument("--figure", type=Path, metavar="FILE", help="draw the curves as SVG")
    equivalence.set_defaults(run=_measuring("tests.bench.training.equivalence:run"))


def _add_late(parts: Any) -> None:
    """Figures 5 and 6 of Learning@home."""
    digits, letters = (
        parts.add_parser(name, help=f"mixtures of experts on {on}, where answers are late or do not come")
        for name, on in (("digits", "images"), ("letters", "text"))
    )
    digits.add_argument("--modes", nargs="+", choices=("paper", "flights"), default=["paper", "flights"])
    digits.add_argument("--experts", type=whole(0, 4096), nargs="+", default=[0, 64, 256], help="0: a dense model")
    letters.add_argument("--experts", type=whole(15, 4096), default=192, metavar="N", help="default: 192")
    letters.add_argument("--failures", type=share, default=0.1, metavar="SHARE", help="of the calls (default: 10%%)")
    for figure, name, batches, seeds in ((digits, "digits", 5120, 5), (letters, "letters", 1500, 3)):
        add_json(figure)
        figure.add_argument("--text", type=Path, required=True, metavar="DIR", help="a folder of idx files, or of text")
        for word, least, default in (("--batches", 10, batches), ("--seeds", 1, seeds)):
            figure.add_argument(word, type=whole(least, 10**6), default=default, help="default: %(default)s")
        figure.set_defaults(run=_measuring(f"tests.bench.training.{name}:run"))


def _as_ctrl_c(number: int, frame: FrameType | None) -> None:
    """Handle a signal as Ctrl-C is handled: asyncio makes of that the end of the one task that owns all others.

    An exception out of nowhere is for where Ctrl-C is ignored, as in the background of a script.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.default_int_handler(number, frame)
    signal.raise_signal(signal.SIGINT)


def _measuring(target: str) -> Callable[[argparse.Namespace], int]:
    """A command that Ctrl-C ends with all that it has started, and so do `ENDING`."""
    command = calling(target)

    def run(args: argparse.Namespace) -> int:
        heeded = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]  # nohup ignores one
        before = {number: signal.signal(number, _as_ctrl_c) for number in heeded}
        try:
            return command(args)
        except KeyboardInterrupt:
            if sys.stderr is not None:  # else the words would go to stdout
                print(STOPPED, file=sys.stderr, flush=True)
            raise
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    return run
