"""The optimum of a round's balance, found in other ways: the reference of `python -m tests.bench plan`."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.balance.portions import Choice, all_give, divided, line_steps
from core.averaging.balance.traffic import Fleet, Floats, Line, Work, fleet

PREFIXES: Final = 32
"""Number of prefixes of each order that are tried."""
CHANGES: Final = 16
"""Number of improvements by one giver more or fewer."""
EXACT: Final = 8
"""Number of givers up to which every choice is tried."""


def shares_seconds(lines: Sequence[Line], work: Work, limits: Mapping[tuple[int, int], float]) -> float:
    """The shortest round in which all give all: the whole program at once, each pair a row, by HiGHS.

    Raises:
        RuntimeError: HiGHS found no optimum.
    """
    from scipy.optimize import linprog
    from scipy.sparse import lil_array

    size, receivers = len(lines), sum(peer.receives for peer in lines)
    table, right = lil_array((2 * size + len(limits), size + 1)), np.zeros(2 * size + len(limits))
    part = mean = work.number_bytes
    unit_s = work.numel * part * size / max(peer.up_bytes_per_s for peer in lines)
    givers = sum(peer.gives for peer in lines)
    for i, peer in enumerate(lines):
        up, down = peer.up_bytes_per_s / work.numel, peer.down_bytes_per_s / work.numel
        table[2 * i, i] = (mean * (receivers - peer.receives) - part * peer.gives) / up / unit_s
        right[2 * i] = -part * peer.gives / up / unit_s
        table[2 * i + 1, i] = (part * (givers - peer.gives) - mean * peer.receives) / down / unit_s
        right[2 * i + 1] = -mean * peer.receives / down / unit_s
    for row, ((i, j), rate) in enumerate(limits.items(), start=2 * size):
        table[row, j] = part * lines[i].gives * work.numel / rate / unit_s
        table[row, i] = mean * lines[j].receives * work.numel / rate / unit_s
    table[:, [size]] = -np.ones((table.shape[0], 1))
    may = [peer.reduces for peer in lines]
    found = linprog(
        [0.0] * size + [1.0],
        A_ub=table.tocsr(),
        b_ub=right,
        A_eq=[[1.0] * size + [0.0]],
        b_eq=[1.0],
        bounds=[(0, 1 if yes or not any(may) else 0) for yes in may] + [(0, None)],
        method="highs",
    )
    if found.x is None:
        raise RuntimeError(found.message)
    return float(found.fun) * unit_s


def whole_givers_steps(lines: Sequence[Line], work: Work) -> float:
    """The most steps a second of all choices of who gives, each of them tried; for a dozen peers."""
    members, number = fleet(lines, work), np.arange(1, 1 << len(lines))
    choices = ((number[:, None] >> np.arange(len(lines))) & 1).astype(np.float64)
    return float(line_steps(members, choices).max())


def free_parts_steps(lines: Sequence[Line], work: Work) -> float:
    """A bound from above on the steps a second of partial portions: each member gives any part to each reducer.

    For a time that is a linear program in the parts; the time is bisected.  Where computing stands still while a round
    is averaged, the samples are a concave function of the round's time, so that the step's time has one minimum, which
    is searched.  A portion, which is spread over all shares, cannot always follow, since here a member's own share
    costs it nothing.
    """
    program = _parts(lines, work)
    if not work.overlaps:
        return 1 / _least_sum(program, work.target_samples)
    short, long = 1e-9, 1e9
    while long > short * (1 + 1e-5):
        middle = (short * long) ** 0.5
        if program(middle) * middle >= work.target_samples:
            long = middle
        else:
            short = middle
    return 1 / long


def _least_sum(program: Callable[[float], float], target_samples: int) -> float:
    """The least sum of a round's time and that in which what it carries makes a batch, by golden section."""

    def step_s(log_s: float) -> float:
        time_s, samples_per_s = math.exp(log_s), program(math.exp(log_s))
        return time_s + target_samples / samples_per_s if samples_per_s > 0 else math.inf

    short, long, golden = math.log(1e-6), math.log(1e6), (5**0.5 - 1) / 2
    while long - short > 1e-4:
        early, late = long - golden * (long - short), short + golden * (long - short)
        if step_s(early) < step_s(late):
            long = late
        else:
            short = early
    return step_s(long)


