"""Which members give their contributions, and how much of them (c of S000 appendix B).

A slow peer's contribution can cost the others more time than its samples are worth; then it gives a part of it, or
assists only.  S000 chooses whole givers by a mixed integer program, and leaves parts (c between 0 and 1) to others.
Times the shares, a portion is a product of two variables.  So the program is solved as a row of linear ones, each near
the last one's answer: portions move by no more than a step that shrinks when it does not help, and shares are found
anew for every choice: each is divided exactly.  It starts from members that give all they have.

At last, contributions that a round could take along for nothing are filled in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from core.averaging.allreduce.share_map import STRIDE
from core.averaging.balance.shares import best_shares, level_shares
from core.averaging.balance.traffic import Fleet, Floats, rows, seconds_of
from core.averaging.plan import WHOLE_PORTION
from core.base.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEPS: Final = 12
"""Upper bound on the linear programs of a search."""
STEP_MIN: Final = 1 / 32
"""Part of a contribution: a smaller step is not worth a linear program: portions are raised by as much at last."""
STARTS: Final = 16
"""Number of times, and for each of numbers of givers, that are tried for the first choice."""
RAISE: Final = 32
"""256ths by which a portion is raised to see whether that costs anything."""
WEIGHT_UNIT: Final = 1 << 30
"""A share of the whole vector as a weight; less than half of one of these counts as 0."""
FREE: Final = 2e-4
"""Part of the steps a second that counts as nothing, and of a round's time that giving all there is may take.  A member
that verifies uses half of it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """How a round is divided: portions, with the shares that make their round shortest.

    Equal input gives equal output on one machine; others verify, they do not recompute.
    """

    gives: Floats
    """What part of its contribution each member gives; shape N."""
    shares: Floats
    seconds: float
    """Time that a round takes, seconds."""
    steps_per_s: float
    """As `steps_per_s_of` has it."""
    samples_per_s: float
    """What is given of what is computed."""

    @property
    def portions(self) -> tuple[int, ...]:
        """How many 256ths of its chunks each member gives; `WHOLE_PORTION`: all (c_i = 1), 0: none (c_i = 0)."""
        return tuple(int(portion) for portion in np.rint(self.gives * WHOLE_PORTION))

    @property
    def weights(self) -> tuple[int, ...]:
        """Each member's share of the reducing, in whole numbers of any sum: for `apportion`."""
        return weights_of(self.shares)

    def beats(self, other: Choice, *, by: float = 1e-9) -> bool:
        """More steps; or as many, from more samples."""
        if abs(self.steps_per_s - other.steps_per_s) > by * max(self.steps_per_s, other.steps_per_s):
            return self.steps_per_s > other.steps_per_s
        return self.samples_per_s > other.samples_per_s * (1 + by)


def divided(members: Fleet, gives: Floats) -> Choice:
    """These portions with their best shares.

    Args:
        members: The members of the round.
        gives: What part of its contribution each gives, 0 to 1; shape N.
    """
    shares = best_shares(members, gives)
    seconds = seconds_of(members, gives=gives, shares=shares)
    samples = float(members.samples @ gives)
    return Choice(gives, shares, seconds, float(steps_per_s_of(members, samples, seconds)), samples)


def best_portions(members: Fleet) -> Choice:
    """The portions with the most steps a second that are found, in whole 256ths that give every chunk."""
    best = divided(members, members.gives)
    if all_give(members, best) or members.gives.sum() < 2:
        return best
    return filled(members, _searched(members, _better(members, best, _start(members))))


def _better(members: Fleet, best: Choice, gives: Floats) -> Choice:
    """The best so far, or a choice near these portions that beats it by more than nothing."""
    for choice in covering(gives):
        found = divided(members, choice)
        best = found if found.beats(best, by=FREE) else best
    return best


def all_give(members: Fleet, choice: Choice) -> bool:
    """Whether all members give all they have, and no choice is better.

    Without a target batch, or where a round is over before the next batch is computed: a shorter one gains nothing.
    """
    in_time = members.overlaps and choice.samples_per_s * choice.seconds <= members.target_samples
    return bool((in_time or not members.target_samples) and choice.gives.sum() == members.gives.sum())


