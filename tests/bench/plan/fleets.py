"""Groups of peers for `python -m tests.bench plan`: those of the project's notes, and random homes."""

from collections.abc import Sequence
from typing import Any, Final

from core.averaging.balance.traffic import Line, Work
from core.averaging.plan import LIMITS_MAX

MEGABIT: Final = 1e6 / 8
HOMES: Final = ((100.0, 40.0), (50.0, 10.0), (20.0, 5.0), (16.0, 1.0))
"""Mbit/s down and up."""


def line(down_mbit: float, up_mbit: float, **roles: Any) -> Line:
    """A line with these bandwidths in Mbit/s."""
    return Line(down_bytes_per_s=down_mbit * MEGABIT, up_bytes_per_s=up_mbit * MEGABIT, **roles)


def known() -> dict[str, tuple[list[Line], Work, float]]:
    """The limited fleets that hivemind was measured on, what is averaged, and the optimum's seconds as found there."""
    homogeneous = [line(40, 40)] * 8
    hetero = [*[line(80, 80)] * 2, *[line(40, 40)] * 4, *[line(20, 20)] * 2]
    homes = [*[line(100, 40)] * 2, *[line(50, 10)] * 4, *[line(20, 5)] * 2]
    clients = [line(80, 80)] * 2 + [line(40, 40, reduces=i > 1) for i in range(4)]
    clients += [line(20, 20, reduces=i > 0) for i in range(2)]
    helper = line(400, 400, gives=False, receives=False)
    raw, half, short = (Work(numel=n, number_bytes=b) for n, b in ((4_500_000, 4), (4_500_000, 2), (2_000_000, 4)))
    return {
        "homog8": (homogeneous, raw, 6.3),
        "hetero8": (hetero, raw, 7.2),
        "hetero8 fp16": (hetero, half, 3.6),
        "hetero8 + 1 helper": ([*hetero, helper], raw, 7.2),
        "hetero8 + 2 helpers": ([*hetero, helper, helper], raw, 7.2),
        "hetero8, 3 clients": (clients, raw, 7.2),
        "homog8 + 1 helper": ([*homogeneous, helper], raw, 3.6),
        "home8": (homes, short, 12.8),
    }


def homes(chance: Any, size: int) -> list[Line]:
    """Home lines, asymmetric, a fifth of them in client mode; samples a second vary by an order of magnitude.

    Args:
        chance: A generator of numpy's.
        size: Peers.
    """
    kinds = [HOMES[kind] for kind in chance.integers(0, len(HOMES), size)]
    return [
        line(
            down * chance.lognormal(0, 0.3),
            up * chance.lognormal(0, 0.3),
            samples_per_s=float(chance.lognormal(3, 1)),
            reduces=bool(chance.random() < 0.8),
        )
        for down, up in kinds
    ]


def limits(chance: Any, size: int) -> dict[tuple[int, int], float]:
    """A limit for each pair, or for as many pairs as a plan can name; many of them bind."""
    rates = chance.lognormal(0, 1, (size, size)) * 40 * MEGABIT / size
    limited = [(i, j) for i in range(size) for j in range(size) if i != j]
    named = chance.permutation(len(limited))[:LIMITS_MAX]
    return {limited[place]: float(rates[limited[place]]) for place in named}


def batch(lines: Sequence[Line], *, numel: int, compute_s: float | None, overlaps: bool = True) -> Work:
    """A task of one byte a number each way, and a target batch that all compute in `compute_s`; None: no target.

    Args:
        lines: The peers.
        numel: Numbers in the vector.
        compute_s: Seconds.
        overlaps: Whether peers compute while they average.
    """
    samples_per_s = sum(peer.samples_per_s for peer in lines if peer.gives)
    target = 0 if compute_s is None else max(1, round(compute_s * samples_per_s))
    return Work(numel=numel, number_bytes=1, target_samples=target, overlaps=overlaps)
