"""The envelope around every datagram: S000 appendix I.5, field by field.  No sockets here.

    byte 0        kind: ENVELOPE (1) or NEED_PASS (2)
    bytes 1-64    signature by the sender's key over DOMAIN and all that follows
    rest          MessagePack: pass or its hash, recipient's key, time, nonce, nonce that it answers, body

A sender shows its whole pass at first and the pass's 16-byte hash later.  A receiver that does not know the hash
answers with NEED_PASS and the nonce, 9 bytes: less than any request, so nobody can be flooded by reflection.  The
sender then sends an introduction (an envelope with an empty body and the whole pass) and repeats its datagram, as a new
envelope.

A datagram whose time is not the receiver's, give or take a minute, is not delivered.  Its sender is answered with an
empty envelope, which names the receiver's time: a peer whose clock is wrong learns it from those that refuse it.

An answer carries the nonce of the request (`reply_to`) and is accepted only from the peer to which that request went.
A machine that answers later than in the same step leaves it empty and matches by an id of its own in the body.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import thread_time
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta

from core.base.bounds import remember
from core.base.content import digest
from core.base.ids import PEER_ID_BYTES, PeerId
from core.base.problems import ProofProblem, WireProblem
from core.base.signing import SIGNATURE_BYTES, Ed25519Verifier, Signer
from core.base.wire import PROTOCOL, Schema
from core.net.datagrams.replay import WINDOW_S, ReplayGuard
from core.net.identity.passes import PASS_BYTES_MAX, Pass, PassVerifier
from core.net.limits.proof_budget import ProofBudget

DATAGRAM_BYTES_MAX = 1200
ENVELOPE = b"\x01"
NEED_PASS = b"\x02"
NONCE_BYTES = 8
HASH_BYTES = 16
DOMAIN = b"potluck datagram %d\n" % PROTOCOL
PASSES_MAX = 4096
"""Number of passes and acquaintances remembered; the oldest is forgotten first."""
SENT_MAX = 4096
"""Number of datagrams remembered, for answers and for repetitions."""
TELL_TIME_S = 1.0
"""Time between two answers to one peer that name nothing but the time, seconds."""
ROUND_TRIP_MAX_S = 5.0
"""An answer that took longer than this tells no time, seconds: half of it is by how much that time may be wrong."""
_HEAD_BYTES = 1 + SIGNATURE_BYTES
_HASH = slice(_HEAD_BYTES + 3, _HEAD_BYTES + 3 + HASH_BYTES)
"""Where the hash of a pass stands, behind the heads of the array and of the field."""


class _Fields(msgspec.Struct, frozen=True, array_like=True):
    proof: Annotated[bytes, Meta(min_length=HASH_BYTES, max_length=PASS_BYTES_MAX)]
    recipient: Annotated[bytes, Meta(min_length=PEER_ID_BYTES, max_length=PEER_ID_BYTES)]
    time: Annotated[float, Meta(ge=0, le=1e12)]
    nonce: Annotated[bytes, Meta(min_length=NONCE_BYTES, max_length=NONCE_BYTES)]
    reply_to: Annotated[bytes, Meta(max_length=NONCE_BYTES)]
    body: Annotated[bytes, Meta(max_length=DATAGRAM_BYTES_MAX)]


K = TypeVar("K")
V = TypeVar("V")

_SCHEMA: Final = Schema(_Fields, named="an envelope", bytes_max=DATAGRAM_BYTES_MAX)


@dataclass(frozen=True, slots=True)
class VerifiedDatagram:
    """A datagram whose envelope was verified."""

    sender: PeerId
    nonce: bytes
    body: bytes
    """The encoded message; empty: an introduction."""


@dataclass(frozen=True, slots=True)
class UnknownPass:
    """The sender's pass is not known; `answer` asks for it, and may be sent to the source of the datagram."""

    answer: bytes


@dataclass(frozen=True, slots=True)
class PassRequested:
    """`peer` does not know this peer's pass: `datagrams` introduce this peer and repeat its datagram."""

    peer: PeerId
    datagrams: list[bytes]


@dataclass(frozen=True, slots=True)
class WrongTime:
    """The sender's clock is not this peer's; `answer` tells it so, and may be sent to the source of the datagram."""

    answer: bytes


Opened = VerifiedDatagram | UnknownPass | PassRequested | WrongTime


@dataclass(slots=True)
class _Sent:
    peer: PeerId
    time: float
    body: bytes
    reply_to: bytes


