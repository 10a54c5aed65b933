"""`python -m tests.sim dht`: one large DHT in a simulated world, reported as JSON or in a few lines."""

import argparse
import gc
import json
import sys
from pathlib import Path
from random import Random
from typing import Any

from core.api.numbers import amount
from core.base.problems import BadInput
from core.dht.settings import DhtSettings
from core.system.progress_bar import ProgressBar
from tests.sim.dht.run import DhtRun, DhtRunSettings
from tests.sim.moments import lookup_charts
from tests.sim.picture import check_name, draw, save
from tests.sim.stays import S000, S000_DEVICES, S003, TENTH_AN_HOUR, Pattern, read_pattern
from tests.sim.world.latency import Latency, read_matrix, synthetic

FOUND_LEAST = 0.999
LIMITS = DhtSettings()
EXIT_MISSED = 1
PEERS = 1000
PATTERN_HOURS = 24
VANISH = 0.25


def run(args: argparse.Namespace) -> int:
    """Run it.

    Returns:
        0 if at least 99.9 % of the keys were found in every part, 1 otherwise.

    Raises:
        BadInput: the file of delays or of stays, or the picture's name, cannot be used.
    """
    if args.picture is not None:
        check_name(args.picture)
    settings = settings_of(args)
    distance = args.latency
    if distance is None:
        distance = "circle" if settings.churn is S003 else "synthetic"
    bar = ProgressBar(json=args.json)

    parts: set[str] = set()

    def report(what: str, share: float) -> None:
        bar.show(share, f"{what}: {share:.0%}", part=what)
        if settings.hours and what not in parts:
            parts.add(what)
            gc.collect()  # peers that have gone

    trial = DhtRun(settings, latency=distances(distance, args.seed), report=report)
    gc.disable()  # looking for cycles among millions of objects all the time takes a third of it
    try:
        said = trial.run()
    finally:
        gc.freeze()  # the world ends with the program; looking through it once more takes half a minute
        gc.enable()
        bar.clear()
    said["latency"] = distance if distance in {"circle", "synthetic"} else "matrix"
    sys.stdout.write((json.dumps(said) if args.json else _text(said)) + "\n")
    if args.picture is not None:
        title = f"A DHT of {amount(settings.peers)} peers, seed {args.seed}"
        save(args.picture, draw(title, f"digest {said['digest']}", lookup_charts(trial.moments)))
    shares = [part["found_share"] for part in _parts(said).values()]
    complete = said["stores"]["stored"] == args.stores
    return 0 if complete and all(share >= FOUND_LEAST for share in shares) else EXIT_MISSED


def settings_of(args: argparse.Namespace) -> DhtRunSettings:
    """The options as settings.

    Raises:
        BadInput: the churn is invalid, an option would have no effect, or there is no room for all stores.
    """
    churn = TENTH_AN_HOUR if args.churn is None else read_pattern(args.churn)
    named = isinstance(churn, Pattern)
    hours = (PATTERN_HOURS if named else 0) if args.hours is None else args.hours
    if args.churn is not None and not hours:
        raise BadInput("Churn takes time.", hint="Say for how many --hours.")
    if args.vanish is not None and hours:
        raise BadInput("Peers vanish at once, or come and go for hours.", hint="Leave --vanish out.")
    peers = args.peers or (S000_DEVICES if churn is S000 else PEERS)
    room = _room(peers)
    if args.stores > room:
        raise BadInput(
            f"{amount(peers)} peers have no room for {amount(args.stores)} records: each keeps "
            f"{LIMITS.records_per_owner} of one owner, {amount(LIMITS.records_max)} in all.",
            hint=f"Give more --peers, or --stores {room} at most.",
        )
    return DhtRunSettings(
        peers=peers,
        seed=args.seed,
        stores=args.stores,
        gets=args.gets,
        vanish=VANISH if args.vanish is None else args.vanish,
        hours=hours,
        churn=churn,
    )


def _room(peers: int) -> int:
    """Number of stores by random peers that find room: three quarters of the limit if all are spread evenly."""
    holders = min(LIMITS.replicas, peers)
    return min(LIMITS.records_per_owner * peers, LIMITS.records_max) * peers // holders * 3 // 4


def distances(name: str, seed: int) -> Latency | None:
    """The latency that `--latency` names; None: the circle.

    Raises:
        BadInput: the file cannot be used.
    """
    match name:
        case "circle":
            return None
        case "synthetic":
            return synthetic(Random(f"sites of world {seed}"))
        case _:
            return read_matrix(Path(name))


def _parts(said: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The parts in which keys were read, by what they are called in the text."""
    parts = {"First read": said["gets_cold"], "Read again": said["gets_warm"]}
    for hour in said.get("churn", ()):
        parts[f"Hour {hour['hour']}, {amount(hour['went'])} went, {amount(hour['came'])} came"] = hour
    if "gets_after" in said:
        parts[f"After {amount(said['vanished'])} peers vanished"] = said["gets_after"]
    return parts


def _text(said: dict[str, Any]) -> str:
    stores, parts = said["stores"], _parts(said)
    lines = [
        (
            f"{amount(said['peers'])} peers exchanged {amount(said['messages'])} messages in "
            f"{amount(said['simulated_s'])} simulated seconds; it took {amount(said['wall_s']['all'])} s "
            f"and {amount(said['memory_mib'])} MiB of memory."
        ),
        (
            f"Stores: {amount(stores['stored'])} of {amount(stores['count'])} stored, the fewest holders were "
            f"{stores['replicas_least']}; {_costs(stores)}."
        ),
    ]
    lines += [
        f"{name}: {amount(part['found'])} of {amount(part['count'])} found; {_costs(part)}."
        for name, part in parts.items()
    ]
    missed = sum(part["count"] - part["found"] for part in parts.values())
    lines.append(f"{amount(missed)} reads found nothing." if missed else "Every read found what was stored.")
    return "\n".join([*lines, f"Digest {said['digest']}."])


def _costs(part: dict[str, Any]) -> str:
    return (
        f"{part['messages_each']} messages and {part['hops_mean']} hops each, "
        f"p50 {part['p50_ms']} ms, p95 {part['p95_ms']} ms"
    )
