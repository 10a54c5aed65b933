"""`python -m tests.sim attacks`: every attack with its defence and without it, as a table."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Final

from core.cli.parsing.parser import Parser
from tests.sim.attacks.flood import flood
from tests.sim.attacks.hostile_dht import AttackOutcome, Scale
from tests.sim.attacks.poison import accomplices, ghosts, private_addresses
from tests.sim.attacks.records import forgery, promises, replay, stuffing
from tests.sim.attacks.sybil import eclipse, late_eclipse, sybil

Attack = Callable[..., AttackOutcome]

ATTACKS: Final[Mapping[str, Attack]] = MappingProxyType(
    {
        "sybil": sybil,
        "eclipse": eclipse,
        "late-eclipse": late_eclipse,
        "private-addresses": private_addresses,
        "ghosts": ghosts,
        "accomplices": accomplices,
        "replay": replay,
        "forgery": forgery,
        "stuffing": stuffing,
        "promises": promises,
        "flood": flood,
    }
)
NOT_SWITCHED: Final = frozenset({"promises"})
"""Defences that are no setting."""
PEERS_LEAST = 20


def main(arguments: list[str]) -> int:
    """Run the attacks and print their figures.

    Returns:
        0.

    Raises:
        BadInput: the options cannot be used.
    """
    parser = _parser()
    args = parser.parse_args(arguments)
    if args.peers < PEERS_LEAST or not 0 < args.hostile < 1 or args.lookups < 1:
        parser.error(f"at least {PEERS_LEAST} peers and one lookup, and a share of hostile peers between 0 and 1")
    scale = Scale(peers=args.peers, hostile=args.hostile, seed=args.seed, lookups=args.lookups)
    outcomes: list[AttackOutcome] = []
    for name in args.attack or ATTACKS:
        for on in (True,) if name in NOT_SWITCHED else (True, False):
            outcomes.append(ATTACKS[name](scale, on=on))
            if not args.json and sys.stderr.isatty():
                sys.stderr.write(f"{name}: {'with' if on else 'without'} the defence\n")
    text = json.dumps([asdict(outcome) for outcome in outcomes]) if args.json else table(outcomes)
    sys.stdout.write(text + "\n")
    return 0


def table(outcomes: list[AttackOutcome]) -> str:
    """The outcomes in lines: what share of the lookups succeeded, and what harm was done."""
    lines = [f"{'attack':<22} {'defence':<54} {'on':<4} {'succeeded':>9} {'harm':>8}"]
    lines += [
        f"{one.attack:<22} {one.defence:<54} {'yes' if one.on else 'no':<4} {one.succeeded:>9.1%} {one.harm:>8.3g}"
        f"  {one.harm_is}"
        for one in outcomes
    ]
    return "\n".join(lines)


def _parser() -> Parser:
    parser = Parser(prog="python -m tests.sim attacks", description="Attacks on the DHT, simulated.")
    parser.add_argument("--peers", type=int, default=250, help="honest and hostile (default: 250)")
    parser.add_argument("--hostile", type=float, default=0.2, help="share of the peers (default: 0.2)")
    parser.add_argument("--seed", type=int, default=1, help="decides everything (default: 1)")
    parser.add_argument("--lookups", type=int, default=150, help="for each line of the table (default: 150)")
    parser.add_argument("--attack", action="append", choices=list(ATTACKS), help="only this one; may be repeated")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser
