"""`python -m tests.sim nat`: how peers behind routers reach each other, at the size of a whole collaboration.

The mix of routers follows public measurements: about two thirds endpoint-independent among those behind one (Ford,
Srisuresh and Kegel 2005; Tailscale 2020), and 70 % of punches that should work do (libp2p's DCUtR campaign, 2022).
"""

import json
import sys
import time
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

from core.api.numbers import amount
from core.cli.parsing.parser import Parser
from tests.sim.nat.boxes import Nature
from tests.sim.nat.homes import SimulatedHome
from tests.sim.nat.world import NatWorld
from tests.sim.world.links import chance

MIX: dict[Nature, float] = {"public": 0.12, "kept": 0.42, "moved": 0.16, "symmetric": 0.30}
RELAYS_KNOWN = 12
PEERS_LEAST = 20
"""With fewer peers one or none is public: nobody could carry anything for the others."""
SETTLE_S = 60.0
JOIN_S = 120.0
KEEP_S = 60.0
LOAD_AFTER_S = 20.0
"""Seconds after a call after which links that are still relayed carry `LOAD_BYTES`: punches have had their time."""
LOAD_BYTES = 256 * 1024
"""One chunk of an averaging round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NatTrial:
    """One run.

    Attributes:
        peers: How many.
        seed: Decides everything.
        calls: Of each peer, to peers drawn at random.
        over_s: Seconds over which the calls are spread.
        field_success: See `NatWorld`.
    """

    peers: int
    seed: int
    calls: int = 5
    over_s: float = 600.0
    field_success: float = 0.7

    def run(self) -> dict[str, Any]:
        """Run the trial, and return its figures."""
        world = NatWorld(self.seed, field_success=self.field_success)
        random = chance(self.seed, "trial")
        homes = _join(world, self.peers, random)
        world.run(JOIN_S + SETTLE_S)
        standings = Counter(f"{home.box.nature}: {home.machine.reach.standing}" for home in homes)
        pairs: list[tuple[SimulatedHome, SimulatedHome]] = []
        for home in homes:
            for other in random.sample(homes, self.calls + 1)[: self.calls]:
                if other is not home:
                    pairs.append((home, other))
                    world.agenda.after(random.uniform(0, self.over_s), self._call, world, home, other)
        world.run(self.over_s + KEEP_S + 30)
        return {**_figures(world, homes, pairs), "standings": dict(sorted(standings.items()))}

    @staticmethod
    def _call(world: NatWorld, home: SimulatedHome, other: SimulatedHome) -> None:
        if other.peer in home.links or any(peer == other.peer for peer, _, _ in home.circuits.values()):
            return
        world.dial(home, other)
        world.agenda.after(LOAD_AFTER_S, _load, world, home, other)
        world.agenda.after(KEEP_S, world.part, home, other)


def _join(world: NatWorld, peers: int, random: Random) -> list[SimulatedHome]:
    natures: list[Nature] = [nature for nature, share in MIX.items() for _ in range(round(share * peers))]
    natures = (natures + ["kept"] * peers)[:peers]
    random.shuffle(natures)
    homes = [world.add(nature) for nature in natures]
    public = [home for home in homes if home.box.nature == "public"]
    for home in homes:
        world.agenda.after(random.uniform(0, JOIN_S), _begin, world, home, public, random)
    return homes


def _begin(world: NatWorld, home: SimulatedHome, public: list[SimulatedHome], random: Random) -> None:
    world.start(home)
    for other in random.sample(public, min(RELAYS_KNOWN, len(public))):
        if other is not home:
            world.introduce(home, other, relay=True)


def _load(world: NatWorld, home: SimulatedHome, other: SimulatedHome) -> None:
    if other.peer in home.links:
        return
    for circuit in [name for name, (peer, called, _) in home.circuits.items() if peer == other.peer and called]:
        world.use(
            home, circuit, lambda endpoint: endpoint.write(bytes(min(LOAD_BYTES, endpoint.sending.room)), world.now)
        )


def _figures(
    world: NatWorld, homes: list[SimulatedHome], pairs: list[tuple[SimulatedHome, SimulatedHome]]
) -> dict[str, Any]:
    called = [(a, b) for a, b in pairs if (a.peer, b.peer) in world.began]
    ways: Counter[str] = Counter()
    private: Counter[str] = Counter()
    for a, b in called:
        ended = a.ended.get(b.peer)
        name = "failed" if ended is None or ended.way is None else ended.way.name.lower()
        ways[name] += 1
        if "public" not in {a.box.nature, b.box.nature}:
            private["direct" if name not in {"failed", "relay"} else name] += 1
    first = sorted(s for s, _ in world.first_byte_s.values())
    relays = [home.machine.relay for home in homes if home.box.nature == "public"]
    direct = sum(count for name, count in ways.items() if name not in {"failed", "relay"})
    count = max(1, len(called))
    return {
        "pairs": len(called),
        "direct": round(direct / count, 4),
        "relayed": round(ways["relay"] / count, 4),
        "failed": ways["failed"],
        "ways": dict(sorted(ways.items())),
        "both_private": {name: round(n / max(1, sum(private.values())), 4) for name, n in sorted(private.items())},
        "first_byte_s": {"p50": _quantile(first, 0.5), "p95": _quantile(first, 0.95), "max": _quantile(first, 1.0)},
        "relays": len(relays),
        "circuits_allowed": relays[0].settings.circuits if relays else 0,
        "peak_circuits": _spread([relay.peak_circuits for relay in relays]),
        "carried_bytes": _spread([relay.queue.moved_bytes for relay in relays]),
        "reservations": dict(sorted(Counter(home.machine.reach.relays for home in homes).items())),
        "messages": sum(world.messages.values()),
        "misuse": dict(sum((Counter(home.trace.counts()) for home in homes), Counter())),
    }


def _spread(loads: list[int]) -> dict[str, float]:
    """How the load is spread over the relays."""
    loads = sorted(loads)
    return {"p50": _quantile(loads, 0.5), "p95": _quantile(loads, 0.95), "max": max(loads, default=0)}


def _quantile(values: list[Any], share: float) -> float:
    return round(float(values[min(len(values) - 1, int(share * len(values)))]), 3) if values else 0.0


def main(arguments: list[str] | None = None) -> int:
    """Run it from the command line; 1 if a pair failed."""
    parser = Parser(prog="python -m tests.sim nat", description="How peers behind routers reach each other.")
    parser.add_argument("--peers", type=int, default=2000, metavar="N", help="(default: 2000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="decides everything (default: 1)")
    parser.add_argument("--calls", type=int, default=5, metavar="N", help="of each peer (default: 5)")
    parser.add_argument(
        "--field",
        type=float,
        default=0.7,
        metavar="SHARE",
        help="of the pairs that should get a punch through, those that do (default: 0.7)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    if options.peers < PEERS_LEAST or not 0 < options.calls < options.peers or not 0 <= options.field <= 1:
        parser.error(f"at least {PEERS_LEAST} peers, 1 to peers - 1 calls of each, and a share between 0 and 1")
    began = time.perf_counter()
    trial = NatTrial(peers=options.peers, seed=options.seed, calls=options.calls, field_success=options.field)
    figures = {"peers": options.peers, "seed": options.seed, **trial.run()}
    figures["seconds"] = round(time.perf_counter() - began, 1)
    sys.stdout.write((json.dumps(figures) if options.json else _report(figures)) + "\n")
    return 1 if figures["failed"] else 0


def _report(figures: dict[str, Any]) -> str:
    first = figures["first_byte_s"]
    peak, carried = figures["peak_circuits"], figures["carried_bytes"]
    return (
        f"{amount(figures['pairs'])} pairs of {amount(figures['peers'])} peers: {figures['direct']:.1%} direct, "
        f"{figures['relayed']:.1%} relayed, {figures['failed']} failed.\n"
        f"First byte after {first['p50']} s (p95 {first['p95']} s). "
        f"{figures['relays']} relays carried at most {peak['p50']:g} circuits at once "
        f"(p95 {peak['p95']:g}, most {peak['max']:g}; {figures['circuits_allowed']} are allowed), "
        f"and {carried['p50'] / 1e6:.1f} MB (p95 {carried['p95'] / 1e6:.1f}, most {carried['max'] / 1e6:.1f})."
    )
