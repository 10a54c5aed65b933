"""A receipt that was checked against its signatures, as people may see it."""

from dataclasses import dataclass
from typing import Final

from core.averaging.receipts.receipt import Receipt, check_receipt
from core.base.problems import ProofProblem
from core.base.signing import Ed25519Verifier
from core.ledger.credits import Credits, credits_of

MOMENT_MAX: Final = 253_000_000_000
"""Upper bound on a moment that can be shown, unix seconds: the year 9987."""


@dataclass(frozen=True, slots=True)
class CheckedReceipt:
    """A receipt and what its check found.

    Attributes:
        receipt: As it was read.
        problem: What is wrong with it, one sentence; empty: every signature holds.
    """

    receipt: Receipt
    problem: str

    @property
    def moment(self) -> int:
        """When it was signed, unix seconds: half of the signers say at least this; 0 if nobody signed."""
        times = sorted(one.time for one in self.receipt.attestations)
        return min(times[(len(times) - 1) // 2], MOMENT_MAX) if times else 0

    @property
    def credits(self) -> Credits:
        """Each peer's work according to it."""
        return credits_of(self.receipt)


def check(receipt: Receipt) -> CheckedReceipt:
    """Return the receipt with what is wrong with it."""
    try:
        check_receipt(receipt, Ed25519Verifier())
    except ProofProblem as problem:
        return CheckedReceipt(receipt, problem.message)
    return CheckedReceipt(receipt, "")
