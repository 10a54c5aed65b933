"""What the rounds of a collaboration are made of, as one peer knows it."""

from dataclasses import dataclass

from core.averaging.bandwidth.book import LineBook
from core.averaging.grid.failure_rate import FailureRate
from core.averaging.matchmaking.attempts import attempt_key
from core.averaging.penalties.ledger import Reputation
from core.averaging.plan import PlanRequest
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
    minimum_samples: int
    target_samples: int
    book: LineBook
    failures: FailureRate
    reputation: Reputation

    def key(self, state: State, attempt: int) -> Key:
        """The point of the key space that decides who leads this attempt."""
        epoch, lineage = state
        return attempt_key(self.run_id, lineage, epoch, attempt)

    def request(self, round_: bytes, state: State, attempt: int, numel: int) -> PlanRequest:
        """What all members of a round agree on."""
        epoch, lineage = state
        return PlanRequest(
            round=round_,
            epoch=epoch,
            lineage=lineage,
            attempt=attempt,
            numel=numel,
            numbers=self.numbers,
            target_samples=self.target_samples,
        )
