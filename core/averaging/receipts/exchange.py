"""The members of a round exchange their signatures under what it came to: see `core.averaging.receipts.receipt`.

In a group of up to `BUNDLE_MAX` all members send their signatures to all; in a larger one to the leader, which
bundles them.  After some seconds the receipt is made of what has come: none waits for the dead, and no round waits
for this.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from core.averaging.plan import Plan
from core.averaging.receipts.receipt import (
    BUNDLE_MAX,
    Attestation,
    Attested,
    Receipt,
    Statement,
    attest,
    is_modest,
    is_signed,
)
from core.base.ids import AccountId, PeerId, account_of
from core.base.machine import Lost, Received, Send, Tick, Trace, earliest
from core.base.signing import Signer, Verifier

CLOCKS_DIFFER_S: Final = 90.0
"""Seconds by which a signer's clock may differ: a minute, as a pass may be off by, and the time of one round."""
SIGNED_BY_S: Final = 5.0
"""Seconds after which the receipt is made of the signatures that are there: members end a round within about one.  The
leader that bundles them waits half as long, so that its bundles arrive in time."""


@dataclass(frozen=True, slots=True)
class Receipted:
    """The receipt of a round is complete, or as complete as it gets."""

    receipt: Receipt
    split_by: PeerId | None = None
    """The leader, if it has committed something else to others, by their signatures or its own."""
    sure: bool = False
    """Whether that is certain: by its own signature, or those of more than half of all.

    By those of half of the others it is a guess: in a group of five two liars are so many.
    """


@dataclass(slots=True)
class _Signing:
    """A round that this peer has signed, and whose other signatures are awaited."""

    statement: Statement
    digest: bytes
    others: frozenset[PeerId]
    witnesses: frozenset[PeerId]
    """Members whose signatures, if they say something else, say something of the leader: those that hold means.

    Helpers sign what they were told of them, by reducers that may lie; a grid's groups have a Commit each.
    """
    led_by: PeerId | None
    """The member that committed it, if that is the first leader, and not this peer.

    Under a successor some may have ended with the first one's Commit, so that a difference accuses nobody.
    """
    leader: PeerId | None
    """The member that bundles; None: all send to all."""
    until: float
    signatures: dict[PeerId, Attestation]
    contradictions: dict[PeerId, Attestation] = field(default_factory=dict)
    gone: frozenset[PeerId] = frozenset()
    """Members of which nothing more is taken."""

    @property
    def complete(self) -> bool:
        """Whether no signature may still come: each member has signed, contradicted, or left."""
        return self.others <= self.signatures.keys() | self.contradictions.keys() | self.gone

    def lose(self, member: PeerId) -> None:
        """Wait no longer for a member, nor, without the leader that bundles, for any other."""
        self.gone |= self.others if member == self.leader else {member}

    def finish(self, account: Callable[[PeerId], AccountId]) -> Receipted:
        """Make the receipt of what is there.

        Only the leader can have committed something else to others than to this peer: each finishes with the leader's
        Commit only.  One member that signs something else may as well be the liar; the leader's own signature is proof.

        Args:
            account: Whose key a member's is: the words of one person's computers count once.
        """
        receipt = Receipt(self.statement, _in_order(self.signatures), _in_order(self.contradictions))
        apart = self.contradictions.keys() & self.witnesses
        proven = self.led_by in apart
        others, all_ = len(set(map(account, apart))), len(set(map(account, self.witnesses)))
        half = others > 1 and 2 * others >= all_ - 1
        if self.led_by is None or not (proven or half):
            return Receipted(receipt)
        return Receipted(receipt, self.led_by, proven or 2 * others > all_)


Outputs = list[Send[Attested] | Receipted]


