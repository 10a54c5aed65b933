"""Hands what moderators have said on, from peer to peer, as an epidemic does (Demers and others 1987).

A peer tells a summary of what it knows to a peer at random every `TELL_S`, and to many when it has just learned
something, to those first whom that shuts out.  A peer that hears another summary than its own asks the teller for what
it lacks, naming what it has; one that is asked by somebody who has more asks back.  So peers that meet agree, whether
or not a backbone is there, and nothing more is said while all do.

What the worst sender gains: a member that tells a summary of nothing is asked, once in `GIVE_S`, by each peer that it
tells; a member that asks is given `GIVEN_BYTES_MAX` in that time.  Nobody can make a document but moderators.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated, ClassVar, Final

from msgspec import Meta

from core.authority.decisions import Decisions
from core.authority.documents import BODY_BYTES_MAX, MARK_BYTES, Document
from core.authority.records import AuthorityRecords, read_bundle
from core.base.bounds import remember
from core.base.content import digest
from core.base.ids import Observed, PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace
from core.base.problems import RemoteProblem, WireProblem
from core.base.rate_limit import RateLimit
from core.base.wire import Message, Plane

TELL_S: Final = 10.0
"""Seconds between two tellings: a peer that missed a list learns of it at its next, if it tells one that has it."""
SPREAD_PEERS: Final = 16
"""Number of peers that are told at once when something is new here."""
PEERS_MAX: Final = 256
"""Number of peers remembered as met; the one met longest ago is forgotten first."""
GIVE_S: Final = 10.0
"""Seconds from one giving to a peer to the next, on average."""
GIVE_BURST: Final = 3
"""Number of givings at once: decisions may follow each other."""
TAKEN_PER_S: Final = 2.0
"""Documents of one peer that are looked at, a second in the long run."""
GIVEN_BYTES_MAX: Final = 192 * 1024
"""Upper bound on the documents of one giving, bytes; who lacks more asks again."""
MARKS_MAX: Final = 400
"""Number of documents that a peer can have."""
SIGNED_BYTES_MAX: Final = BODY_BYTES_MAX + 8 * 1024
_Mark = Annotated[bytes, Meta(min_length=MARK_BYTES, max_length=MARK_BYTES)]


class RecordsNumber(Message, frozen=True, tag="authority.number"):
    """A summary of what the sender knows."""

    plane: ClassVar[Plane] = "datagram"

    number: Annotated[int, Meta(ge=0, lt=2**53)]
    """The number of the sender's decisions."""
    known: Annotated[bytes, Meta(max_length=MARK_BYTES)] = b""
    """Digest of all its marks; empty: it knows nothing, or an earlier version says it."""


class RecordsAsk(Message, frozen=True, tag="authority.ask"):
    """A request for what the sender lacks."""

    marks: Annotated[tuple[_Mark, ...], Meta(max_length=MARKS_MAX)] = ()
    """Marks of all documents that the sender has."""


class RecordsGiven(Message, frozen=True, tag="authority.given"):
    """A document that the other one lacks."""

    signed: Annotated[bytes, Meta(max_length=SIGNED_BYTES_MAX)]


@dataclass(frozen=True, slots=True)
class AuthorityDecided:
    """This peer has learned what moderators have said, or a hold has ended."""

    decisions: Decisions
    shut_out: frozenset[PeerId]
    """Keys that are banned, or held now."""
    kept: bytes
    """`AuthorityRecords.to_bytes`."""


