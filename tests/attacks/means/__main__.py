"""Rounds with reducers and senders that lie, each kind with the defence and without it: a table.

python -m tests.attacks.means                     1,000 rounds of each kind with the defence
python -m tests.attacks.means --rounds 40 --only turned
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Final

from tests.attacks.means.lies import REDUCERS, SENDERS, Lie
from tests.attacks.means.series import Counts, Group, Series

SIZES: Final = ((3, 1, 2), (8, 1, 1), (8, 3, 1))
"""Members, liars among them, and quarters of a kind's rounds."""
LOOK_AT: Final = 58
"""Number of steps after which losses are compared."""
OFF_ROUNDS: Final = 60
"""Without the defence: an attack that succeeds does so in each round."""
HONEST: Final = "all honest"
LIES: Final = {lie.name: lie for lie in (*REDUCERS, *SENDERS)}


@dataclass(frozen=True, slots=True)
class Job:
    """One series."""

    name: str
    members: int
    liars: int
    rounds: int
    defended: bool
    codec: str
    seed: int

    @property
    def group(self) -> Group:
        """Who is in its rounds; what is switched off is what holds that kind of liar."""
        lie = LIES.get(self.name, Lie(name=self.name))
        clipped = self.defended or lie not in SENDERS
        return Group(
            members=self.members,
            liars=self.liars if self.name in LIES else 0,
            lie=lie,
            proven=self.defended,
            clipped=clipped,
            codec=self.codec,
            seed=self.seed,
        )


def played(job: Job) -> tuple[Job, Counts, float]:
    """A series, what came of it, and its loss where losses are compared; 0: it never came there."""
    series = Series(job.group).run(job.rounds, look_at=(LOOK_AT,))
    return job, series.counts, series.losses.get(LOOK_AT, 0.0)


def jobs(asked: argparse.Namespace) -> Iterator[Job]:
    """All series, in the order of the table."""
    for members, liars, quarters in SIZES:
        rounds = asked.rounds * quarters // 4
        yield Job(HONEST, members, liars, rounds, True, asked.codec, asked.seed)
        for name in asked.only or LIES:
            yield Job(name, members, liars, rounds, True, asked.codec, asked.seed)
            yield Job(name, members, liars, min(rounds, OFF_ROUNDS), False, asked.codec, asked.seed)


def row(job: Job, counts: Counts, loss: float, honest: float) -> str:
    """One line of the table."""
    name = job.name if job.defended else "  without the defence"
    more = f"{100 * (loss / honest - 1):+8.1f} %" if loss and honest else f"{'-':>10}"
    return (
        f"{name:32}{counts.rounds:>7,}{counts.committed:>10,}{counts.false:>7,}{counts.remade:>8,}{counts.split:>6}"
        f"{counts.stayed['all']:>8,}{100 * counts.lacking / max(1, counts.chunks):>8.2f} %{loss:>8.3f}{more}"
        f"{counts.furthest:>10.1e}{counts.shares / max(1, counts.rounds * job.liars):>8.2f}"
        f"   {said(counts.named):40} {said(counts.wronged)}"
    )


def said(named: Counter[str]) -> str:
    """Kinds with how often."""
    return ", ".join(f"{kind} {count:,}" for kind, count in sorted(named.items())) or "-"


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Print the table.

    Returns:
        0 when no false mean was committed with the defence, and no two honest members held different means; else 1.
    """
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=1000, help="of each kind, half of them among three members")
    arguments.add_argument("--only", nargs="+", choices=[*LIES], help="these kinds")
    arguments.add_argument("--codec", default="raw", choices=["raw", "fp16", "bf16", "u8", "b8"])
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--jobs", type=int, default=2)
    asked = arguments.parse_args()
    failed, honest, size = 0, 0.0, (0, 0)
    with ProcessPoolExecutor(asked.jobs) as pool:
        for job, counts, loss in pool.map(played, jobs(asked)):
            if (job.members, job.liars) != size:
                size, honest = (job.members, job.liars), loss
                say(f"\n{job.liars} of {job.members} lie")
                say(
                    f"{'':32}{'rounds':>7}{'committed':>10}{'false':>7}{'remade':>8}{'split':>6}{'stayed':>8}"
                    f"{'lacking':>10}{'loss':>8}{'':>10}{'off by':>10}{'shares':>8}   {'liars named':40} honest named"
                )
            say(row(job, counts, loss, honest))
            failed += job.defended and bool(counts.false or counts.split)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
