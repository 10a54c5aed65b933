"""What the members of a round sign when it is over: how much each gave, reduced, and had relayed.

A receipt is one statement and the signatures of members under it.  The statement follows from the plan and the outcome,
so that it has the same bytes on every member.  With it each member signs, for itself alone, how many bytes relays have
carried for it: a relay never attests that itself.  A receipt outlives its connections, so it proves
itself: `check_receipt` needs nothing but the receipt.
"""

from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.averaging.balance.shares import apportion
from core.averaging.messages import GROUP_MAX, Digest, Lineage, Numel, Peer, RoundId
from core.averaging.outcome import Outcome
from core.averaging.plan import Plan
from core.base.bounds import Epoch, Samples
from core.base.content import digest
from core.base.ids import PeerId
from core.base.problems import ProofProblem
from core.base.signing import SIGNATURE_BYTES, Signer, Verifier
from core.base.wire import Message, Schema

KIND: Final = "potluck receipt 1"
RELAYS_MAX: Final = 4
"""Number of relays that one member may name in one round."""
RELAYED_VECTORS: Final = 16
"""Number of vectors of float32 that one relay may have carried for a member: a round, and a download of the state."""
BUNDLE_MAX: Final = 32
"""Number of signatures in one message, which stays a control message.  Groups of up to so many need no leader to bundle
them: each member sends 31 small messages."""
RECEIPT_BYTES_MAX: Final = 256 * 1024
"""Upper bound on a receipt, bytes: about one KiB for each member of the largest group."""

Signature = Annotated[bytes, Meta(min_length=SIGNATURE_BYTES, max_length=SIGNATURE_BYTES)]
Bytes = Annotated[int, Meta(gt=0, le=1 << 50)]
Moment = Annotated[int, Meta(ge=0, lt=1 << 40)]


class Deed(msgspec.Struct, frozen=True, array_like=True):
    """What one member of a round did."""

    peer: Peer
    samples: Samples
    """In the mean: of what it contributed the part that arrived, by chunks, rounded down."""
    chunks: Numel
    """Chunks of the mean that its contribution is in."""
    reduced: Numel
    """Numbers of the mean that it made out of all contributions."""


class Statement(msgspec.Struct, frozen=True, array_like=True, tag=KIND):
    """What all members of a round agree on.  Whole numbers, bytes and text only, so that it has one encoding."""

    run: Lineage
    """The collaboration: the manifest's id."""
    round: RoundId
    epoch: Epoch
    """Epoch of the state that the round led to."""
    lineage: Lineage
    """Lineage of the state that the round led to."""
    fingerprint: Digest
    """Names the mean (`Outcome.fingerprint`)."""
    chunk_total: Numel
    deeds: Annotated[tuple[Deed, ...], Meta(min_length=1, max_length=GROUP_MAX)]
    """Deeds of all members of the plan, in ascending order of the members' keys."""

    @property
    def numel(self) -> int:
        """What all members together reduced as planned: the vector's length in numbers, where none of them failed."""
        return sum(deed.reduced for deed in self.deeds)

    @property
    def members(self) -> frozenset[PeerId]:
        """Every peer of the plan, whether or not its contribution is in the mean."""
        return frozenset(PeerId(deed.peer) for deed in self.deeds)

    @property
    def digest(self) -> bytes:
        """The digest by which attestations name this statement; equal statements have equal ones."""
        return digest(_encoder.encode(self))


class Relayed(msgspec.Struct, frozen=True, array_like=True):
    """What one relay has carried for the member that says so."""

    relay: Peer
    carried_bytes: Bytes


class Attestation(msgspec.Struct, frozen=True, array_like=True):
    """A member's signature under a statement, and what it alone knows."""

    member: Peer
    digest: Digest
    """Digest of the statement."""
    time: Moment
    """When it signed, unix seconds of its clock."""
    relayed: Annotated[tuple[Relayed, ...], Meta(max_length=RELAYS_MAX)]
    """Bytes that relays have carried for it since the last round for which it attested any."""
    signature: Signature


class Receipt(msgspec.Struct, frozen=True, array_like=True):
    """A statement and its signatures.  A member that died before the end of the round is absent."""

    statement: Statement
    attestations: Annotated[tuple[Attestation, ...], Meta(max_length=GROUP_MAX)]
    """In ascending order of the members' keys, one of each."""
    contradictions: Annotated[tuple[Attestation, ...], Meta(max_length=GROUP_MAX)] = ()
    """Signatures of members under another statement about the same round: kept as evidence."""


class Attested(Message, frozen=True, tag="averaging.attested"):
    """To the other members, or in a large group to the leader: the sender's signature; from that leader: all."""

    round: RoundId
    attestations: Annotated[tuple[Attestation, ...], Meta(max_length=BUNDLE_MAX)]


_encoder = msgspec.msgpack.Encoder()
_RECEIPTS: Final = Schema(Receipt, named="a receipt", bytes_max=RECEIPT_BYTES_MAX)


