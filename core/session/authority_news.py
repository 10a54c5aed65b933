"""Hands the newest records of authority on, from peer to peer, as an epidemic does (Demers and others 1987).

A peer tells the number of its list to a peer at random every `TELL_S`, and to many when it has just learned a newer
one, to those first whom that shuts out.  A peer that hears a greater number than its own asks the teller for the list;
one that hears a smaller one tells its own.  So peers that meet agree, whether or not a backbone is there, and nothing
more is said while all do.

What the worst sender gains: a member that tells a number without a list is asked for it, by each peer that it tells; a
member that asks for the list gets it once in `GIVE_S`, 40 KiB at most.  Nobody can make a list but the authority.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated, Any, ClassVar, Final

from msgspec import Meta

from core.base.authority_records import RECORDS_BYTES_MAX, AuthorityRecords, read_records
from core.base.contact import Observed
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick
from core.base.problems import RemoteProblem
from core.base.rate_limit import RateLimit
from core.base.signing import Ed25519Verifier
from core.base.trace import Trace
from core.base.wire import Message, Plane

TELL_S: Final = 10.0
"""Seconds between two tellings: a peer that missed a list learns of it at its next, if it tells one that has it."""
SPREAD_PEERS: Final = 16
"""Number of peers that are told at once when a list is new here."""
PEERS_MAX: Final = 256
"""Number of peers remembered as met; the one met longest ago is forgotten first."""
GIVE_S: Final = 10.0
"""Seconds between two lists for one peer."""


class RecordsNumber(Message, frozen=True, tag="authority.number"):
    """The number of the sender's list."""

    plane: ClassVar[Plane] = "datagram"

    number: Annotated[int, Meta(ge=0, lt=2**53)]


class RecordsAsk(Message, frozen=True, tag="authority.ask"):
    """A request for the list."""


class RecordsGiven(Message, frozen=True, tag="authority.given"):
    """The sender's list."""

    signed: Annotated[bytes, Meta(max_length=RECORDS_BYTES_MAX)]


@dataclass(frozen=True, slots=True)
class AuthorityDecided:
    """This peer has learned a newer list."""

    records: AuthorityRecords
    signed: bytes
    """The list as the authority has signed it."""


class AuthorityNews:
    """The machine of one peer.

    Args:
        authority_id: The authority's public key.
        manifest_id: The collaboration.
        random: Draws the peers to tell.
        trace: Counts lists that do not hold.
    """

    MESSAGES: ClassVar[tuple[type[Message], ...]] = (RecordsNumber, RecordsAsk, RecordsGiven)

    def __init__(self, *, authority_id: PeerId, manifest_id: bytes, random: Random, trace: Trace) -> None:
        self._authority_id = authority_id
        self._manifest_id = manifest_id
        self._random = random
        self._trace = trace
        self._signed = b""
        self.records = AuthorityRecords()
        """The newest list that this peer has seen."""
        self._met: OrderedDict[PeerId, None] = OrderedDict()
        self._given = RateLimit[PeerId](rate_per_s=1 / GIVE_S, burst=1)
        self._tell_at: float | None = None

    @property
    def deadline(self) -> float | None:
        """When it tells its number again; None: it has met nobody."""
        return self._tell_at

    def learn(self, signed: bytes) -> Sequence[Send[Message] | AuthorityDecided]:
        """Take a list, if it is newer than the one held here, and spread the word.

        Args:
            signed: The list, as the authority has signed it.

        Raises:
            RemoteProblem: not a list, or not the authority's.
        """
        records = read_records(
            signed, authority_id=self._authority_id, manifest_id=self._manifest_id, verifier=Ed25519Verifier()
        )
        if records.number <= self.records.number:
            return ()
        shut_out = [peer for peer in map(PeerId, records.revoked) if peer in self._met][-SPREAD_PEERS:]
        self._signed, self.records = signed, records
        return [AuthorityDecided(records, signed), *self._tell(SPREAD_PEERS, first=shut_out)]

    def handle(
        self, event: Received[Message] | Tick | Lost | Observed, now: float
    ) -> Sequence[Send[Message] | AuthorityDecided]:
        """Advance by one event."""
        match event:
            case Observed(peer=peer):
                self._met[peer] = None
                self._met.move_to_end(peer)
                if len(self._met) > PEERS_MAX:
                    self._met.popitem(last=False)
                if self._tell_at is None:
                    self._tell_at = now + self._random.uniform(0.0, TELL_S)
            case Tick() if self._tell_at is not None and self._tell_at <= now:
                self._tell_at = now + TELL_S * self._random.uniform(0.8, 1.2)
                return self._tell(1)
            case Received(sender=sender, message=message):
                return self._received(sender, message, now)
        return ()

    def _received(self, sender: PeerId, message: Message, now: float) -> Sequence[Send[Message] | AuthorityDecided]:
        match message:
            case RecordsNumber(number=number) if number > self.records.number:
                return [Send(sender, RecordsAsk())]
            case RecordsNumber(number=number) if number < self.records.number:
                return [Send(sender, RecordsNumber(self.records.number))]
            case RecordsAsk() if self._signed and self._given.admits(sender, now):
                return [Send(sender, RecordsGiven(self._signed))]
            case RecordsGiven(signed=signed):
                try:
                    return self.learn(signed)
                except RemoteProblem:
                    self._trace.mark("authority.drop")
        return ()

    def _tell(self, count: int, *, first: Sequence[PeerId] = ()) -> list[Send[Any]]:
        others = self._random.sample(list(self._met), min(count, len(self._met)))
        return [Send(peer, RecordsNumber(self.records.number)) for peer in dict.fromkeys([*first, *others])]
