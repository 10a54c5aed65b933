"""The members of a round exchange their signatures under what it came to: see `core.averaging.receipts.receipt`.

In a group of up to `DIRECT_MAX` all members send their signatures to all; in a larger one to the leader, which
bundles them.  After some seconds the receipt is made of what has come: none waits for the dead, and no round waits
for this.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from core.averaging.plan import Plan
from core.averaging.receipts.receipt import (
    BUNDLE_MAX,
    Attestation,
    Attested,
    Bundle,
    Receipt,
    Statement,
    attest,
    is_modest,
    is_signed,
)
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, earliest
from core.base.signing import Signer, Verifier
from core.base.trace import Trace

DIRECT_MAX: Final = 32
"""Number of members that send each other their signatures without the leader: 31 small messages each."""
SIGNED_BY_S: Final = 5.0
"""Seconds after which the receipt is made of the signatures that are there: members end a round within about one.  The
leader that bundles them waits half as long, so that its bundles arrive in time."""
ROUNDS_MAX: Final = 4
"""Number of rounds whose signatures are awaited at a time: rounds are seconds apart at least."""
TRIES: Final = 2
"""Number of signatures of one member that are looked at in a round: checking one costs more than sending it."""
CLOCKS_DIFFER_S: Final = 90.0
"""Seconds by which a member's clock may differ: a minute, as a pass may be off by, and the time of one round."""
WITNESSES: Final = 2
"""Number of members, and half of the others, that must sign something else before the leader has split the group."""


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
class _Round:
    """A round that runs, or whose signatures are awaited."""

    peers: frozenset[PeerId]
    witnesses: frozenset[PeerId]
    """Members whose signatures, if they say something else, say something of the leader: those that hold means.

    Helpers sign what they were told of them, by reducers that may lie; a grid's groups have a Commit each.
    """
    first: PeerId
    """The plan's leader.  Under a successor honest members may differ over the makers, by the first one's orders."""
    early: dict[PeerId, Attestation] = field(default_factory=dict)
    """From members that have finished before this one; they have not been looked at."""
    statement: Statement | None = None
    """None: we have not finished."""
    digest: bytes = b""
    led_by: PeerId | None = None
    """The member that committed it, if that is the first leader, and not this peer."""
    leader: PeerId | None = None
    """The member that bundles; None: all send to all."""
    until: float = 0.0
    signatures: dict[PeerId, Attestation] = field(default_factory=dict)
    contradictions: dict[PeerId, Attestation] = field(default_factory=dict)
    gone: set[PeerId] = field(default_factory=set)
    tries: dict[PeerId, int] = field(default_factory=dict)

    @property
    def awaited(self) -> frozenset[PeerId]:
        """Members whose signature may still come: they neither signed, nor contradicted, nor left."""
        return self.peers - self.signatures.keys() - self.contradictions.keys() - self.gone

    @property
    def split_by(self) -> PeerId | None:
        """The leader, if it has committed something else to others than to us.

        Nobody else can have done that: each finishes with the leader's Commit only.  One member that signs something
        else may as well be the liar; the leader's own signature is proof.
        """
        apart = self.contradictions.keys() & self.witnesses
        half = len(apart) >= WITNESSES and 2 * len(apart) >= len(self.witnesses) - 1
        return self.led_by if half or self.led_by in apart else None

    @property
    def sure(self) -> bool:
        """Whether a split by the leader is certain: its own signature or most witnesses' contradict."""
        apart = self.contradictions.keys() & self.witnesses
        return self.led_by in apart or 2 * len(apart) > len(self.witnesses)


Outputs = list[Send[Attested | Bundle] | Receipted]


def _no_relays() -> Mapping[PeerId, int]:
    return {}


class Attesting:
    """One member's side; a machine of `RECEIPT_MESSAGES`.

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
        self._rounds: OrderedDict[bytes, _Round] = OrderedDict()
        self.carried: Callable[[], Mapping[PeerId, int]] = _no_relays
        """Asked once a round: bytes that each relay has carried for us since it was asked last."""

    def expect(self, plan: Plan) -> Outputs:
        """A round begins: the words of members that finish before us are kept."""
        first = plan.peers[plan.leaders[0]]
        holders = frozenset(PeerId(member.peer) for member in plan.members if member.receives)
        can_tell = plan.stages == 1 and self._me in holders
        self._rounds[plan.round] = _Round(frozenset(plan.peers), holders if can_tell else frozenset(), first)
        if len(self._rounds) <= ROUNDS_MAX:
            return []
        _, oldest = self._rounds.popitem(last=False)
        return [] if oldest.statement is None else [self._receipt(oldest, oldest.statement)]

    def sign(self, statement: Statement, *, leader: PeerId, now: float) -> Outputs:
        """The round is over for us, and this is what we say about it.  `Receipted` follows within some seconds.

        Args:
            statement: Of a round that was expected and not signed yet; another is passed over.
            leader: The member that led it to its end.
            now: Unix seconds.
        """
        current = self._rounds.get(statement.round)
        if current is None or current.statement is not None:
            return []
        mine = attest(statement, self._signer, time=now, relayed=self.carried())
        current.statement, current.digest = statement, statement.digest
        current.signatures[self._me] = mine
        current.led_by = leader if leader == current.first != self._me else None
        current.leader = leader if len(current.peers) > DIRECT_MAX else None
        leads = current.leader == self._me
        current.until = now + (SIGNED_BY_S / 2 if leads else SIGNED_BY_S)
        for sender, attestation in current.early.items():
            self._take(current, statement, sender, attestation, now)
        if leads:
            return self._advance(statement.round, current, now)
        to = sorted(current.peers - {self._me} - current.gone) if current.leader is None else [current.leader]
        sends: Outputs = [Send(peer, Attested(statement.round, mine)) for peer in to]
        return sends + self._advance(statement.round, current, now)

    @property
    def deadline(self) -> float | None:
        """When the next receipt is due, unix seconds."""
        return earliest(*(current.until for current in self._rounds.values() if current.statement is not None))

    def handle(self, event: Received[Attested | Bundle] | Tick | Lost, now: float) -> Outputs:
        """A signature, a Tick or a lost link may complete receipts, which are among what is returned."""
        match event:
            case Received(sender=sender, message=message):
                return self._receive(sender, message, now)
            case Lost(peer=peer):
                for current in self._rounds.values():
                    current.gone |= current.peers if peer == current.leader else {peer}
            case Tick():
                pass
        outputs: Outputs = []
        for round_, current in list(self._rounds.items()):
            outputs += self._advance(round_, current, now)
        return outputs

    # --- inside ------------------------------------------------------------------------------------------------------

    def _receive(self, sender: PeerId, message: Attested | Bundle, now: float) -> Outputs:
        current = self._rounds.get(message.round)
        if current is None or sender not in current.peers or sender == self._me:
            self._trace.mark("receipts.drop.foreign")
            return []
        statement = current.statement
        match message:
            case Attested(attestation=attestation) if attestation.member == sender:
                if statement is None:
                    current.early.setdefault(sender, attestation)
                    return []
                self._take(current, statement, sender, attestation, now)
            case Bundle(attestations=attestations) if statement is not None and sender == current.leader:
                for attestation in attestations:
                    self._take(current, statement, sender, attestation, now)
            case _:
                self._trace.mark("receipts.drop.foreign")
        return self._advance(message.round, current, now)

    def _take(
        self, current: _Round, statement: Statement, sender: PeerId, attestation: Attestation, now: float
    ) -> None:
        """Look at a signature.  `sender` is its member, or the leader that bundles."""
        member = PeerId(attestation.member)
        if member not in current.peers:
            self._trace.mark("receipts.drop.foreign")
            return
        if attestation == current.signatures.get(member) or member in current.contradictions:
            self._trace.mark("receipts.drop.duplicate")
            return
        # A member that sends wrong ones uses up its own tries, not those of the member in whose name it sends.
        tries = current.tries.get(sender, 0)
        if tries >= (len(current.peers) if sender == current.leader else TRIES):
            self._trace.mark("receipts.drop.flood")
            return
        current.tries[sender] = tries + 1
        if not is_signed(attestation, statement.round, self._verifier):
            self._trace.mark("receipts.drop.signature")
        elif abs(attestation.time - now) > CLOCKS_DIFFER_S:
            self._trace.mark("receipts.drop.time")
        elif attestation.digest != current.digest:
            self._trace.mark("receipts.contradiction")
            current.contradictions[member] = attestation
        elif not is_modest(attestation, statement):
            self._trace.mark("receipts.drop.relayed")
        elif member in current.signatures:
            self._trace.mark("receipts.drop.duplicate")
        else:
            current.signatures[member] = attestation

    def _advance(self, round_: bytes, current: _Round, now: float) -> Outputs:
        statement = current.statement
        if statement is None or (current.awaited and now < current.until):
            return []
        del self._rounds[round_]
        outputs: Outputs = []
        if current.leader == self._me:
            outputs += self._bundles(round_, current)
        return [*outputs, self._receipt(current, statement)]

    def _bundles(self, round_: bytes, current: _Round) -> Outputs:
        signatures = [current.signatures[member] for member in sorted(current.signatures)]
        bundles = [
            Bundle(round_, tuple(signatures[start : start + BUNDLE_MAX]))
            for start in range(0, len(signatures), BUNDLE_MAX)
        ]
        others = sorted(current.peers - {self._me} - current.gone)
        return [Send(peer, bundle) for peer in others for bundle in bundles]

    def _receipt(self, current: _Round, statement: Statement) -> Receipted:
        signatures = tuple(current.signatures[member] for member in sorted(current.signatures))
        contradictions = tuple(current.contradictions[member] for member in sorted(current.contradictions))
        split_by = current.split_by
        return Receipted(
            Receipt(statement, signatures, contradictions), split_by, split_by is not None and current.sure
        )
