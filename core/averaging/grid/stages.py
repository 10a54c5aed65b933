"""How large a group should be: the expected iterations until the global average (S000 appendix C, figure 8).

n peers in groups of m need R = ceil(log_m n) iterations.  A peer fails in an iteration with probability p, so a group
succeeds with q = (1 - p)^m, and one that fails repeats its iteration.  The paper gives no formula; two readings:

    independent   E = R / q                                   a group repeats on its own, and nobody waits for others
    barrier       E = R E[max of ceil(n / m) Geometric(q)]    an iteration ends when its last group has succeeded

They agree for m = n.  `docs/decisions/0009-groups.md` says which one plans go by, and why.
"""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from core.averaging.grid.placement import largest_group
from core.averaging.plan import STAGES_MAX

_SUMMED_DOWN_TO: Final = 0.02
"""Rates of success below which the series of `slowest` is summed by Euler and Maclaurin's formula."""
_NEGLIGIBLE: Final = 1e-18
_EULER_GAMMA: Final = 0.577_215_664_901_532_9
_SUMMED_GROUPS_MAX: Final = 10_000
_TIE: Final = 1e-12

Reading = Callable[..., float]


def stages_for(peers: int, group: int) -> int:
    """R = ceil(log_m n): iterations that groups of `group` need to average `peers`.  At least 1.

    Raises:
        ValueError: groups of fewer than two never average anything.
    """
    if peers < 1 or group < 2:
        raise ValueError(f"{peers} peers in groups of {group}")
    stages, reached = 1, group
    while reached < peers:
        stages, reached = stages + 1, reached * group
    return stages


def success(group: int, failure_rate: float) -> float:
    """q: probability that none of a group fails.

    Raises:
        ValueError: the rate is not within 0 and 1.
    """
    if not 0 <= failure_rate <= 1:
        raise ValueError(f"a failure rate of {failure_rate}")
    return (1 - failure_rate) ** group


def independent(peers: int, *, group: int, failure_rate: float) -> float:
    """Expected iterations where each group goes on by itself."""
    q = success(group, failure_rate)
    return stages_for(peers, group) / q if q > 0 else math.inf


def barrier(peers: int, *, group: int, failure_rate: float) -> float:
    """Expected iterations where each one waits for its slowest group."""
    return stages_for(peers, group) * slowest(-(-peers // group), success(group, failure_rate))


READINGS: Final[Mapping[str, Reading]] = MappingProxyType({"independent": independent, "barrier": barrier})
"""Both readings by name."""


def slowest(groups: int, q: float) -> float:
    """Expected maximum of `groups` independent geometric variables (tries until the first success, each with q).

    With L = -ln(1 - q) it is the sum over t >= 0 of f(t) = 1 - (1 - exp(-L t))^k.  Where q is small the sum is long:
    the integral is H_k / L, H_k the k-th harmonic number, and Euler and Maclaurin's formula gives the difference.
    """
    if q >= 1:
        return 1.0
    if q <= 0:
        return math.inf
    rate = -math.log1p(-q)
    if rate < _SUMMED_DOWN_TO:
        slope = -rate if groups == 1 else 0.0
        third = {1: -1.0, 2: 6.0, 3: -6.0}.get(groups, 0.0) * rate**3
        return _harmonic(groups) / rate + 0.5 - slope / 12 + third / 720
    total, tries, term = 1.0, 1, 1.0
    while term > _NEGLIGIBLE:
        term = -math.expm1(groups * math.log1p(-math.exp(-rate * tries)))
        total, tries = total + term, tries + 1
    return total


def best_group(peers: int, failure_rate: float, *, reading: Reading = barrier) -> int:
    """The size of group with the fewest expected iterations; of equal ones the smaller, since a failure hits fewer."""
    best, least = peers, math.inf
    for group in range(2, peers + 1):
        expected = reading(peers, group=group, failure_rate=failure_rate)
        if expected < least * (1 - _TIE):
            best, least = group, expected
    return best


def best_stages(peers: int, failure_rate: float) -> int:
    """In how many stages a round of `peers` is to be averaged, with groups as `lay_out` makes them; 1: in one group.

    Goes by the barrier.  At most `STAGES_MAX`, and no group of one peer.
    """
    most = min(STAGES_MAX, max(1, peers.bit_length() - 1))

    def expected(stages: int) -> float:
        group = largest_group(peers, stages)
        return stages * slowest(-(-peers // group), success(group, failure_rate))

    return min(range(1, most + 1), key=lambda stages: (expected(stages), stages))


def _harmonic(count: int) -> float:
    if count <= _SUMMED_GROUPS_MAX:
        return math.fsum(1 / number for number in range(1, count + 1))
    return math.log(count) + _EULER_GAMMA + 1 / (2 * count) - 1 / (12 * count * count)