def covers(portions: Sequence[int]) -> bool:
    """Whether every chunk of a long vector has a giver (`allreduce.share_map.gives_chunk`).

    That depends on the portions alone: from epoch to epoch all members' chunks turn together.
    """
    chunks = (np.arange(WHOLE_PORTION)[:, None] - np.arange(len(portions))) * STRIDE
    return bool((chunks % WHOLE_PORTION < np.array(portions)).any(axis=1).all())


def covering(gives: Floats) -> list[Floats]:
    """Portions in whole 256ths; where they leave chunks without a giver, with all raised, or the largest whole."""
    portions = np.floor(gives * WHOLE_PORTION + 1e-6).astype(np.int64)
    if covers(portions.tolist()):
        return [portions / WHOLE_PORTION]
    whole = portions.copy()
    whole[int(gives.argmax())] = WHOLE_PORTION
    while portions.any() and not covers(portions.tolist()):
        portions = np.where(portions > 0, np.minimum(WHOLE_PORTION, portions + 1), 0)
    return [whole / WHOLE_PORTION, portions / WHOLE_PORTION] if portions.any() else [whole / WHOLE_PORTION]


def line_steps(members: Fleet, gives: Floats) -> Floats:
    """Steps a second of many choices at once, pair limits aside: a bound where there are some.

    Args:
        members: The members of the round.
        gives: K x N.

    Returns:
        Shape K.
    """
    lines = rows(members, gives)
    seconds = lines.seconds(level_shares(lines, np.zeros(members.size), members.cap)).max(axis=-1)
    return steps_per_s_of(members, gives @ members.samples, seconds)


def free_raises(members: Fleet, choice: Choice, *, cost: float = FREE) -> NDArray[np.int64]:
    """The members that could give `RAISE` 256ths more, each alone, for no more than `cost` of the steps a second.

    With pair limits that is asked of the shares as they are, so that it takes no linear program.
    """
    who = np.flatnonzero(choice.gives < members.gives - 0.5 / WHOLE_PORTION)
    if not len(who):
        return who
    raised = np.repeat(choice.gives[None], len(who), axis=0)
    raised[np.arange(len(who)), who] = np.minimum(members.gives[who], choice.gives[who] + RAISE / WHOLE_PORTION)
    if len(members.rate):
        seconds = np.array([seconds_of(members, gives=gives, shares=choice.shares) for gives in raised])
        steps = steps_per_s_of(members, raised @ members.samples, seconds)
    else:
        steps = line_steps(members, raised)
    return np.asarray(who[steps >= choice.steps_per_s * (1 - cost)])


