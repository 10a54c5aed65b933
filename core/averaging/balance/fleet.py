"""What the balance of a round starts from, and what comes out."""

from dataclasses import dataclass


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
    """What is to be averaged."""

    numel: int
    """Numbers in the vector (P)."""
    part_bytes: float
    """Of one number on its way to a reducer, as the codec writes it."""
    mean_bytes: float
    """Of one number on its way back."""
    target_samples: int = 0
    """The target batch (B); 0: everybody gives all it has, only the lines count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """How a round is divided.  Equal input gives equal output on one machine; others verify, they do not recompute."""

    weights: tuple[int, ...]
    """Each member's share of the reducing, in whole numbers of any sum: for `apportion`."""
    gifts: tuple[int, ...]
    """How many 256ths of its chunks each member gives; `WHOLE_GIFT`: all (c_i = 1), 0: none (c_i = 0)."""
    seconds: float
    """How long the round takes where nothing but the lines counts."""
