"""Rounds in which members die at random moments, under checkers."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.balance.portions import best_portions, covers
from core.averaging.balance.solver import share_chunks
from core.averaging.balance.traffic import Line, Work, fleet
from core.averaging.outcome import Outcome
from core.averaging.plan import WHOLE_PORTION, Plan
from core.codecs.registry import CODECS
from tests.sim.rounds.fleet_plan import RoundTask, fleet_plan, vectors
from tests.sim.rounds.fleets import log_uniform
from tests.sim.rounds.network import NetworkSettings
from tests.sim.rounds.report import RoundReport, relative_error, report_of
from tests.sim.rounds.run import Death, DeathWay, Round

MEMBERS = (4, 16)
PORTIONS_SHARE = 1 / 3
BYTES_PER_S = (15e3, 150e3)
"""So slow that a round of a small vector takes about as long as that of a model on home lines: 1 to 10 s."""
NETWORK = NetworkSettings(packet_bytes=4096)
"""Whole chunks, almost: nobody asks here how finely lines are shared."""
TOLERANCE = {"raw": 2e-6, "fp16": 1e-3}
"""Relative error that float32, and the codec, may add to a mean."""

LATE: Final = frozenset(f"averaging.drop.{what}" for what in ("request", "duplicate", "mean", "sender"))
"""Marks of a mean that is late: members ask each other for it, perhaps in vain, and then it comes twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeathVerdict:
    """How one round with deaths went.  Times in simulated seconds."""

    seed: int
    members: int
    died: int
    """Members that died before the round was over for them."""
    silent: int
    """Those of them whose links did not end at once."""
    problem: str
    """A checker's finding; empty when all is well."""
    succeeded: bool
    """All survivors hold the mean."""
    failed: int
    """Survivors that went home without it."""
    seconds: float
    lost_s: float
    """How much longer than without deaths."""
    partial: bool
    """The plan asked some for less than their whole contribution."""
    truncated: bool
    """A survivor's part is missing from the mean somewhere."""
    error: float
    """Relative error against the exact mean, in float64, of those whose parts each chunk holds."""
    survivors_error: float
    """The same against the exact mean of the survivors' whole contributions: what parts of the dead, and what the
    plan did not ask for, change."""

    def as_dict(self) -> dict[str, object]:
        """The verdict in a form for JSON."""
        return asdict(self)


def drawn_round(seed: int) -> tuple[Random, list[Line], RoundTask]:
    """The members' lines and what they average; the chance that is left is for the deaths."""
    random = Random(f"deaths {seed}")
    lines = [
        Line(
            up_bytes_per_s=log_uniform(random, *BYTES_PER_S),
            down_bytes_per_s=2 * log_uniform(random, *BYTES_PER_S),
            gives=index < 2 or random.random() < 0.9,
            reduces=index < 2 or random.random() < 0.9,
        )
        for index in range(random.randint(*MEMBERS))
    ]
    codec = random.choice(sorted(TOLERANCE))
    task = RoundTask(
        numel=random.randint(6_000, 24_000),
        chunk_numel=random.choice([512, 1024]),
        codec=codec,
        stall_timeout_s=6.0,
        round_timeout_s=60.0,
    )
    return random, lines, task


def drawn_portions(seed: int, lines: Sequence[Line]) -> list[int] | None:
    """In every third round some give only a part of their contribution, or nothing; None: everybody gives all."""
    random = Random(f"gifts {seed}")
    portions = [random.choice([0, 64, 128, 200, WHOLE_PORTION, WHOLE_PORTION]) if line.gives else 0 for line in lines]
    return portions if random.random() < PORTIONS_SHARE and covers(portions) else None


def drawn_deaths(random: Random, members: int, *, share: float, seconds: float) -> list[Death]:
    """`share` of the members, but at least one if any, at moments of a round of about `seconds`."""
    count = max(1, round(share * members)) if share else 0
    return [
        Death(
            member=member,
            at_s=random.uniform(0.0, seconds),
            way=random.choice([DeathWay.CRASH, DeathWay.POWER_CUT]),
            noticed_s=random.uniform(15.0, 18.0),
        )
        for member in random.sample(range(members), count)
    ]


