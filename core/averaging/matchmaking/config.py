"""What the rounds of a collaboration are made of, as one peer knows it."""

from dataclasses import dataclass

from core.averaging.bandwidth.book import LineBook
from core.averaging.grid.failure_rate import FailureRate
from core.averaging.matchmaking.make_plan import attempt_key
from core.averaging.penalties.ledger import Reputation
from core.base.ids import Key, PeerId
from core.base.manifest import AveragingNumbers

State = tuple[int, bytes]
"""Epoch and lineage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundConfig:
    """The same for all rounds of a peer; see `core.averaging.matchmaking.matchmaker.Matchmaker`."""

    me: PeerId
    run_id: bytes
    numel: int | None
    numel_max: int
    numbers: AveragingNumbers
    topology: str
    minimum_samples: int
    target_samples: int
    book: LineBook
    failures: FailureRate
    reputation: Reputation

    def key(self, state: State, attempt: int) -> Key:
        """The point of the key space that decides who leads this attempt."""
        epoch, lineage = state
        return attempt_key(self.run_id, lineage, epoch, attempt)
