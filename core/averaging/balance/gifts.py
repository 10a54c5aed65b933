"""Which members give their contributions, and how much of them (c of S000 appendix B).

A slow peer's contribution can cost the others more time than its samples are worth; then it gives a part of it, or
assists only.  S000 chooses whole givers by a mixed integer program, and leaves parts (c between 0 and 1) to others.
Times the shares, a gift is a product of two variables.  So the program is solved as a row of linear ones, each near the
last one's answer: gifts move by no more than a step that shrinks when it does not help, and shares are found anew for
every choice: each is divided exactly.  It starts from what members can send in time.

At last, contributions that a round could take along for nothing are filled in.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.balance.merit import Merit, line_steps, merit, rounded, settled, steps_per_s
from core.averaging.balance.shares import alike, evened
from core.averaging.balance.traffic import Fleet, Floats, Pairs, seconds_of
from core.averaging.plan import WHOLE_GIFT

TRIALS: Final = 4
"""Number of choices that are divided exactly, the most promising ones first: two cost one of 84 random fleets 1.7 %."""
STEPS: Final = 6
"""Upper bound on the linear programs of a row: with four some small fleets are 1 % from the best that a grid finds."""
LARGE: Final = 64
"""Number of members above which pair limits allow no linear program for gifts: it would take seconds."""
STEP_MIN: Final = 1 / 32
"""Part of a contribution: a smaller step is not worth a linear program, since gifts are raised by as much at last."""
GAIN: Final = 1e-3
"""Part of the steps a second; a step that wins less is the last of its size."""
SAMPLES_WORTH: Final = 1e-4
"""Part of a round's time that may be spent on giving all there is."""
EVEN_COST: Final = 2e-3
"""Part of the steps a second that may be spent on treating equal members alike: well within what members tolerate."""
TIMES: Final = 24
"""Number of times between the fastest and the slowest whole contribution that are tried."""
KEPT: Final = (1.0, 0.85, 0.7, 0.5, 0.35, 0.25, 0.15, 0.0)
"""Parts of the givers that are tried for each of these times, those with the most samples first."""
RAISE: Final = 32
"""256ths by which a gift is raised to see whether that costs anything."""
FREE: Final = 2e-4
"""Part of the steps a second that counts as nothing.  A member that verifies uses half of it."""


def computing_takes_longer(members: Fleet, choice: Merit) -> bool:
    """Whether a round is over before a target batch is."""
    return not members.target_samples or choice.samples_per_s * choice.seconds <= members.target_samples


def better_of(members: Fleet, limits: Pairs, choices: Floats, *, best: Merit) -> Merit:
    """The best of these choices (K x N) and the one so far."""
    choices = choices[choices.sum(axis=1) >= 1 - 1e-9]
    if not len(choices):
        return best
    bound = line_steps(members, choices)
    order = np.lexsort((-(choices @ members.samples), -bound))
    for trial in order[:TRIALS]:
        if bound[trial] < best.steps_per_s * (1 - 1e-9):
            break
        found = merit(members, limits, choices[trial], near=best)
        if found.beats(best):
            best = found
    return best


def best_gifts(members: Fleet, limits: Pairs) -> Merit:
    """The gifts with the most steps a second that are found, and of those the ones that give most; in whole 256ths."""
    best = good_gifts(members, limits)
    if whole(members, best):
        return best
    best = refined(members, limits, best, steps=STEPS)
    even = evened(best.gives, alike(members, limits, members.samples))
    if not np.array_equal(even, best.gives):
        fair = merit(members, limits, even, near=best)
        best = fair if fair.steps_per_s >= best.steps_per_s * (1 - EVEN_COST) else best
    return rounded(members, limits, best)


def good_gifts(members: Fleet, limits: Pairs) -> Merit:
    """The best without a linear program: all give all, or some of them what they can send in time."""
    everybody = merit(members, limits, members.gives)
    if computing_takes_longer(members, everybody) or members.gives.sum() < 2:
        return everybody
    return better_of(members, limits, _timely(members), best=everybody)