def filled(members: Fleet, choice: Choice) -> Choice:
    """The choice with all raised that can be for nothing, most samples first: none is left out without a reason."""
    while len(free := free_raises(members, choice)):
        free = free[np.argsort(-members.samples[free], kind="stable")]
        while True:
            gives = choice.gives.copy()
            gives[free] = np.minimum(members.gives[free], gives[free] + RAISE / WHOLE_PORTION)
            raised = divided(members, gives)
            if len(free) == 1 or raised.steps_per_s >= choice.steps_per_s * (1 - FREE):
                break
            free = free[: len(free) // 2]
        choice = raised
    return choice


def _start(members: Fleet) -> Floats:
    """The best first choice for the lines: members with the most samples give what they can send within a time."""
    whole_s = members.vector_bytes / members.up
    times = np.geomspace(whole_s.min(), whole_s.max(), STARTS)
    timely = members.gives * np.minimum(1.0, times[:, None] / whole_s)
    place = np.argsort(np.argsort(-members.samples, kind="stable"), kind="stable")
    kept = place < np.linspace(1, members.gives.sum(), STARTS)[:, None]
    starts = (timely[:, None] * kept).reshape(-1, members.size)
    steps = np.where(starts.sum(axis=1) >= 1, line_steps(members, starts), 0.0)
    return np.asarray(starts[np.lexsort((-(starts @ members.samples), -steps))[0]])


def _searched(members: Fleet, best: Choice) -> Choice:
    """What a row of linear programs makes of a choice."""
    step, near = 1.0, best.shares
    for _ in range(STEPS):
        if step < STEP_MIN or best.seconds <= 0:
            break
        found = _better(members, best, _nearby(members, best, near=near, step=step))
        if found is not best:
            best, near = found, found.shares
        else:
            step = step if near is best.shares else step / 4
            near = 0.5 * near + 0.5 * members.cap / members.cap.sum()
    return best


def _nearby(members: Fleet, here: Choice, *, near: Floats, step: float) -> Floats:
    """The portions that solve the linear program near a choice: products are replaced by their tangents.

    Its variables are shares, portions, and the round's time over the present one; its rows are lines, pairs, the target
    batch (samples a round, whose tangent in the time is used), and a giver for every chunk.  Where a step takes the sum
    of computing and averaging, the batch has no row: the tangent of its seconds, B / S(c), is a cost of the portions.

    Args:
        members: The members of the round.
        here: The choice.
        near: Shares near which products are replaced.
        step: The most that a portion may move.
    """
    from scipy.optimize import linprog  # noqa: PLC0415 - an idle engine does without it

    size, samples, c, unit_s = members.size, members.samples, here.gives, here.seconds
    lines, own = rows(members, c), np.eye(size)
    part_up, part_down = members.vector_bytes / members.up, members.vector_bytes / members.down
    up = np.concatenate([np.diag(lines.slope[0]), np.diag(part_up * (1 - near))], axis=1)
    down = np.concatenate([np.diag(lines.slope[1]), (part_down * near)[:, None] * (1 - own)], axis=1)
    line_rights = np.concatenate([-part_up * c * near, part_down * near * (c.sum() - c) - lines.base[1]])
    busy = np.flatnonzero(members.pair_seconds(c, near) > unit_s / 4)
    parts, means = (each[busy] for each in members.pair_slopes(c))
    source, target = members.source[busy], members.target[busy]
    pairs, place = np.zeros((len(busy), 2 * size)), np.arange(len(busy))
    pairs[place, target], pairs[place, source] = parts, means
    pairs[place, size + source] = members.vector_bytes / members.rate[busy] * near[target]
    timed = np.concatenate([up, down, pairs]) / unit_s
    if members.overlaps:
        batch, batch_right = samples * unit_s / members.target_samples, -2.0
        worth = FREE * samples / samples.sum()
    else:
        batch, batch_right = np.zeros(size), 0.0
        worth = members.target_samples / here.samples_per_s**2 * samples / unit_s
    givers = np.concatenate([np.zeros(size), -members.gives])
    low, high = (np.clip(c + move, 0.0, members.gives) for move in (-step, step))
    found = linprog(
        np.concatenate([np.zeros(size), -worth, [1.0]]),
        A_ub=np.block(
            [
                [timed, -np.ones((len(timed), 1))],
                [np.zeros(size), -batch, np.array([-1.0])],
                [givers, np.zeros(1)],
            ]
        ),
        b_ub=np.concatenate([line_rights / unit_s, parts * near[target] / unit_s, [batch_right, -1.0]]),
        A_eq=np.concatenate([np.ones(size), np.zeros(size + 1)])[None],
        b_eq=[1.0],
        bounds=[*((0.0, cap) for cap in members.cap), *zip(low, high, strict=True), (0.0, None)],
        method="highs",
    )
    return c if found.x is None else np.clip(found.x[size : 2 * size], low, high)


def weights_of(shares: Floats) -> tuple[int, ...]:
    """Shares as whole numbers; equal shares stay equal."""
    return tuple(int(weight) for weight in np.rint(shares * WEIGHT_UNIT))


def steps_per_s_of(members: Fleet, samples_per_s: Floats | float, seconds: Floats | float) -> Floats:
    """The optimiser steps a second that a choice allows; of rounds where there is no target batch.

    A step takes as long as its batch or its round, whichever is longer; where computing stands still in it, both.

    Args:
        members: The members of the round.
        samples_per_s: What is given of what is computed.
        seconds: Duration of the round.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        batch_s = np.nan_to_num(members.target_samples / np.asarray(samples_per_s, dtype=np.float64))
    step_s = np.maximum(batch_s, seconds) if members.overlaps else batch_s + np.asarray(seconds)
    return np.asarray(1.0 / np.maximum(step_s, 1e-300))
