"""Independent references for the balance of a round: the pairwise program of S000 appendix B, written out."""

import itertools

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from core.averaging.balance.traffic import Line, Work


class _Rows:
    """Rows `terms . x <= right`, gathered by name of variable."""

    def __init__(self):
        self.names, self.rows, self.right = {}, [], []

    def var(self, *name):
        return self.names.setdefault(name, len(self.names))

    def at_most(self, right, *terms):
        self.rows.append([(self.var(*name), factor) for factor, *name in terms])
        self.right.append(right)

    def matrix(self):
        table = np.zeros((len(self.rows), len(self.names)))
        for place, terms in enumerate(self.rows):
            for column, factor in terms:
                table[place, column] += factor
        return table


def pairwise_seconds(lines: list[Line], work: Work, *, gives=None, limits=None) -> float:
    """The shortest round, with what is sent from each to each (a, g) as variables beside shares and the time."""
    n, gives = len(lines), [float(line.gives) for line in lines] if gives is None else gives
    table = _rate_rows(lines, work, gives=gives, limits=limits)
    program = table.matrix()
    cost, equal = np.zeros(len(table.names)), np.zeros((1, len(table.names)))
    cost[table.var("T")] = 1.0
    may = [line.reduces for line in lines] if any(line.reduces for line in lines) else [True] * n
    bounds = [(0, None)] * len(table.names)
    for i in range(n):
        equal[0, table.var("w", i)] = 1.0
        bounds[table.var("w", i)] = (0, 1 if may[i] else 0)
    found = linprog(cost, A_ub=program, b_ub=table.right, A_eq=equal, b_eq=[1.0], bounds=bounds, method="highs-ipm")
    assert found.status == 0, found.message
    return found.fun * _unit_s(lines, work)


def _unit_s(lines, work):
    return work.numel / min(min(line.up_bytes_per_s, line.down_bytes_per_s) for line in lines)


def _rate_rows(lines, work, *, gives, limits):
    """a_ij bytes (over numel) from i to reducer j, g_ij from reducer i to j; T in units that keep numbers near 1."""
    n, unit = len(lines), _unit_s(lines, work) / work.numel
    table = _Rows()
    table.var("T")
    for i in range(n):
        table.var("w", i)
    for i, j in itertools.permutations(range(n), 2):
        table.at_most(0.0, (work.number_bytes * gives[i], "w", j), (-1.0, "a", i, j))
        table.at_most(0.0, (work.number_bytes * lines[j].receives, "w", i), (-1.0, "g", i, j))
        limit = (limits or {}).get((i, j))
        if limit is not None:
            table.at_most(0.0, (1.0, "a", i, j), (1.0, "g", i, j), (-limit * unit, "T"))
    for i in range(n):
        others = [j for j in range(n) if j != i]
        sent = [(1.0, kind, i, j) for kind in "ag" for j in others]
        received = [(1.0, kind, j, i) for kind in "ag" for j in others]
        table.at_most(0.0, *sent, (-lines[i].up_bytes_per_s * unit, "T"))
        table.at_most(0.0, *received, (-lines[i].down_bytes_per_s * unit, "T"))
    return table


def free_parts_steps(lines: list[Line], work: Work, *, whole: bool = False) -> float:
    """The most steps a second if each member could give to each reducer as it likes (c a mean over reducers).

    With `whole`, c is 0 or 1 for each member, which the portions of a round can follow; without, a bound from above.
    Where computing and averaging take turns, the best of 150 times of the round, 1 to 1000 s, each 5 % above the last.
    """
    table = _free_rows(lines, whole=whole)
    first = len(table.right)
    _free_lines(table, lines, work)
    rates = [line.samples_per_s if line.gives else 0.0 for line in lines]
    if not work.overlaps:
        times = np.geomspace(1, 1000, 150)
        most = [_most_samples(table, lines, rates, first=first, seconds=seconds) for seconds in times]
        return max(1 / (t + work.target_samples / s) for t, s in zip(times, most, strict=True) if s > 0)
    short, long = 1e-9, 1e9
    while long > short * (1 + 1e-7):
        middle = (short * long) ** 0.5
        if _most_samples(table, lines, rates, first=first, seconds=middle) * middle >= work.target_samples * (1 - 1e-9):
            long = middle
        else:
            short = middle
    return 1 / long


def _free_rows(lines, *, whole):
    table = _Rows()
    for i, j in itertools.product(range(len(lines)), repeat=2):
        table.at_most(0.0, (1.0, "a", i, j), (-1.0, "w", j))
        if whole:
            table.at_most(0.0, (1.0, "a", i, j), (-1.0, "c", i))
            table.at_most(1.0, (1.0, "w", j), (-1.0, "a", i, j), (1.0, "c", i))
    return table


def _free_lines(table, lines, work):
    """Two rows a member, in seconds: what it sends, what it receives."""
    part, mean = work.number_bytes * work.numel, work.number_bytes * work.numel
    receivers = sum(line.receives for line in lines)
    for i, line in enumerate(lines):
        up, down, others = line.up_bytes_per_s, line.down_bytes_per_s, [j for j in range(len(lines)) if j != i]
        back, own = mean * (receivers - line.receives), mean * line.receives
        table.at_most(0.0, *[(part / up, "a", i, j) for j in others], (back / up, "w", i))
        table.at_most(-own / down, *[(part / down, "a", j, i) for j in others], (-own / down, "w", i))


def _most_samples(table, lines, rates, *, first, seconds):
    program, right = table.matrix(), np.array(table.right)
    program[first:] /= seconds
    right[first:] = right[first:] / seconds + 1.0
    size, n = len(table.names), len(lines)
    may = [line.reduces for line in lines] if any(line.reduces for line in lines) else [True] * n
    high, cost, equal, integral = np.ones(size), np.zeros(size), np.zeros(size), np.zeros(size)
    for i in range(n):
        high[table.var("w", i)], equal[table.var("w", i)] = float(may[i]), 1.0
        if ("c", i) in table.names:
            integral[table.var("c", i)] = 1
        for j in range(n):
            high[table.var("a", i, j)] = float(lines[i].gives)
            cost[table.var("a", i, j)] = -rates[i] / sum(rates)
    constraints = [LinearConstraint(program, -np.inf, right), LinearConstraint(equal[None], 1.0, 1.0)]
    found = milp(cost, integrality=integral, bounds=Bounds(np.zeros(size), high), constraints=constraints)
    return -found.fun * sum(rates) if found.x is not None else -1.0