def whole(members: Fleet, choice: Merit) -> bool:
    """Whether all members give all they have, and no choice is better."""
    return computing_takes_longer(members, choice) and choice.gives.sum() == members.gives.sum()


def refined(members: Fleet, limits: Pairs, best: Merit, *, steps: int) -> Merit:
    """What becomes better than `best` in so many linear programs at most.

    Nothing, in large groups with pair limits: there it would take seconds.
    """
    if best.seconds <= 0 or (members.size > LARGE and len(limits.rate)):
        return best
    most, step, near = _most(members), 1.0, best.shares
    for _ in range(steps):
        if step < STEP_MIN or best.seconds <= 0 or best.steps_per_s >= most * (1 - GAIN):
            break
        answer = _Near(members, limits, best, near).solve(step)
        found = best if answer is None else merit(members, limits, answer, near=best)
        if found.beats(best, by=GAIN):
            best, near = found, found.shares
        else:
            step = step if near is best.shares else step / 4
            near = 0.5 * near + 0.5 * members.cap / members.cap.sum()
    return best


def _most(members: Fleet) -> float:
    """Steps a second that nothing exceeds: all contributions count, and members send means only."""
    nothing = np.zeros((1, members.size))
    return float(line_steps(members, nothing, samples=float(members.samples.sum()))[0])


def _timely(members: Fleet) -> Floats:
    """Those with the most samples give what they can send within a time, for some times and numbers of them; K x N."""
    whole_s = members.part_bytes / members.up
    times = np.geomspace(whole_s.min(), whole_s.max(), TIMES)
    timely = members.gives * np.minimum(1.0, times[:, None] / np.maximum(whole_s, 1e-300))
    place = np.argsort(np.argsort(-members.samples, kind="stable"), kind="stable")
    kept = place < np.maximum(1, np.rint(np.array(KEPT) * members.gives.sum()))[:, None]
    return np.asarray((timely[:, None] * kept).reshape(-1, members.size))


@dataclass(frozen=True, slots=True)
class _Near:
    """The program near a choice: shares, gifts and the time as variables, products replaced by their tangents."""

    members: Fleet
    limits: Pairs
    here: Merit
    near: Floats
    """Shares near which products are replaced."""

    def solve(self, step: float) -> Floats | None:
        """The best gifts that differ by no more than `step`; None where HiGHS gives up."""
        from scipy.optimize import linprog  # noqa: PLC0415 - an idle engine does without it

        size, samples = self.members.size, self.members.samples
        matrix, bounds = self._rows()
        low = np.clip(self.here.gives - step, 0.0, self.members.gives)
        high = np.clip(self.here.gives + step, 0.0, self.members.gives)
        found = linprog(
            np.concatenate([np.zeros(size), -SAMPLES_WORTH * samples / samples.sum(), [1.0]]),
            A_ub=matrix,
            b_ub=bounds,
            A_eq=np.concatenate([np.ones(size), np.zeros(size + 1)])[None],
            b_eq=[1.0],
            bounds=np.concatenate(
                [
                    np.stack([np.zeros(size), self.members.cap], axis=1),
                    np.stack([low, high], axis=1),
                    [[0.0, np.inf]],
                ]
            ),
            method="highs",
        )
        return None if found.x is None else np.clip(np.asarray(found.x)[size : 2 * size], low, high)

    def _rows(self) -> tuple[Any, Floats]:
        """Rows in units of the present time: lines, pairs, the target batch, and a giver for every chunk."""
        blocks = [*self._lines(), self._pairs(), self._batch()]
        matrix = np.concatenate([block for block, _ in blocks])
        return matrix, np.concatenate([bounds for _, bounds in blocks])

    def _lines(self) -> list[tuple[Floats, Floats]]:
        who, w, c = self.members, self.near, self.here.gives
        others = c.sum() - c
        part_up, part_down = who.part_bytes / who.up, who.part_bytes / who.down
        mean_up, mean_down = who.mean_bytes * who.means / who.up, who.mean_bytes * who.receives / who.down
        time = -self.here.seconds * np.ones((who.size, 1))
        up = np.concatenate([np.diag(mean_up - part_up * c), np.diag(part_up * (1 - w)), time], axis=1)
        gifts = (part_down * w)[:, None] * (1 - np.eye(who.size))
        down = np.concatenate([np.diag(part_down * others - mean_down), gifts, time], axis=1)
        unit = self.here.seconds
        return [(up / unit, -part_up * c * w / unit), (down / unit, (part_down * w * others - mean_down) / unit)]

    def _pairs(self) -> tuple[Floats, Floats]:
        who, w, c, unit = self.members, self.near, self.here.gives, self.here.seconds
        busy = np.flatnonzero(self.limits.seconds(who, c, w) > unit / 4)
        source, target, rate = self.limits.source[busy], self.limits.target[busy], self.limits.rate[busy]
        row = np.arange(len(busy))
        block = np.zeros((len(busy), 2 * who.size + 1))
        part = who.part_bytes / rate / unit
        block[row, target] += part * c[source]
        block[row, source] += who.mean_bytes * who.receives[target] / rate / unit
        block[row, who.size + source] += part * w[target]
        block[:, -1] = -1.0
        return block, part * c[source] * w[target]

    def _batch(self) -> tuple[Floats, Floats]:
        """Samples a round reach the target, whose tangent in the time is used; gifts are 1 in sum at least."""
        who = self.members
        needed = who.target_samples / self.here.seconds
        block = np.zeros((2, 2 * who.size + 1))
        block[0, who.size : -1], block[0, -1] = -who.samples / needed, -1.0
        block[1, who.size : -1] = -who.gives
        return block, np.array([-2.0, -min(1.0, who.gives.sum())])


