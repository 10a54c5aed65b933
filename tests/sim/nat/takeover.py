"""`python -m tests.sim.nat.takeover`: how long a relayed transfer stands still when its relay dies.

Both ends are behind routers that let nobody in.  Each case draws distances, traffic and the moment of death from its
seed; every fifth has the longest distances everywhere.
"""

import argparse
import json
import sys
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Literal

from core.base.ids import PeerId
from tests.sim.nat.homes import SimulatedHome
from tests.sim.nat.world import NatWorld
from tests.sim.world.links import LinkSettings, chance

ROUND_TRIP_S: Final = 0.150
"""Between any two peers at most; through a relay twice that."""
SETTLE_S: Final = 20.0
CALL_S: Final = 12.0
LOOK_S: Final = 0.005
PATIENCE_S: Final = 25.0
TARGET_S: Final = 2.0
CHUNK_BYTES: Final = 16 * 1024
CHUNK_EVERY_S: Final = 0.02
WORD_BYTES: Final = 500
WORD_EVERY_S: Final = 0.5
Traffic = Literal["bulk", "words", "none"]
Death = Literal["silent", "loud"]
DEATHS: Final[tuple[Death, ...]] = ("silent", "silent", "silent", "loud")
PATTERNS: Final[tuple[tuple[Traffic, Traffic], ...]] = (
    ("bulk", "none"), ("none", "bulk"), ("bulk", "bulk"), ("words", "none"), ("none", "words"), ("words", "bulk"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    """Result of one case.

    Attributes:
        seconds: From the relay's death, or from when the first missing byte was written if that was later, until such a
            byte arrived by another relay; the slower direction's.  None: it never did.
        kept: No byte was lost, repeated or changed.
    """

    seed: int
    death: Death
    traffic: tuple[Traffic, Traffic]
    far: bool
    seconds: float | None
    kept: bool

    @property
    def ok(self) -> bool:
        """Whether the take-over kept its promises."""
        return self.kept and self.seconds is not None and self.seconds <= TARGET_S


class _Direction:
    """One end writes, the other one reads."""

    def __init__(
        self, world: NatWorld, home: SimulatedHome, other: SimulatedHome, *, circuit: bytes, random: Random
    ) -> None:
        self._world, self._home, self._other, self._circuit, self._random = world, home, other, circuit, random
        self._before = len(other.got[circuit])
        self.written = bytearray()
        self._marks: list[tuple[int, float]] = []
        """How much had been written before each write, and when it was."""
        self.running = True

    @property
    def arrived(self) -> int:
        return len(self._other.got[self._circuit]) - self._before

    @property
    def whole(self) -> bool:
        return bytes(self._other.got[self._circuit][self._before :]) == bytes(self.written)

    def relay(self) -> PeerId | None:
        """By which relay bytes come to the reader now."""
        opened = self._other.machine.circuits.opened.get(self._circuit)
        return None if opened is None else opened.endpoint.relay

    def due_at(self, offset: int, died_at: float) -> float | None:
        """From when on the byte at `offset` was to arrive; None: it has not been written."""
        if offset >= len(self.written):
            return None
        return max(died_at, next(at for begin, at in reversed(self._marks) if begin <= offset))

    def write(self, traffic: Traffic) -> None:
        """Write, and plan to write again."""
        if not self.running or traffic == "none":
            return
        opened = self._home.machine.circuits.opened.get(self._circuit)
        room = 0 if opened is None else opened.endpoint.sending.room
        data = self._random.randbytes(min(room, CHUNK_BYTES if traffic == "bulk" else WORD_BYTES))
        if data:
            self._marks.append((len(self.written), self._world.now))
            self.written += data
            self._world.use(self._home, self._circuit, lambda endpoint: endpoint.write(data, self._world.now))
        every_s = CHUNK_EVERY_S if traffic == "bulk" else self._random.expovariate(1 / WORD_EVERY_S)
        self._world.agenda.after(every_s, self.write, traffic)


def case(seed: int) -> Takeover:
    """Play one case.

    Raises:
        RuntimeError: the two did not even get a circuit.
    """
    random = chance(seed, "takeover")
    far = seed % 5 == 0
    most_s = ROUND_TRIP_S / 4
    access_s = (most_s, most_s) if far else (0.001, most_s / 3)
    world = NatWorld(seed, links=LinkSettings(access_s=access_s, around_s=0.0 if far else ROUND_TRIP_S / 3))
    a, b, circuit = _circuit(world, helpers=random.randint(2, 8))
    traffic, death = random.choice(PATTERNS), random.choice(DEATHS)
    ends = ((a, b), (b, a))
    directions = [_Direction(world, one, two, circuit=circuit, random=random) for one, two in ends]
    for direction, kind in zip(directions, traffic, strict=True):
        direction.write(kind)
    world.run(random.uniform(0.5, 4.0))
    seconds = _kill_and_wait(world, directions, loud=death == "loud")
    for direction in directions:
        direction.running = False
    world.run(PATIENCE_S)
    kept = all(direction.whole for direction in directions)
    return Takeover(seed=seed, death=death, traffic=traffic, far=far, seconds=seconds, kept=kept)


def _circuit(world: NatWorld, *, helpers: int) -> tuple[SimulatedHome, SimulatedHome, bytes]:
    public = [world.add("public") for _ in range(helpers)]
    a, b = world.add("symmetric"), world.add("symmetric")
    for home in (*public, a, b):
        world.start(home)
        for other in public:
            if other is not home:
                world.introduce(home, other, relay=True)
    world.run(SETTLE_S)
    world.dial(a, b)
    world.run(CALL_S)
    if len(a.circuits) != 1:
        raise RuntimeError(f"no circuit in world {world.seed}")
    return a, b, next(iter(a.circuits))


def _kill_and_wait(world: NatWorld, directions: list[_Direction], *, loud: bool) -> float | None:
    """The relay dies; seconds until bytes come again in all directions in which there are any."""
    dead = directions[0].relay()
    assert dead is not None
    world.kill(world.homes[dead], loud=loud)
    died_at, last = world.now, world.now + PATIENCE_S
    waiting = {direction: direction.arrived for direction in directions}
    seconds: float | None = None
    while world.now < last:
        for direction, arrived in list(waiting.items()):
            if direction.relay() in {None, dead}:
                waiting[direction] = direction.arrived
                continue
            due_at = direction.due_at(arrived, died_at)
            if direction.arrived > arrived and due_at is not None:
                seconds = max(seconds or 0.0, world.now - due_at)
                del waiting[direction]
        if not any(direction.written for direction in waiting):
            return seconds
        world.run(LOOK_S)
    return None


def distribution(takeovers: list[Takeover]) -> dict[str, Any]:
    """Quantiles of the seconds over several take-overs."""
    times = sorted(takeover.seconds for takeover in takeovers if takeover.seconds is not None)
    silent = sorted(t.seconds for t in takeovers if t.seconds is not None and t.death == "silent")
    return {
        "cases": len(takeovers),
        "failed": [takeover.seed for takeover in takeovers if not takeover.ok],
        "bytes_lost": sum(not takeover.kept for takeover in takeovers),
        "seconds": _quantiles(times),
        "silent_seconds": _quantiles(silent),
    }


def _quantiles(times: list[float]) -> dict[str, float]:
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
    return {name: round(times[min(len(times) - 1, int(share * len(times)))], 3) for name, share in shares.items()}


def main(arguments: list[str] | None = None) -> int:
    """Run it from the command line; 1 if a case took too long or lost bytes."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim.nat.takeover", description=__doc__)
    parser.add_argument("--cases", type=int, default=500, metavar="N", help="(default: 500)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the first case (default: 0)")
    options = parser.parse_args(arguments)
    if options.cases < 1:
        parser.error("at least one case")
    takeovers = [case(seed) for seed in range(options.seed, options.seed + options.cases)]
    figures = distribution(takeovers)
    sys.stdout.write(json.dumps(figures) + "\n")
    return 1 if figures["failed"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