class Envelopes:
    """Seals outgoing datagrams and opens incoming ones.

    Args:
        signer: This peer's identity.
        pass_der: This peer's pass.
        passes: Decides whose pass holds.
        nonce: Draws a nonce; must never repeat one.
        heard: Told how far a peer's clock is ahead, seconds, when it has answered.
        busy: Processor time that this thread has used, seconds.
    """

    def __init__(
        self,
        *,
        signer: Signer,
        pass_der: bytes,
        passes: PassVerifier,
        nonce: Callable[[], bytes],
        heard: Callable[[PeerId, float], None] = lambda _peer, _ahead_s: None,
        busy: Callable[[], float] = thread_time,
    ) -> None:
        self._signer = signer
        self._verifier = passes
        self._nonce = nonce
        self._heard = heard
        self._busy = busy
        self._told: OrderedDict[PeerId, float] = OrderedDict()
        """When a peer was last told the time alone."""
        self._passes: OrderedDict[bytes, Pass] = OrderedDict()
        self._introduced: OrderedDict[PeerId, None] = OrderedDict()
        self._sent: OrderedDict[bytes, _Sent] = OrderedDict()
        self._replays = ReplayGuard()
        self._budget = ProofBudget()
        self.renew(pass_der)

    def renew(self, pass_der: bytes) -> None:
        """Show another pass from now on."""
        self._pass_der = pass_der
        self._pass_hash = digest(pass_der)[:HASH_BYTES]
        self._introduced.clear()

    def seal(self, to: PeerId, body: bytes, *, now: float, reply_to: bytes = b"") -> list[bytes]:
        """Seal a body into datagrams: one, or an introduction before it if both do not fit together.

        Args:
            to: The recipient.
            body: The encoded message.
            now: Unix seconds.
            reply_to: Nonce of the request that it answers.

        Raises:
            ValueError: the body does not fit a datagram at all.
        """
        if to not in self._introduced:
            remember(self._introduced, to, None, PASSES_MAX)
            whole = self._seal_one(to, body, now=now, reply_to=reply_to, proof=self._pass_der)
            if len(whole) <= DATAGRAM_BYTES_MAX:
                return [whole]
            return [self._introduction(to, now), *self.seal(to, body, now=now, reply_to=reply_to)]
        datagram = self._seal_one(to, body, now=now, reply_to=reply_to, proof=self._pass_hash)
        if len(datagram) > DATAGRAM_BYTES_MAX:
            raise ValueError(f"a datagram of {len(datagram)} bytes, the limit is {DATAGRAM_BYTES_MAX}")
        return [datagram]

    def open(self, datagram: bytes, *, now: float, source: str = "") -> Opened | None:
        """Open a datagram.

        Args:
            datagram: As received.
            now: Unix seconds.
            source: The household that it comes from, whose failures are counted (`core.net.limits.proof_budget`).

        Returns:
            Its kind; None for a request for this peer's pass that no datagram of this peer can have caused.

        Raises:
            WireProblem: not a datagram of this protocol.
            ProofProblem: a field that does not hold; the sentence says which.
        """
        if len(datagram) > DATAGRAM_BYTES_MAX:
            raise WireProblem("a datagram that is too long")
        match datagram[:1]:
            case b"\x01":
                return self._open_envelope(datagram, now, source)
            case b"\x02" if len(datagram) == 1 + NONCE_BYTES:
                return self._repeat(datagram[1:], now)
            case _:
                raise WireProblem("not a datagram of ours")

    def is_beyond_share(self, datagram: bytes, *, now: float) -> bool:
        """Whether it shows the hash of a member's pass that has had its share of the processor; asked before `open`.

        Args:
            datagram: As received.
            now: Unix seconds.
        """
        known = self._passes.get(datagram[_HASH])
        return known is not None and self._budget.is_beyond_share(known.peer, now)

    @contextmanager
    def work_for(self, sender: PeerId, now: float) -> Iterator[None]:
        """Count the processor time of what is done meanwhile with a datagram of this sender, who has a share of it.

        Args:
            sender: Sender of a verified datagram.
            now: Unix seconds.
        """
        began = self._busy()
        try:
            yield
        finally:
            self._budget.worked(sender, self._busy() - began, now)

    def _introduction(self, to: PeerId, now: float) -> bytes:
        return self._seal_one(to, b"", now=now, reply_to=b"", proof=self._pass_der)

    def _seal_one(self, to: PeerId, body: bytes, *, now: float, reply_to: bytes, proof: bytes) -> bytes:
        nonce = self._nonce()
        payload = _SCHEMA.encode(_Fields(proof, to, now, nonce, reply_to, body))
        remember(self._sent, nonce, _Sent(to, now, body, reply_to), SENT_MAX)
        return ENVELOPE + self._signer.sign(DOMAIN + payload) + payload

    def _open_envelope(self, datagram: bytes, now: float, source: str) -> VerifiedDatagram | UnknownPass | WrongTime:
        """What costs little comes first; the rest is left out where source or sender have had too much of it."""
        began = self._busy()
        fields = _SCHEMA.decode(datagram[_HEAD_BYTES:])
        if fields.recipient != self._signer.peer_id:
            raise ProofProblem("recipient")
        known = self._known(fields.proof)
        if known is None and len(fields.proof) == HASH_BYTES:
            return UnknownPass(NEED_PASS + fields.nonce)
        peer = None if known is None else known.peer
        if not self._budget.allows(peer, source, now):
            raise ProofProblem("too many datagrams")
        try:
            opened = self._prove(known, fields, datagram, now)
        except ProofProblem:
            self._budget.failed(peer, source, now)
            raise
        if isinstance(opened, VerifiedDatagram):
            self._budget.held(opened.sender, source)
            self._budget.worked(opened.sender, self._busy() - began, now)
        return opened

    def _prove(self, known: Pass | None, fields: _Fields, datagram: bytes, now: float) -> VerifiedDatagram | WrongTime:
        """Check that a datagram is its sender's own, and new.  Its pass must be valid at the time that it claims, too.

        Args:
            known: The pass that it shows, if that was read before.
            fields: What it says.
            datagram: The whole of it.
            now: Unix seconds.

        Raises:
            ProofProblem: pass, signature, nonce, time or the question that it answers do not hold.
        """
        if known is None:
            known = self._verifier.read(fields.proof, fields.time)
        else:
            self._verifier.check(known, fields.time)
        payload = datagram[_HEAD_BYTES:]
        if not Ed25519Verifier().verify(known.peer, datagram[1:_HEAD_BYTES], DOMAIN + payload):
            raise ProofProblem("signature")
        if len(fields.proof) > HASH_BYTES:
            remember(self._passes, digest(fields.proof)[:HASH_BYTES], known, PASSES_MAX)
        if fields.reply_to:
            self._match(known.peer, fields, now)
        if abs(fields.time - now) > WINDOW_S:
            return self._tell_time(known.peer, fields, now)
        self._verifier.check(known, now)
        if not self._replays.admit(known.peer, fields.nonce, time=fields.time, now=now):
            raise ProofProblem("replay")
        return VerifiedDatagram(known.peer, fields.nonce, fields.body)

    def _tell_time(self, sender: PeerId, fields: _Fields, now: float) -> WrongTime:
        """Answer a datagram of another time.  The answer is no longer than the datagram, and nothing answers it."""
        told = self._told.get(sender, float("-inf"))
        if fields.reply_to or len(fields.body) < NONCE_BYTES or now - told < TELL_TIME_S:
            raise ProofProblem("time")
        remember(self._told, sender, now, PASSES_MAX)
        return WrongTime(self._seal_one(sender, b"", now=now, reply_to=fields.nonce, proof=self._pass_hash))

    def _known(self, proof: bytes) -> Pass | None:
        """The pass that a datagram shows, whole or by its hash, if it was read before."""
        name = proof if len(proof) == HASH_BYTES else digest(proof)[:HASH_BYTES]
        known = self._passes.get(name)
        if known is not None:
            self._passes.move_to_end(name)
        return known

    def _match(self, sender: PeerId, fields: _Fields, now: float) -> None:
        """Check that this peer asked `sender` exactly this, and compare clocks (RFC 5905, NTP, section 8)."""
        sent = self._sent.get(fields.reply_to)
        if sent is None or sent.peer != sender or now - sent.time > WINDOW_S:
            raise ProofProblem("answer")
        if now - sent.time <= ROUND_TRIP_MAX_S:
            self._heard(sender, fields.time - (sent.time + now) / 2)

    def _repeat(self, nonce: bytes, now: float) -> PassRequested | None:
        """Repeat the datagram with this nonce, which only its receiver knows; each is repeated once at most."""
        sent = self._sent.pop(nonce, None)
        if sent is None or now - sent.time > WINDOW_S:
            return None
        repeated = self._seal_one(sent.peer, sent.body, now=now, reply_to=sent.reply_to, proof=self._pass_hash)
        return PassRequested(sent.peer, [self._introduction(sent.peer, now), repeated])
