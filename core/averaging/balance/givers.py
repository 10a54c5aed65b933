"""Who gives its contribution, all or nothing (c of S000 appendix B).

A slow peer's contribution can cost the others more time than its samples are worth; then it assists only.  A mixed
integer program finds the best choice in seconds for some dozens of peers.  Here, many choices are divided at once:
those that keep the best k in one of three orders, then whatever one change more makes better.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.balance.merit import Merit, line_steps, merit
from core.averaging.balance.traffic import Fleet, Floats, Pairs

_PREFIXES: Final = 32
_CHANGES: Final = 16
_EXACT: Final = 8
"""Groups of so many givers at most: every choice is tried."""
_TRIALS: Final = 4
"""Choices at most that are divided with pair limits in mind, the most promising ones first."""


def best_givers(members: Fleet, limits: Pairs) -> Merit:
    """The choice with the most steps a second, of those tried, with gifts of 1 and 0 only.

    Exact for up to 8 givers without pair limits.
    """
    best, who = good_givers(members, limits), np.flatnonzero(members.gives)
    if computing_takes_longer(members, best) and best.gives.sum() == len(who):
        return best
    if len(who) <= _EXACT:
        return better_of(members, limits, _every_choice(members, who), best=best)
    for _ in range(_CHANGES):
        better = better_of(members, limits, _changes(best.gives, who), best=best)
        if better is best:
            break
        best = better
    return best


def good_givers(members: Fleet, limits: Pairs) -> Merit:
    """The best choice that keeps the first k of some order; all givers, where only the lines count."""
    everybody = merit(members, limits, members.gives)
    who = np.flatnonzero(members.gives)
    if not members.target_samples or len(who) < 2 or computing_takes_longer(members, everybody):
        return everybody
    return better_of(members, limits, _prefixes(members, who), best=everybody)


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
    for trial in order[: _TRIALS if len(limits.rate) else 2]:
        if bound[trial] < best.steps_per_s * (1 - 1e-9):
            break
        found = merit(members, limits, choices[trial], near=best)
        if found.beats(best):
            best = found
    return best


def _every_choice(members: Fleet, who: NDArray[np.int64]) -> Floats:
    number = np.arange(1, 1 << len(who))
    choices = np.zeros((len(number), members.size))
    choices[:, who] = (number[:, None] >> np.arange(len(who))) & 1
    return choices


def _prefixes(members: Fleet, who: NDArray[np.int64]) -> Floats:
    """The first k by upload, by samples and by both."""
    counts = np.unique(np.linspace(1, len(who), min(len(who), _PREFIXES)).astype(np.int64))
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
