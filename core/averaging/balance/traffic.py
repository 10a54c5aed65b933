"""What the members of a round send and receive, as a function of the shares (S000 appendix B, in share form).

In the paper's names, with a vector of P bytes, `w_i` the share of it that i reduces (they sum to 1), `c_k` the part
of its contribution that k gives, `a_ki` what k sends reducer i and `g_ij` what i returns to j, in bytes a round:

    a_ki = c_k w_i P    for k != i      g_ij = w_i P    for j != i that receives      (to oneself: free)

A number takes as many bytes on its way back as on its way there.  With T the round's seconds, R the number of
receivers, r_i 1 for a receiver, C = sum of c_k, both directions of a line apart and all at the same time:

    up    c_i (1 - w_i) P  +  w_i (R - r_i) P    <=  T u_i
    down  r_i (1 - w_i) P  +  w_i (C - c_i) P    <=  T d_i
    pair  c_i w_j P  +  r_j w_i P                <=  T t_ij      for i != j
    w_i = 0 for a client, c_k = 0 for a helper, r_i = 0 for one that needs no mean.

The paper's text has a reducer's g_ij free for each j, which lets an optimum return different parts to different peers
and its rule "share in proportion to min_j g_ij" divide by zero; hence one w_i for each reducer, as a round needs.  It
says "c_k = 1 corresponds to peer k not computing gradients" where its formulas mean c_k = 0; here c_k = 1 gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from core.base.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
PairLimits = Mapping[tuple[int, int], float]
"""Bytes a second from one member's place to another's, where less than their lines carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One member of a group: its line to the network and what it may do.  All rates are above 0."""

    up_bytes_per_s: float
    down_bytes_per_s: float
    samples_per_s: float = 0.0
    """What it computes (s_i); 0 for a helper, which has no contribution."""
    gives: bool = True
    """Has a contribution to send.  False: a helper, or a peer without samples."""
    reduces: bool = True
    """May be given a share.  False: client mode."""
    receives: bool = True
    """Needs the mean.  False: a helper without a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a round averages, as far as its duration depends on it: length, bytes a number, target batch."""

    numel: int
    """Numbers in the vector (P)."""
    number_bytes: float
    """Bytes of one number on its way to a reducer or back, as the codec writes it."""
    target_samples: int = 0
    """The target batch (B); 0: everybody gives all it has, only the lines count."""
    overlaps: bool = True
    """Whether the target batch is computed while the round before is averaged (delayed parameter updates)."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """The members as arrays of shape N, the bytes of the whole vector, and L limited pairs of members.

    A pair's limit binds before the lines of both do; its members and its rate stand in arrays of shape L.
    """

    up: Floats
    down: Floats
    samples: Floats
    """A second; 0 for a member that does not give."""
    gives: Floats
    """1 or 0."""
    receives: Floats
    cap: Floats
    """The most that each may reduce of the vector: 1, or 0 for a client.  Where none may, all do."""
    vector_bytes: float
    """Bytes of the whole vector on its way to the reducers or back."""
    target_samples: int
    overlaps: bool
    """Whether a step takes the longer of computing and averaging, rather than their sum."""
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    rate: Floats
    """Bytes a second that each limited pair carries from source to target."""

    @property
    def size(self) -> int:
        """The number of members N, which is the length of each array."""
        return len(self.up)

    def pair_slopes(self, gives: Floats) -> tuple[Floats, Floats]:
        """How long each limited pair is busy for the target's share (with parts), and for the source's (with means)."""
        whole_s = self.vector_bytes / self.rate
        return whole_s * gives[self.source], whole_s * self.receives[self.target]

    def pair_seconds(self, gives: Floats, shares: Floats) -> Floats:
        """How long each limited pair is busy with these shares; shape L."""
        parts, means = self.pair_slopes(gives)
        return np.asarray(parts * shares[self.target] + means * shares[self.source])


def fleet(lines: Sequence[Line], work: Work, limits: PairLimits | None = None) -> Fleet:
    """The members as arrays.

    Args:
        lines: The members, in the plan's order.
        work: What is averaged.
        limits: Between pairs; of these only those that can matter are kept, under what both lines carry.

    Raises:
        ValueError: there are no members.
    """
    if not lines:
        raise ValueError("a round has at least one member")
    gives = np.array([float(line.gives) for line in lines])
    cap = np.array([float(line.reduces) for line in lines])
    speeds = np.array([line.samples_per_s for line in lines])
    slowest = min(speeds[speeds > 0], default=0.0)  # a giver whose speed is not known counts as this one
    samples = np.where(speeds > 0, speeds, slowest) * gives
    up, down = np.array([(line.up_bytes_per_s, line.down_bytes_per_s) for line in lines], dtype=np.float64).T
    places = range(len(lines))
    pairs = sorted(
        (i, j, rate)
        for (i, j), rate in (limits or {}).items()
        if i in places and j in places and i != j and rate < min(lines[i].up_bytes_per_s, lines[j].down_bytes_per_s)
    )
    return Fleet(
        up=up,
        down=down,
        samples=samples,
        gives=gives,
        receives=np.array([float(line.receives) for line in lines]),
        cap=cap if cap.any() else np.ones(len(lines)),
        vector_bytes=work.number_bytes * work.numel,
        target_samples=work.target_samples if samples.any() else 0,
        overlaps=work.overlaps,
        source=np.array([i for i, _, _ in pairs], dtype=np.int64),
        target=np.array([j for _, j, _ in pairs], dtype=np.int64),
        rate=np.array([rate for _, _, rate in pairs], dtype=np.float64),
    )


@dataclass(frozen=True, slots=True)
class Rows:
    """How long each line is busy: `base + slope * w`, in seconds, w the member's own share.

    Both arrays have the shape 2 (up, down) x that of the portions: N members, or K x N for K choices at once.
    """

    base: Floats
    slope: Floats

    def seconds(self, shares: Floats) -> Floats:
        """How long each member's line is busy, in the direction that takes longer; shape of `shares`."""
        return np.asarray((self.base + self.slope * shares).max(axis=0))

    def within(self, seconds: Floats | float) -> tuple[Floats, Floats]:
        """The least and the most share of each member with which its line keeps the time; infinite where none binds."""
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = (seconds - self.base) / self.slope
        least = np.where(self.slope < 0, shares, -np.inf).max(axis=0)
        return least, np.where(self.slope > 0, shares, np.inf).min(axis=0)


def rows(members: Fleet, gives: Floats) -> Rows:
    """The lines' seconds for fixed portions.

    Args:
        members: The members of the round.
        gives: What part of its contribution each gives (c), 0 to 1; N or K x N.
    """
    others = gives.sum(axis=-1, keepdims=True) - gives
    means = members.receives.sum() - members.receives  # how often each reducer sends the mean of its share
    own = np.broadcast_to(members.receives, gives.shape)
    up_s, down_s = members.vector_bytes / members.up, members.vector_bytes / members.down
    return Rows(
        base=np.stack([gives * up_s, own * down_s]),
        slope=np.stack([(means - gives) * up_s, (others - own) * down_s]),
    )


def seconds_of(members: Fleet, *, gives: Floats, shares: Floats) -> float:
    """How long the round takes: the busiest line, or the busiest limited pair.

    Args:
        members: The members of the round.
        gives: What part of its contribution each gives, 0 to 1; shape N.
        shares: What part of the vector each reduces; shape N, sum 1.
    """
    lines_s = float(rows(members, gives).seconds(shares).max())
    return max(lines_s, float(members.pair_seconds(gives, shares).max(initial=0.0)))