def death_round(seed: int, *, share: float) -> DeathVerdict:
    """The round `seed`, first without deaths, then with them."""
    random, lines, task = drawn_round(seed)
    number_bytes = CODECS[task.codec].max_bytes(task.numel) / task.numel
    work = Work(numel=task.numel, number_bytes=number_bytes)
    members = fleet(lines, work)
    chunks = share_chunks(members, best_portions(members), total=task.chunk_total)
    samples = [random.randint(1, 100) if line.gives else 0 for line in lines]
    plan = fleet_plan(lines, task, seed=seed, chunks=chunks, portions=drawn_portions(seed, lines), samples=samples)
    calm = Round(plan, lines, task, contributions=vectors(plan, seed), settings=NETWORK)
    calm.run()
    undisturbed = report_of(calm)
    going = Round(plan, lines, task, contributions=calm.contributions, settings=NETWORK)
    going.run(drawn_deaths(random, len(lines), share=share, seconds=undisturbed.seconds))
    return _verdict(seed, task, going, undisturbed)


def _verdict(seed: int, task: RoundTask, going: Round, undisturbed: RoundReport) -> DeathVerdict:
    report = report_of(going)
    alive = [member for member in range(len(going.machines)) if member not in report.dead]
    holders = [member for member in alive if report.outcomes[member] is not None]
    unfinished = [member for member in report.dead if report.ended_s[member] is None]
    tolerance = TOLERANCE[task.codec]
    problem = _calm_problem(undisturbed, tolerance) or _problem(report, going.plan, alive, tolerance)
    return DeathVerdict(
        seed=seed,
        members=len(going.machines),
        died=len(unfinished),
        silent=sum(1 for member in unfinished if going.dead[member].way is DeathWay.POWER_CUT),
        problem=problem,
        succeeded=len(holders) == len(alive),
        failed=len(alive) - len(holders),
        seconds=round(report.seconds, 3),
        lost_s=round(report.seconds - undisturbed.seconds, 3),
        partial=bool(going.plan.portions),
        truncated=any(_lacks(report.outcomes[holder], going.plan, alive) for holder in holders[:1]),
        error=report.relative_error,
        survivors_error=_survivors_error(going, alive, holders),
    )


def _calm_problem(report: RoundReport, tolerance: float) -> str:
    if report.finished != len(report.outcomes):
        return "without deaths not everybody finished"
    if marks := report.marks.keys() - LATE:
        return f"without deaths something was marked: {', '.join(sorted(marks))}"
    if not report.same or report.relative_error > tolerance:
        return "without deaths the mean is wrong"
    return ""


def _problem(report: RoundReport, plan: Plan, alive: Sequence[int], tolerance: float) -> str:
    """The first rule violated that must hold whichever members die."""
    if not report.same:
        return "two members finished with different means"
    if report.relative_error > tolerance:
        return f"the mean is off by {report.relative_error:.2g} of those who are said to be in it"
    for member in alive:
        if report.ended_s[member] is None:
            return f"member {member} never ended the round"
    finished = [outcome for outcome in report.outcomes if outcome is not None]
    if len({(outcome.contributors, outcome.missing, outcome.versions) for outcome in finished}) > 1:
        return "members were told different things about who is missing"
    without_outcome = sum(1 for member in report.dead if report.outcomes[member] is None)
    if finished and 2 * (len(finished) + without_outcome) < len(plan.members):
        return "less than half of the members made a mean"
    return ""


def _lacks(outcome: Outcome | None, plan: Plan, alive: Sequence[int]) -> bool:
    missing = {peer for peer, _ in outcome.missing} if outcome is not None else set()
    return any(plan.peers[member] in missing for member in alive)


def _survivors_error(going: Round, alive: Sequence[int], holders: Sequence[int]) -> float:
    weights = np.array([going.plan.members[member].samples for member in alive], dtype=np.float64)
    if not holders or not weights.sum():
        return 0.0
    exact: NDArray[np.float64] = np.average(going.contributions[list(alive)], axis=0, weights=weights)
    return relative_error(going.results[holders[0]], exact)
