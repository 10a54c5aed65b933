"""Rounds in which 7 of 16 members accuse others at random, and honest ones have bad luck: who is held for a liar.

python -m tests.attacks.means.accusers                    10,000 rounds
python -m tests.attacks.means.accusers --accusers 0       the same bad luck alone

An accuser is an honest member that does one of these in each round, drawn anew: it votes for other means of some
shares, tells false sums, complains that some reducers give nothing, or takes no Commit.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from random import Random
from typing import Any, Final

import msgspec
import numpy as np

from core.averaging.butterfly import Butterfly
from core.averaging.commit.fingerprints import plan_name, vote_name
from core.averaging.messages import Commit, Leaving, Status, to_bits
from core.base.ids import hashed_key
from core.base.machine import Received, Send
from tests.attacks.means.lies import Lie
from tests.attacks.means.luck import BadLuck
from tests.attacks.means.problem import Noise
from tests.attacks.means.series import Counts, Group, Series
from tests.sim.rounds.hostile import Hostile, Kind, KnownGroup
from tests.sim.world.signing import SimSigner

MEMBERS: Final = 16
NUMEL: Final = 16 * 256
SERIES: Final = 100
"""Rounds of one series, after which all memory is new."""
NO_ROUND: Final = b"\xff" * 32


def accuses(random: Random) -> Kind:
    """In each round another accusation, or none."""

    def kind(machine: Butterfly, group: KnownGroup) -> Hostile:
        ways: list[Kind] = [other_means(random), false_sums(random), complains(random), takes_no_commit, _honest]
        return random.choice(ways)(machine, group)

    return kind


def _honest(machine: Butterfly, group: KnownGroup) -> Hostile:
    del group
    return Hostile(machine)


def _altered(machine: Butterfly, alter: Callable[[Status], Status]) -> Hostile:
    def change(send: Send[Any], _: float) -> list[Send[Any]]:
        return [Send(send.to, alter(send.message)) if isinstance(send.message, Status) else send]

    return Hostile(machine, change)


def some(random: Random, machine: Butterfly, group: KnownGroup) -> frozenset[int]:
    """Some shares of other members."""
    shares = [share for share, count in enumerate(machine.plan.chunks) if count and share != group.place]
    return frozenset(random.sample(shares, min(len(shares), random.choice([1, 1, 2, 5]))))


def other_means(random: Random) -> Kind:
    """It votes as if it held other means of some shares."""

    def kind(machine: Butterfly, group: KnownGroup) -> Hostile:
        shares = some(random, machine, group)

        def alter(status: Status) -> Status:
            votes = enumerate(status.fingerprints)
            return msgspec.structs.replace(
                status, fingerprints=tuple(b"x" * 16 if s in shares else v for s, v in votes)
            )

        return _altered(machine, alter)

    return kind


def false_sums(random: Random) -> Kind:
    """It tells, and signs, false sums of some shares: as great as its own are."""

    def kind(machine: Butterfly, group: KnownGroup) -> Hostile:
        shares, signer = some(random, machine, group), SimSigner(group.peers[group.place])  # type: ignore[arg-type]

        def alter(status: Status) -> Status:
            if not status.sums:
                return status
            told = np.frombuffer(status.sums, dtype="<f4").reshape(len(group.peers), -1).copy()
            for share in shares:
                told[share] *= -1
            name = vote_name(plan_name(machine.plan), status.nonces, status.fingerprints)
            sums = told.tobytes()
            return msgspec.structs.replace(status, sums=sums, signature=signer.sign(hashed_key(b"sums", name, sums)))

        return _altered(machine, alter)

    return kind


def complains(random: Random) -> Kind:
    """It says that some reducers give it nothing."""

    def kind(machine: Butterfly, group: KnownGroup) -> Hostile:
        shares = some(random, machine, group)
        return _altered(machine, lambda status: msgspec.structs.replace(status, stalled=to_bits(shares)))

    return kind


def takes_no_commit(machine: Butterfly, group: KnownGroup) -> Hostile:
    """It never hears of a Commit."""
    del group

    def hears(event: Received[Any]) -> Received[Any]:
        message = event.message
        return Received(event.sender, Leaving(NO_ROUND)) if isinstance(message, Commit) else event

    return Hostile(machine, hears=hears)


def played(seed: int, accusers: int, rounds: int) -> Counts:
    """One series."""
    random = Random(seed)
    lie = Lie(name="accuses", kind=accuses(random))
    group = Group(members=MEMBERS, liars=accusers, lie=lie, chunks=1, seed=seed)
    return Series(group, luck=BadLuck(seed), problem=Noise(seed, NUMEL)).run(rounds).counts


def added(found: Iterable[Counts]) -> Counts:
    """All series together; says after each what there is so far."""
    whole = Counts()
    for counts in found:
        for name in ("rounds", "committed", "false", "remade", "split", "lacking", "chunks", "shares", "spared"):
            setattr(whole, name, getattr(whole, name) + getattr(counts, name))
        for name in ("named", "wronged", "unlucky", "confused", "stayed"):
            total: Counter[str] = getattr(whole, name)
            total.update(getattr(counts, name))
        whole.furthest = max(whole.furthest, counts.furthest)
        sys.stderr.write(f"{whole}\n")
        sys.stderr.flush()
    return whole


def main() -> int:
    """Print what honest members came to.

    Returns:
        0 when no false mean was committed, and no two honest members held different means; else 1.
    """
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=10_000)
    arguments.add_argument("--accusers", type=int, default=7)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--jobs", type=int, default=2)
    asked = arguments.parse_args()
    count = -(-asked.rounds // SERIES)
    seeds = range(asked.seed, asked.seed + count)
    with ProcessPoolExecutor(asked.jobs) as pool:
        rounds = min(SERIES, asked.rounds)
        found = added(pool.map(played, seeds, [asked.accusers] * count, [rounds] * count))
    for name in Counts.__dataclass_fields__:
        sys.stdout.write(f"{name:10} {getattr(found, name)}\n")
    return 1 if found.false or found.split else 0


if __name__ == "__main__":
    sys.exit(main())
