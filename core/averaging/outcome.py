"""How a round ends."""

from dataclasses import dataclass

from core.base.ids import PeerId, hashed_key


@dataclass(frozen=True, slots=True)
class Outcome:
    """A committed round.  Every field but the last two is the same on all members."""

    round: bytes
    versions: tuple[int, ...]
    """One per share.  Equal versions of the same round are equal means, bit for bit."""
    contributors: tuple[tuple[PeerId, int], ...]
    """Who is in the mean, at least in part, and with how many samples."""
    missing: tuple[tuple[PeerId, int], ...]
    """Whose contribution lacks how many chunks; members without samples have nothing to lack."""
    chunk_total: int
    """Chunks in the vector: who lacks all of them is no contributor."""
    samples: int
    """Sum over the contributors."""
    loss: float
    """Mean training loss over the contributors' samples; 0 without any."""
    seconds: float
    """From this member's start to its end."""
    payload_bytes: int
    """Payload this member sent and received."""

    @property
    def fingerprint(self) -> bytes:
        """32 bytes, equal exactly for equal means: names what the round made of its state."""
        return hashed_key(b"outcome", self.round, *(version.to_bytes(4, "big") for version in self.versions))


@dataclass(frozen=True, slots=True)
class RoundFinished:
    """The result holds the group's mean; it may be absorbed."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class RoundFailed:
    """This member goes home without a mean; its contribution is untouched, the result is worthless."""

    round: bytes
    reason: str
