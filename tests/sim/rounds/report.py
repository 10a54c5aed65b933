"""What became of a pretended round, and whether it is right: against the exact mean, bit for bit on all members."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.averaging.balance.traffic import Line
from core.averaging.outcome import Outcome, RoundFailed, RoundFinished
from tests.sim.rounds.fleet_plan import RoundTask, fleet_plan, shares, vectors
from tests.sim.rounds.network import NetworkSettings
from tests.sim.rounds.run import Round


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundReport:
    """What became of a round.  Seconds are simulated, and count from the round's start."""

    seconds: float
    """Until the last member that lived had ended the round."""
    outcomes: tuple[Outcome | None, ...]
    """Outcome of each member; None: it did not finish."""
    reasons: tuple[str, ...]
    """Why each member failed; empty for those that finished or died."""
    ended_s: tuple[float | None, ...]
    """When each member ended the round; None: it never did."""
    dead: tuple[int, ...]
    sent_bytes: tuple[float, ...]
    """What each member's line carried of bulk."""
    received_bytes: tuple[float, ...]
    messages: int
    same: bool
    """Whether all who finished, the dead among them, hold the same mean, bit for bit, under the same name."""
    relative_error: float
    """Error of the mean against the exact one of those whose parts each chunk is said to hold, in float64: norm of the
    difference over the norm of the exact mean, at the first survivor that finished; the others' is the `same`."""
    marks: dict[str, int]
    """What the machines marked: misuse and incidents, over all of them."""

    @property
    def finished(self) -> int:
        """Number of members that committed the round, and so hold the mean."""
        return sum(1 for outcome in self.outcomes if outcome is not None)


def report_of(round_: Round) -> RoundReport:
    """What became of a round that has run."""
    alive = [member for member in range(len(round_.machines)) if member not in round_.dead]
    outcomes = [end.outcome if isinstance(end, RoundFinished) else None for end in round_.ends]
    finished = [member for member, outcome in enumerate(outcomes) if outcome is not None]
    holders = [member for member in finished if member in alive]
    marks: Counter[str] = Counter()
    for trace in round_.traces:
        marks.update(trace.counts())
    error = relative_error(round_.results[holders[0]], exact_mean(round_, holders[0])) if holders else 0.0
    return RoundReport(
        seconds=max((round_.ended_s[member] or round_.agenda.now for member in alive), default=0.0),
        outcomes=tuple(outcomes),
        reasons=tuple(end.reason if isinstance(end, RoundFailed) else "" for end in round_.ends),
        ended_s=tuple(round_.ended_s),
        dead=tuple(sorted(round_.dead)),
        sent_bytes=tuple(round_.network.sent_bytes),
        received_bytes=tuple(round_.network.received_bytes),
        messages=round_.network.messages,
        same=_same(round_, finished),
        relative_error=error,
        marks=dict(sorted(marks.items())),
    )


def _same(round_: Round, holders: Sequence[int]) -> bool:
    ends = [round_.ends[member] for member in holders]
    names = {end.outcome.fingerprint for end in ends if isinstance(end, RoundFinished)}
    return len(names) <= 1 and all(np.array_equal(round_.results[m], round_.results[holders[0]]) for m in holders)


def exact_mean(round_: Round, member: int) -> NDArray[np.float64]:
    """The mean in float64 of what `member` says is in each chunk of its result."""
    plan = round_.plan
    exact = np.zeros(plan.numel)
    samples = [m.samples for m in plan.members]
    for chunk in range(plan.chunk_total):
        contributors = round_.machines[member].contributors(chunk)
        givers = [m for m, weight in enumerate(samples) if weight and m in contributors]
        span = plan.span(chunk)
        whole = sum(samples[m] for m in givers)
        for giver in givers:
            exact[span] += samples[giver] / whole * round_.contributions[giver, span].astype(np.float64)
    return exact


def relative_error(found: NDArray[Any], exact: NDArray[np.float64]) -> float:
    """Norm of the difference over the norm of `exact`; without the threads that `numpy.linalg.norm` would start."""
    scale = float(np.square(exact).sum())
    return float((np.square(found - exact).sum() / scale) ** 0.5) if scale else 0.0


def simulate_round(
    lines: Sequence[Line],
    task: RoundTask,
    *,
    seed: int,
    chunks: Sequence[int] | None = None,
    portions: Sequence[int] | None = None,
    settings: NetworkSettings | None = None,
) -> RoundReport:
    """Run one round among members with these lines.

    Args:
        lines: The members'.
        task: What is averaged.
        seed: Decides the vectors, the leaders and everybody's name.
        chunks: How many chunks each member reduces; None: equally many for those who reduce.
        portions: How many 256ths of its chunks each member gives (`Balance.portions`); None: all.
        settings: The network's; None: its defaults.
    """
    plan = fleet_plan(lines, task, seed=seed, chunks=chunks or shares(lines, task, None), portions=portions)
    going = Round(plan, lines, task, contributions=vectors(plan, seed), settings=settings)
    going.run()
    return report_of(going)