class AuthorityNews:
    """The machine of one peer.

    Args:
        records: What is known here.
        random: Draws the peers to tell.
        trace: Counts documents that do not hold.
    """

    MESSAGES: ClassVar[tuple[type[Message], ...]] = (RecordsNumber, RecordsAsk, RecordsGiven)

    def __init__(self, records: AuthorityRecords, *, random: Random, trace: Trace) -> None:
        self.records = records
        self._random = random
        self._trace = trace
        self._met: OrderedDict[PeerId, None] = OrderedDict()
        self._given = RateLimit[PeerId](rate_per_s=1 / GIVE_S, burst=GIVE_BURST)
        self._asked = RateLimit[PeerId](rate_per_s=1 / GIVE_S, burst=GIVE_BURST)
        self._taken = RateLimit[PeerId](rate_per_s=TAKEN_PER_S, burst=MARKS_MAX)
        self._shut_out = frozenset[PeerId]()
        self._tell_at: float | None = None

    @property
    def deadline(self) -> float | None:
        """When it tells its summary again; None: it has met nobody."""
        return self._tell_at

    def learn(self, kept: bytes, now: float, *, again: bool = False) -> Sequence[Send[Message] | AuthorityDecided]:
        """Take documents, and spread the word if one is new.

        Args:
            kept: As `AuthorityRecords.to_bytes` has them.
            now: Unix seconds.
            again: They were learned before, whatever the clock says now.

        Raises:
            RemoteProblem: they cannot be read, or their signatures do not allow it.
        """
        return self._decided(now) if self.records.learn(kept, None if again else now) else ()

    def handle(
        self, event: Received[Message] | Tick | Lost | Observed, now: float
    ) -> Sequence[Send[Message] | AuthorityDecided]:
        """Advance by one event."""
        match event:
            case Observed(peer=peer):
                remember(self._met, peer, None, PEERS_MAX)
                if self._tell_at is None:
                    self._tell_at = now + self._random.uniform(0.0, TELL_S)
            case Tick() if self._tell_at is not None and self._tell_at <= now:
                self._tell_at = now + TELL_S * self._random.uniform(0.8, 1.2)
                self.records.forget(now)
                ended = self._shut_out - self.records.shut_out(now)  # a hold is over
                return self._decided(now) if ended else self._tell(1)
            case Received(sender=sender, message=message):
                return self._received(sender, message, now)
        return ()

    def _received(self, sender: PeerId, message: Message, now: float) -> Sequence[Send[Message] | AuthorityDecided]:
        match message:
            case RecordsNumber() if message != (own := self._summary()):
                if message.known or message.number > own.number:
                    return self._ask(sender, now)
                return [Send(sender, own)]  # it knows nothing, or is an earlier version, which asks by the number
            case RecordsAsk(marks=marks) if self._given.admits(sender, now):
                known = self.records.marked()
                back = self._ask(sender, now) if set(marks) - known.keys() else ()
                return [*self._give(sender, [known[mark] for mark in known if mark not in marks]), *back]
            case RecordsGiven(signed=signed):
                if not self._taken.admits(sender, now):
                    return ()
                try:
                    if len(read_bundle(signed)) != 1:
                        raise WireProblem("several documents")
                    return self.learn(signed, now)
                except RemoteProblem:
                    self._trace.mark("authority.drop")
        return ()

    def _give(self, to: PeerId, documents: Sequence[Document]) -> list[Send[Message]]:
        given: list[Send[Message]] = []
        left = GIVEN_BYTES_MAX
        for document in documents:
            signed = self.records.seal.written(document)
            left -= len(signed)
            if left >= 0:
                given.append(Send(to, RecordsGiven(signed)))
        return given

    def _ask(self, teller: PeerId, now: float) -> Sequence[Send[Message]]:
        return [Send(teller, RecordsAsk(tuple(self.records.marked())))] if self._asked.admits(teller, now) else ()

    def _decided(self, now: float) -> Sequence[Send[Message] | AuthorityDecided]:
        shut_out = self.records.shut_out(now)
        first = [peer for peer in sorted(shut_out - self._shut_out) if peer in self._met][:SPREAD_PEERS]
        self._shut_out = shut_out
        decided = AuthorityDecided(self.records.decisions, shut_out, self.records.to_bytes())
        return [decided, *self._tell(SPREAD_PEERS, first=first)]

    def _summary(self) -> RecordsNumber:
        marks = b"".join(sorted(self.records.marked()))
        return RecordsNumber(self.records.decisions.number, digest(marks)[:MARK_BYTES] if marks else b"")

    def _tell(self, count: int, *, first: Sequence[PeerId] = ()) -> list[Send[Message]]:
        others = self._random.sample(list(self._met), min(count, len(self._met)))
        summary = self._summary()
        return [Send(peer, summary) for peer in dict.fromkeys([*first, *others])]
