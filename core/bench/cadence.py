"""The gain if a slow peer takes part in every k-th round only.

Two ways to do so are compared, with the steps a second that the group makes on average over k rounds:

- It *listens*: it receives every mean and stays up to date, but sends its contribution in every k-th round only.  Its
gradients in between count when they come, up to k - 1 steps late.
- It is *away*: it neither sends nor receives between its rounds, and fetches the state (`catch_up_bytes`) once in k
rounds, beside its traffic in its own.  Its contribution is as late, and it has to have the state in time.

In S000's terms a listener has c = 1 in one round of k and 0 in the others.  A partial contribution of 256 / k sends as
much on average but the same in each round, so that no round waits for a whole vector on a slow upload: partial
contributions are the better way wherever sending takes long.  Only being away shortens rounds that wait for a slow
download.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from core.averaging.balance.portions import divided
from core.averaging.balance.traffic import Line, Work, fleet


class Between(Enum):
    """A slow peer's behaviour between its rounds."""

    LISTENS = "listens"
    AWAY = "away"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cadence:
    """Speed of the group for one k."""

    every: int
    """Rounds from one of its contributions to the next (k); 1: it takes part in each."""
    steps_per_s: float


def cadences(
    lines: Sequence[Line], work: Work, *, member: int, between: Between, longest: int, catch_up_bytes: float = 0.0
) -> tuple[Cadence, ...]:
    """The group's speed for each k from 1 to `longest`; members contribute fully when they take part.

    Args:
        lines: The members, in the plan's order; at least two.
        work: The vector to average.
        member: The place of the slow peer.
        between: Its behaviour between its rounds.
        longest: The largest k.
        catch_up_bytes: Of the state, for a peer that is away.
    """
    together_s = _seconds(lines, work)
    if between is Between.LISTENS:
        silent = replace(lines[member], gives=False)
        without_s = _seconds([*lines[:member], silent, *lines[member + 1 :]], work)
        extra_bytes = 0.0
    else:
        without_s = _seconds([*lines[:member], *lines[member + 1 :]], work)
        extra_bytes = catch_up_bytes + work.number_bytes * work.numel
    rates = [max(0.0, line.samples_per_s) if line.gives else 0.0 for line in lines]
    own, others = rates[member], sum(rates) - rates[member]
    found = []
    for every in range(1, longest + 1):
        apart_s = _step_s(work.target_samples, without_s, samples_per_s=others)
        saved = own * (every - 1) * apart_s
        joint_s = _step_s(work.target_samples - saved, together_s, samples_per_s=own + others)
        cycle_s = (every - 1) * apart_s + joint_s
        if every > 1:
            cycle_s = max(cycle_s, extra_bytes / max(1.0, lines[member].down_bytes_per_s))
        rate = every / cycle_s if cycle_s > 0 else float("inf")
        found.append(Cadence(every=every, steps_per_s=rate))
    return tuple(found)


def best_cadence(tried: Sequence[Cadence]) -> Cadence:
    """The one with the most steps a second; of equals the one that takes part most often."""
    return max(tried, key=lambda one: (one.steps_per_s, -one.every))


def _step_s(samples: float, round_s: float, *, samples_per_s: float) -> float:
    """A step takes a round or the computing of its batch, whichever is longer; both go on at the same time."""
    if samples <= 0:
        return round_s
    return max(round_s, samples / samples_per_s) if samples_per_s > 0 else float("inf")


def _seconds(lines: Sequence[Line], work: Work) -> float:
    members = fleet(lines, work)
    return divided(members, members.gives).seconds