class Attesting:
    """One member's side; a machine of `Attested`.

    Args:
        signer: This peer.
        verifier: Tells others' signatures.
        trace: Where misuse is marked.
    """

    def __init__(self, *, signer: Signer, verifier: Verifier, trace: Trace) -> None:
        self._signer = signer
        self._me = signer.peer_id
        self._verifier = verifier
        self._trace = trace
        self._plan: Plan | None = None
        self._early: dict[PeerId, Attested] = {}
        self._signed: dict[bytes, _Signing] = {}
        self.account: Callable[[PeerId], AccountId] = account_of
        """Whose key a member's is."""
        self.carried: Callable[[], Mapping[PeerId, int]] = dict
        """Asked once a round: bytes that each relay has carried for this peer since it was asked last."""

    def expect(self, plan: Plan) -> None:
        """A round begins: the words of members that finish before this one are kept, one of each."""
        self._plan, self._early = plan, {}

    def sign(self, statement: Statement, *, leader: PeerId, now: float) -> Outputs:
        """The round is over for this peer, which signs a statement.  `Receipted` follows within some seconds.

        Args:
            statement: Statement of the round that was expected last, and not signed yet; another is passed over.
            leader: The member that led it to its end.
            now: Unix seconds.
        """
        plan, early = self._plan, self._early
        if plan is None or plan.round != statement.round:
            return []
        self._plan, self._early = None, {}
        mine = attest(statement, self._signer, time=now, relayed=self.carried())
        holders = frozenset(PeerId(member.peer) for member in plan.members if member.receives)
        current = _Signing(
            statement,
            statement.digest,
            others=frozenset(plan.peers) - {self._me},
            witnesses=holders if plan.stages == 1 and self._me in holders else frozenset(),
            led_by=leader if leader == plan.leader != self._me else None,
            leader=leader if len(plan.peers) > BUNDLE_MAX else None,
            until=now + (SIGNED_BY_S / 2 if len(plan.peers) > BUNDLE_MAX and leader == self._me else SIGNED_BY_S),
            signatures={self._me: mine},
        )
        self._signed[statement.round] = current
        for sender, message in early.items():
            self._take(current, sender, message, now)
        to = current.others if current.leader is None else {current.leader} - {self._me}
        return [*(Send(peer, Attested(statement.round, (mine,))) for peer in sorted(to)), *self._advance(now)]

    @property
    def deadline(self) -> float | None:
        """When the next receipt is due, unix seconds."""
        return earliest(*(current.until for current in self._signed.values()))

    def handle(self, event: Received[Attested] | Tick | Lost, now: float) -> Outputs:
        """A signature, a Tick or a lost link may complete receipts, which are among what is returned."""
        match event:
            case Received(sender=sender, message=message):
                current = self._signed.get(message.round)
                if current is not None and sender in current.others:
                    self._take(current, sender, message, now)
                elif self._plan is not None and self._plan.round == message.round and sender in self._plan.peers:
                    self._early.setdefault(sender, message)
                else:
                    self._trace.mark("receipts.drop.foreign")
            case Lost(peer=peer):
                for current in self._signed.values():
                    current.lose(peer)
            case Tick():
                pass
        return self._advance(now)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _take(self, current: _Signing, sender: PeerId, message: Attested, now: float) -> None:
        """Look at signatures of their sender, or of members for which it bundles.

        Of each member one is taken under this statement and one under another, and nothing more of a sender after a
        wrong one: so few are checked, which costs more than sending them.  The member that bundles leaves it to the
        others whose clock is wrong: it may be its own.
        """
        for attestation in message.attestations:
            member = PeerId(attestation.member)
            contradicts = attestation.digest != current.digest
            known = current.contradictions if contradicts else current.signatures
            if sender in current.gone:
                self._trace.mark("receipts.drop.flood")
            elif sender not in {member, current.leader} or member not in current.others:
                self._trace.mark("receipts.drop.foreign")
            elif member in known:
                self._trace.mark("receipts.drop.duplicate")
            elif not is_modest(attestation, current.statement):
                self._trace.mark("receipts.drop.relayed")
            elif not is_signed(attestation, current.statement.round, self._verifier):
                self._trace.mark("receipts.drop.signature")
                current.lose(sender)
            elif current.leader != self._me and abs(attestation.time - now) > CLOCKS_DIFFER_S:
                self._trace.mark("receipts.drop.time")
            else:
                known[member] = attestation
                if contradicts:
                    self._trace.mark("receipts.contradiction")

    def _advance(self, now: float) -> Outputs:
        """Make the receipts that are due, and as a leader send others the signatures under them first."""
        outputs: Outputs = []
        for round_, current in list(self._signed.items()):
            if current.complete or now >= current.until:
                del self._signed[round_]
                done = current.finish(self.account)
                if current.leader == self._me:
                    signed = done.receipt.attestations
                    bundles = [signed[start : start + BUNDLE_MAX] for start in range(0, len(signed), BUNDLE_MAX)]
                    to = sorted(current.others - current.gone)
                    outputs += [Send(peer, Attested(round_, bundle)) for peer in to for bundle in bundles]
                outputs.append(done)
        return outputs


def _in_order(attestations: Mapping[PeerId, Attestation]) -> tuple[Attestation, ...]:
    return tuple(attestations[member] for member in sorted(attestations))
