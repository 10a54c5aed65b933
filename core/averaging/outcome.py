"""What a committed round leaves to its members: who is in the mean, how much, and what it cost."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low

from core.averaging.allreduce.share_map import ShareMap
from core.averaging.penalties import Observations
from core.averaging.plan import Member
from core.base.bounds import is_near
from core.base.ids import PeerId, hashed_key


@dataclass(frozen=True, slots=True)
class Outcome:
    """A committed round.  All but `seconds`, `seen`, `waited` and `own_scaled` is the same on all members."""

    round: bytes
    versions: tuple[int, ...]
    """One per share.  Equal versions of the same round are equal means, bit for bit."""
    contributors: tuple[tuple[PeerId, int], ...]
    """Who is in the mean, at least in part, and how many samples it has contributed from."""
    present: tuple[int, ...]
    """In how many chunks of the mean each contributor is, in their order."""
    missing: tuple[tuple[PeerId, int], ...]
    """Whose contribution lacks how many of the chunks that it was to give, by the plan."""
    chunk_total: int
    """Chunks in the vector."""
    loss: float
    """Median of the contributors' training losses, of an even number the lower one, since a mean would be any liar's
    number; 0 without any."""
    heldout: tuple[tuple[int, float], ...] = ()
    """The contributors' last looks at the held-out text: epochs, and for each the lower median of their losses."""
    seconds: float = 0.0
    """From this member's start to its end."""
    seen: Observations = field(default_factory=dict)
    """What this member has seen of the others."""
    waited: Mapping[PeerId, float] = field(default_factory=dict)
    """How long it has waited for parts of each other one when few were missing, seconds."""
    left_out: frozenset[PeerId] = frozenset()
    """Members that need the mean, and without which the round was committed."""
    own_scaled: int = 0
    """Number of chunks in which this member's part was scaled down, because its norm was too great."""
    bits: bytes = b""
    """Binds the plan, the bits of all means and who is in which: what the members' votes came to, on a grid of all
    groups, which have versions of their own."""

    @property
    def credited(self) -> tuple[tuple[PeerId, int], ...]:
        """What each contributor gets credit for: of its samples the part that is in the mean, rounded down."""
        return tuple(
            (peer, samples * chunks // self.chunk_total)
            for (peer, samples), chunks in zip(self.contributors, self.present, strict=True)
        )

    @property
    def fingerprint(self) -> bytes:
        """32 bytes, equal exactly for equal means: names what the round made of its state."""
        return hashed_key(b"outcome", self.round, self.bits, *(version.to_bytes(4, "big") for version in self.versions))


def outcome_of(
    shares: ShareMap,
    *,
    present: Sequence[int],
    versions: tuple[int, ...],
    bits: bytes,
) -> Outcome:
    """The outcome of a committed round, as far as it is the same on all members.

    Args:
        shares: The plan's division.
        present: For each member the number of chunks of the mean that hold its part.
        versions: Version of each share.
        bits: Binds the plan, the bits of all means and who is in which.
    """
    plan, peers, planned = shares.plan, shares.plan.peers, shares.planned
    givers = [member for member, samples in enumerate(shares.samples) if samples and present[member]]
    loss = median_low([plan.members[member].loss for member in givers] or [0.0])
    return Outcome(
        round=plan.round,
        versions=versions,
        contributors=tuple((peers[member], shares.samples[member]) for member in givers),
        present=tuple(present[member] for member in givers),
        missing=tuple((peers[m], planned[m] - present[m]) for m in range(len(peers)) if present[m] < planned[m]),
        chunk_total=shares.chunk_total,
        loss=loss,
        heldout=_heldout([plan.members[member] for member in givers], epoch=plan.epoch, loss=loss),
        bits=bits,
    )


def _heldout(givers: Sequence[Member], *, epoch: int, loss: float) -> tuple[tuple[int, float], ...]:
    """The last looks at the held-out text, without losses far from that in training, which a liar may make up."""
    looks: defaultdict[int, list[float]] = defaultdict(list)
    for giver in givers:
        at, seen = giver.heldout_epoch, giver.heldout_loss
        if seen is not None and at <= epoch and is_near(seen, loss):
            looks[at].append(seen)
    return tuple((at, median_low(looks[at])) for at in sorted(looks))


@dataclass(frozen=True, slots=True)
class RoundFinished:
    """The result holds the group's mean; it may be absorbed."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class RoundFailed:
    """This member leaves the round without a mean; its contribution is untouched, the result is worthless."""

    round: bytes
    reason: str
    suspects: tuple[PeerId, ...] = ()
    """Members that made it fail, as this one has observed itself: coordinators that fell silent or did not commit,
    reducers whose means did not come.  Empty when it does not know; a hint, never a proof."""