def _parts(lines: Sequence[Line], work: Work) -> Any:
    """A function from the time to the most samples a second."""
    from scipy.optimize import linprog

    size, receivers = len(lines), sum(peer.receives for peer in lines)
    rates = np.array([peer.samples_per_s * peer.gives for peer in lines])
    part = mean = work.number_bytes * work.numel
    seconds = np.zeros((2 * size, size + size * size))
    waits = np.zeros(2 * size)
    most = np.zeros((size * size, size + size * size))
    for i, peer in enumerate(lines):
        seconds[2 * i, i] = mean * (receivers - peer.receives) / peer.up_bytes_per_s
        seconds[2 * i + 1, i] = -mean * peer.receives / peer.down_bytes_per_s
        waits[2 * i + 1] = mean * peer.receives / peer.down_bytes_per_s
        for j in range(size):
            sent = size + i * size + j
            most[i * size + j, [sent, j]] = 1.0, -1.0
            if i != j:
                seconds[2 * i, sent] = part / peer.up_bytes_per_s
                seconds[2 * j + 1, sent] = part / lines[j].down_bytes_per_s
    may = [peer.reduces or not any(one.reduces for one in lines) for peer in lines]
    bounds = [(0, float(yes)) for yes in may] + [(0, float(peer.gives)) for peer in lines for _ in lines]
    cost = np.concatenate([np.zeros(size), -np.repeat(rates / rates.sum(), size)])

    def samples_per_s(time_s: float) -> float:
        found = linprog(
            cost,
            A_ub=np.concatenate([seconds / time_s, most]),
            b_ub=np.concatenate([1.0 - waits / time_s, np.zeros(size * size)]),
            A_eq=[[1.0] * size + [0.0] * size * size],
            b_eq=[1.0],
            bounds=bounds,
            method="highs",
        )
        return -float(found.fun) * float(rates.sum()) if found.x is not None else -1.0

    return samples_per_s


def best_givers(members: Fleet) -> Choice:
    """The choice with the most steps a second, of those tried, with portions of 1 and 0 only.

    Exact for up to 8 givers without pair limits.
    """
    best, who = _good_givers(members), np.flatnonzero(members.gives)
    if all_give(members, best):
        return best
    if len(who) <= EXACT:
        return _better_of(members, _every_choice(members, who), best=best)
    for _ in range(CHANGES):
        better = _better_of(members, _changes(best.gives, who), best=best)
        if better is best:
            break
        best = better
    return best


def _good_givers(members: Fleet) -> Choice:
    """The best choice that keeps the first k of some order; all givers, where only the lines count."""
    everybody = divided(members, members.gives)
    who = np.flatnonzero(members.gives)
    if len(who) < 2 or all_give(members, everybody):
        return everybody
    return _better_of(members, _prefixes(members, who), best=everybody)


def _better_of(members: Fleet, choices: Floats, *, best: Choice) -> Choice:
    """The best of these choices (K x N) for the lines, or the one so far."""
    choices = choices[choices.any(axis=1)]
    if not len(choices):
        return best
    order = np.lexsort((-(choices @ members.samples), -line_steps(members, choices)))
    found = divided(members, choices[order[0]])
    return found if found.beats(best) else best


def _every_choice(members: Fleet, who: NDArray[np.int64]) -> Floats:
    number = np.arange(1, 1 << len(who))
    choices = np.zeros((len(number), members.size))
    choices[:, who] = (number[:, None] >> np.arange(len(who))) & 1
    return choices


def _prefixes(members: Fleet, who: NDArray[np.int64]) -> Floats:
    """The first k by upload, by samples and by both."""
    counts = np.unique(np.linspace(1, len(who), min(len(who), PREFIXES)).astype(np.int64))
    choices = []
    for worth in (members.up, members.samples, members.up * members.samples):
        order = who[np.argsort(-worth[who], kind="stable")]
        for count in counts:
            choice = np.zeros(members.size)
            choice[order[:count]] = 1.0
            choices.append(choice)
    return np.array(choices)


def _changes(gives: Floats, who: NDArray[np.int64]) -> Floats:
    """This choice with one giver more or fewer."""
    choices = np.repeat(gives[None], len(who), axis=0)
    rows = np.arange(len(who))
    choices[rows, who] = 1.0 - choices[rows, who]
    return choices