def statement_of(plan: Plan, outcome: Outcome, *, run: bytes, epoch: int, lineage: bytes) -> Statement:
    """What there is to sign about a committed round; the same on all its members.

    Args:
        plan: The round's plan.
        outcome: How it ended.
        run: The manifest's id.
        epoch: Epoch of the state that it led to.
        lineage: Lineage of the same state.
    """
    samples = dict(outcome.credited)
    present = dict(zip(samples, outcome.present, strict=True))
    reduced = [0] * len(plan.members)
    if plan.stages > 1:  # the makers are others in each of a grid's groups: by the shares of the plan
        reduced = list(apportion(plan.numel, plan.chunks))
    for share, version in enumerate(outcome.versions):
        first = plan.first_chunk(share)
        end = first + plan.chunks[share]
        if not version:  # of who made a share anew members may have heard differently
            reduced[share] += min(end * plan.chunk_numel, plan.numel) - min(first * plan.chunk_numel, plan.numel)
    deeds = tuple(
        Deed(peer, samples.get(peer, 0), present.get(peer, 0), numbers)
        for peer, numbers in zip(plan.peers, reduced, strict=True)
    )
    return Statement(run, outcome.round, epoch, lineage, outcome.fingerprint, outcome.chunk_total, deeds)


def relayed_bytes_max(statement: Statement) -> int:
    """What a member may say that one relay carried for it: the vectors, and 1 MiB of talk that comes on top.

    More is refused, lest two friends write each other any number.
    """
    return RELAYED_VECTORS * 4 * statement.numel + (1 << 20)


def attest(statement: Statement, signer: Signer, *, time: float, relayed: Mapping[PeerId, int]) -> Attestation:
    """Sign.

    Args:
        statement: What happened.
        signer: A member of the round.
        time: Unix seconds.
        relayed: Bytes by relay; more than a member may say is not said.
    """
    limit = relayed_bytes_max(statement)
    most = sorted(((carried, relay) for relay, carried in relayed.items() if carried > 0), reverse=True)[:RELAYS_MAX]
    said = tuple(Relayed(relay, min(carried, limit)) for carried, relay in sorted(most, key=lambda one: one[1]))
    name, moment = statement.digest, int(time)
    signature = signer.sign(_signed(statement.round, name, moment, said))
    return Attestation(signer.peer_id, name, moment, said, signature)


def is_signed(attestation: Attestation, round_: bytes, verifier: Verifier) -> bool:
    """Whether its member signed it, for this round; whatever the statement is that it names."""
    signed = _signed(round_, attestation.digest, attestation.time, attestation.relayed)
    return verifier.verify(PeerId(attestation.member), attestation.signature, signed)


def is_modest(attestation: Attestation, statement: Statement) -> bool:
    """Whether it names each relay once, never itself, and no more bytes than a member may say."""
    relays = {one.relay for one in attestation.relayed}
    limit = relayed_bytes_max(statement)
    return (
        len(relays) == len(attestation.relayed)
        and attestation.member not in relays
        and all(one.carried_bytes <= limit for one in attestation.relayed)
    )


def check_receipt(receipt: Receipt, verifier: Verifier) -> None:
    """Make sure that a receipt is what it says, wherever it comes from.

    Raises:
        ProofProblem: says what is wrong.
    """
    statement = receipt.statement
    peers = [deed.peer for deed in statement.deeds]
    if peers != sorted(set(peers)) or any(deed.chunks > statement.chunk_total for deed in statement.deeds):
        raise ProofProblem("the receipt's statement contradicts itself")
    signers = [attestation.member for attestation in receipt.attestations]
    if signers != sorted(set(signers)) or not signers:
        raise ProofProblem("the receipt's signatures are missing, not in order, or not distinct")
    for attestation in (*receipt.attestations, *receipt.contradictions):
        if attestation.member not in statement.members:
            raise ProofProblem("a peer signed that was not in the round")
        if not is_signed(attestation, statement.round, verifier):
            raise ProofProblem("a signature is wrong")
    if any(one.digest != statement.digest for one in receipt.attestations):
        raise ProofProblem("a signature is under another statement")
    if not all(is_modest(one, statement) for one in receipt.attestations):
        raise ProofProblem("a member says more of its relays than it may")


def encode_receipt(receipt: Receipt) -> bytes:
    """The receipt as bytes that say everything."""
    return _RECEIPTS.encode(receipt)


def decode_receipt(data: bytes | memoryview) -> Receipt:
    """The receipt again; check it, if it comes from others.

    Raises:
        WireProblem: it is not valid.
    """
    return _RECEIPTS.decode(data)


def _signed(round_: bytes, name: bytes, time: int, relayed: tuple[Relayed, ...]) -> bytes:
    """What is signed.  It begins with what it is, so that no signature under something else can be taken for it."""
    return _encoder.encode((KIND, round_, name, time, relayed))
