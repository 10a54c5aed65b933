"""Credits that receipts give to peers: samples, and also rounds, reducing and relaying, which need no fast GPU.

A peer that only reduces or relays is credited in the numbers that show its work: rounds that it helped to end, numbers
that it averaged, bytes that it relayed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from core.averaging.receipts.receipt import Receipt
from core.base.ids import PEER_ID_BYTES, PeerId

OTHERS: Final = PeerId(bytes(PEER_ID_BYTES))
"""Stands for all peers that have no sums of their own any more."""
COUNT_MAX: Final = 2**53
"""Upper bound on each sum: larger numbers could not be read again, and no JSON reader would get them right."""


def added(one: int, other: int) -> int:
    """A sum that stays within `COUNT_MAX`."""
    return min(one + other, COUNT_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credit:
    """One peer's work in one or more rounds."""

    samples: int = 0
    rounds: int = 0
    """Rounds in whose mean it had a part, or some of which it reduced."""
    reduced: int = 0
    """Numbers of means that it made."""
    relayed_bytes: int = 0
    """Bytes that it carried for others, as these attest."""

    def __add__(self, other: "Credit") -> "Credit":
        return Credit(
            samples=added(self.samples, other.samples),
            rounds=added(self.rounds, other.rounds),
            reduced=added(self.reduced, other.reduced),
            relayed_bytes=added(self.relayed_bytes, other.relayed_bytes),
        )


Credits = Mapping[PeerId, Credit]


def credits_of(receipt: Receipt) -> dict[PeerId, Credit]:
    """Each peer's work, according to a receipt that was checked (`check_receipt`)."""
    found = {
        PeerId(deed.peer): Credit(samples=deed.samples, rounds=1, reduced=deed.reduced)
        for deed in receipt.statement.deeds
        if deed.chunks or deed.reduced
    }
    for attestation in receipt.attestations:
        for one in attestation.relayed:
            relay = PeerId(one.relay)
            found[relay] = found.get(relay, Credit()) + Credit(relayed_bytes=one.carried_bytes)
    return found