def free_raises(
    members: Fleet, limits: Pairs, choice: Merit, *, cost: float = FREE, by: int = RAISE
) -> NDArray[np.int64]:
    """The members that could give so many 256ths more, each alone, at a `cost` in steps a second of no more than that.

    With pair limits that is asked of the shares as they are, so that it takes no linear program.
    """
    who = np.flatnonzero(choice.gives < members.gives - 0.5 / WHOLE_GIFT)
    if not len(who):
        return who
    raised = np.repeat(choice.gives[None], len(who), axis=0)
    raised[np.arange(len(who)), who] = np.minimum(members.gives[who], choice.gives[who] + by / WHOLE_GIFT)
    if len(limits.rate):
        seconds = np.array([seconds_of(members, limits, gives=gives, shares=choice.shares) for gives in raised])
        steps = steps_per_s(members, raised @ members.samples, seconds)
    else:
        steps = line_steps(members, raised)
    return np.asarray(who[steps >= choice.steps_per_s * (1 - cost)])


def filled(members: Fleet, limits: Pairs, choice: Merit) -> Merit:
    """The choice with all raised that can be for nothing: none is left out without a reason.

    What it is measured by is found anew for each choice, as members that verify the last one will find it.
    """
    choice = settled(members, limits, merit(members, limits, choice.gives))
    for by in (WHOLE_GIFT, RAISE):
        for _ in range((WHOLE_GIFT // RAISE + 1) * members.size):
            free = free_raises(members, limits, choice, by=by)
            if not len(free):
                break
            choice = _raised(members, limits, choice, free[np.argsort(-members.samples[free], kind="stable")], by=by)
    return choice


def _raised(members: Fleet, limits: Pairs, choice: Merit, who: NDArray[np.int64], *, by: int) -> Merit:
    """As many of them raised as can be together, halving their number; the first one in any case."""
    while True:
        gives = choice.gives.copy()
        gives[who] = np.minimum(members.gives[who], gives[who] + by / WHOLE_GIFT)
        found = settled(members, limits, merit(members, limits, gives))
        if len(who) == 1 or found.steps_per_s >= choice.steps_per_s * (1 - FREE):
            return found
        who = who[: len(who) // 2]
