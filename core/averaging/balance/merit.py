"""What a choice of gifts is worth: the steps a second of S000's problem (1)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.allreduce.share_map import MEMBER_STRIDE, STRIDE
from core.averaging.balance.shares import level_shares, limited_shares, settled_shares
from core.averaging.balance.traffic import EPSILON, Fleet, Floats, Pairs, rows, seconds_of
from core.averaging.plan import WHOLE_GIFT

COVERING: Final = 4
"""256ths by which gifts grow until they cover all chunks: 32 at a time cost up to 1 % of the steps."""


@dataclass(frozen=True, slots=True)
class Merit:
    """One choice, divided as well as can be."""

    gives: Floats
    """What part of its contribution each member gives; shape N."""
    shares: Floats
    seconds: float
    """Of a round."""
    steps_per_s: float
    """The smaller of the rate at which target batches are computed and that of rounds; of rounds without a target."""
    samples_per_s: float
    """What is given of what is computed."""
    likely: NDArray[np.int64]
    """Places of the pair limits that it depends on."""

    def beats(self, other: "Merit", *, by: float = EPSILON) -> bool:
        """More steps; or as many, from more samples."""
        if abs(self.steps_per_s - other.steps_per_s) > by * max(self.steps_per_s, other.steps_per_s):
            return self.steps_per_s > other.steps_per_s
        return self.samples_per_s > other.samples_per_s * (1 + by)


def merit(members: Fleet, limits: Pairs, gives: Floats, *, near: Merit | None = None) -> Merit:
    """What these gifts are worth, or the nearest ones that leave no chunk without a giver.

    Args:
        members: The members of the round.
        limits: Between pairs.
        gives: What part of its contribution each gives, 0 to 1; shape N.
        near: A similar choice, from which this one is found sooner.
    """
    likely = None if near is None else near.likely
    best, *others = [_merit(members, limits, choice, likely) for choice in covering(members, gives)]
    for other in others:
        best = other if other.beats(best) else best
    return best


def settled(members: Fleet, limits: Pairs, choice: Merit) -> Merit:
    """The choice with the shares that are used: as good, and alike for members that are alike."""
    if not len(limits.rate):
        return choice
    shares = settled_shares(members, limits, choice.gives, likely=choice.likely)
    return with_shares(members, limits, choice, shares)


def with_shares(members: Fleet, limits: Pairs, choice: Merit, shares: Floats) -> Merit:
    """The choice divided in another way."""
    seconds = seconds_of(members, limits, gives=choice.gives, shares=shares)
    steps = float(steps_per_s(members, choice.samples_per_s, seconds))
    return replace(choice, shares=shares, seconds=seconds, steps_per_s=steps)


def rounded(members: Fleet, limits: Pairs, choice: Merit) -> Merit:
    """The choice with gifts in whole 256ths: rounded down where the nearest ones are worse."""
    gifts = choice.gives * WHOLE_GIFT
    near, below = (
        merit(members, limits, whole / WHOLE_GIFT, near=choice) for whole in (np.rint(gifts), np.floor(gifts + 1e-6))
    )
    return below if below.beats(near) else near


def covering(members: Fleet, gives: Floats) -> list[Floats]:
    """These gifts; or, if they leave chunks without a giver, some that do not: the largest whole, or all larger."""
    gifts = np.rint(gives * WHOLE_GIFT).astype(np.int64)
    if not members.gives.any() or covers(gifts.tolist()):
        return [gives]
    largest = gives.copy()
    largest[int(np.argmax(np.where(members.gives > 0, gives, -1.0)))] = 1.0
    while not covers(gifts.tolist()) and gifts.any():
        gifts = np.where(gifts > 0, np.minimum(WHOLE_GIFT, gifts + COVERING), 0)
    return [largest, gifts / WHOLE_GIFT] if gifts.any() else [largest]


def covers(gifts: Sequence[int]) -> bool:
    """Whether every chunk of a long vector has a giver (`allreduce.share_map.gives_chunk`).

    That depends on the gifts alone: the round's id turns all members' chunks together.
    """
    if WHOLE_GIFT in gifts:
        return True
    if sum(gifts) < WHOLE_GIFT:
        return False
    chunks = np.arange(WHOLE_GIFT)[:, None] * STRIDE + np.arange(len(gifts)) * MEMBER_STRIDE
    return bool((chunks % WHOLE_GIFT < np.array(gifts)).any(axis=1).all())


def _merit(members: Fleet, limits: Pairs, gives: Floats, likely: NDArray[np.int64] | None) -> Merit:
    known = np.zeros(0, dtype=np.int64)
    if len(limits.rate):
        found = limited_shares(members, limits, gives, likely=likely)
        shares, known = found.shares, found.known
    else:
        shares = level_shares(rows(members, gives), members.cap)
    seconds = seconds_of(members, limits, gives=gives, shares=shares)
    samples = float(members.samples @ gives)
    return Merit(gives, shares, seconds, float(steps_per_s(members, samples, seconds)), samples, known)


def line_steps(members: Fleet, gives: Floats, *, samples: Floats | float | None = None) -> Floats:
    """Steps a second of many choices at once, pair limits aside: a bound where there are some.

    Args:
        members: The members of the round.
        gives: K x N.
        samples: What counts as given a second instead, shape K.

    Returns:
        Shape K.
    """
    lines = rows(members, gives)
    seconds = lines.seconds(level_shares(lines, members.cap)).max(axis=-1)
    return steps_per_s(members, gives @ members.samples if samples is None else samples, seconds)


def steps_per_s(members: Fleet, samples_per_s: Floats | float, seconds: Floats | float) -> Floats:
    """The optimiser steps a second that a choice allows: as its samples or its rounds limit them.

    Args:
        members: The round's members; without a target batch only the rounds count.
        samples_per_s: What they give.
        seconds: Of a round.
    """
    rounds = 1.0 / np.maximum(seconds, 1e-300)
    if not members.target_samples:
        return np.asarray(rounds)
    return np.asarray(np.minimum(np.asarray(samples_per_s) / members.target_samples, rounds))
