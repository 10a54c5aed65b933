"""Copies of experts: a few hosts keep the state of each expert that lives elsewhere, and who takes its place asks them.

Hosts tell in the DHT which states they have in files (`core.swarm.experts.records`).  The keepers of a place are the
hosts that a hash of both puts first (rendezvous hashing: Thaler and Ravishankar 1998), so nobody has to be told, and
all come to the same ones.

What the worst peer gains: a false copy of its own is taken only by who finds no other one, or fewer owners of any
other, those first that were in rounds; a copy has the form of its expert, since the worker checks it, and no more bytes
than one can have.  Where the owners of all copies give nothing, a taker loses `RECOVER_S`, and the expert begins anew.
A slow one whose copy comes first holds all experts that this host takes, for as long as a download of so many bytes may
take (`core.swarm.catching_up.fetch`), once for each of its copies.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain, islice
from math import inf
from random import Random
from typing import Any, Final, TypeAlias

from core.base.back_off import BackOff
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace, earliest
from core.dht.events import Found
from core.dht.events import Output as DhtOutput
from core.dht.node import DhtNode
from core.experts.hosting import Expert
from core.swarm.catching_up.donor import FileDonor, PastMembers
from core.swarm.catching_up.fetch import FileFetch, StateSink, Why
from core.swarm.experts.copy_news import SOON_S, CopyHere, CopyNews
from core.swarm.experts.other_hosts import OtherHosts, rank, row_of
from core.swarm.experts.places import PlaceTaken
from core.swarm.experts.records import ExpertCopy, Mixture
from core.swarm.words.messages import EXPERT_FILES
from core.swarm.words.outputs import Fetched, FetchFailed, Fetching
from core.swarm.words.states import StateFile

KEEPERS: Final = 2
"""Number of hosts that keep the state of an expert that lives elsewhere."""
SPARE_MAX: Final = 16
"""Number of experts more that a host keeps of which it is a keeper among those alone that have spoken to it: keys that
somebody has made up come before all others, and keep nothing."""
LOOK_S: Final = 12.0
"""Time between two looks for states that are to be kept."""
GATHER_S: Final = 3.0
"""The same while all are gathered."""
RECOVER_S: Final = 20.0
"""Time without a chunk of a copy that is waited for, after which an expert begins anew."""
SILENT_S: Final = (60.0, 300.0)
"""First and longest time in which an owner that has given nothing is asked for no copy that is to be kept."""
READS_MAX: Final = 64
"""Number of rows whose copies are read in one look."""


@dataclass(frozen=True, slots=True)
class CopyFetched:
    """A copy has come; its owner puts the file where it belongs, and says `CopyHere`."""

    expert: Expert
    version: int
    path: str


class ExpertDonor(FileDonor):
    """Gives the newest states of experts that lie here.

    Args:
        trace: Counts what others do wrong.
        members: Who was in rounds with this peer.
    """

    def __init__(self, *, trace: Trace, members: PastMembers) -> None:
        super().__init__(EXPERT_FILES, trace=trace, members=members)
        self.copies: dict[Expert, CopyHere] = {}

    def _file(self, digest: bytes) -> StateFile | None:
        return next((one.file for one in self.copies.values() if one.file.digest == digest), None)

    def _unreadable(self, digest: bytes) -> None:
        for expert in [expert for expert, one in self.copies.items() if one.file.digest == digest]:
            del self.copies[expert]

    def _freed(self) -> None:
        """Keep all files while others download them."""


@dataclass(frozen=True, slots=True)
class CopyDropped:
    """A copy is kept here no longer: others keep it, or have taken its place."""

    expert: Expert


CopyOutput: TypeAlias = DhtOutput | Send[Any] | CopyFetched | CopyDropped | PlaceTaken


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepingParts:
    """What keeping works with.

    Attributes:
        hosts: Who lives where, as far as others say.
        hosted: The experts of this computer that can be asked.
        directory: The DHT.
        sink: Where a copy is put together.
        members: Who was in rounds with this peer.
        room: Number of experts of which copies are kept here.
    """

    hosts: OtherHosts
    hosted: Container[Expert]
    directory: DhtNode
    sink: StateSink
    members: PastMembers
    room: float = inf


class ExpertKeeping:
    """Keeps copies for others, tells which ones, and finds the state of an expert whose place is taken.

    Args:
        me: This peer.
        mixture: The layers and their places.
        parts: What it works with.
        random: Spreads what many do.
        trace: Counts what others do wrong.
    """

    def __init__(self, me: PeerId, mixture: Mixture, parts: KeepingParts, *, random: Random, trace: Trace) -> None:
        self._me = me
        self._parts = parts
        self._random = random
        self._donor = ExpertDonor(trace=trace, members=parts.members)
        self.copies = self._donor.copies
        """What lies here."""
        self.news = CopyNews(
            me, mixture, directory=parts.directory, copies=self.copies, members=parts.members, random=random
        )
        """Which copies others have."""
        self._fetch: FileFetch[Expert] = FileFetch(sink=parts.sink, trace=trace, words=EXPERT_FILES)
        self._fetching: tuple[Expert, ExpertCopy] | None = None
        self._wanted: dict[Expert, float] = {}
        """Experts whose places were taken, and until when a copy is waited for."""
        self._arriving: dict[Expert, bytes] = {}
        """Digests of copies that have come, until their owner says that they lie here."""
        self._silent: BackOff[PeerId] = BackOff(first=SILENT_S[0], longest=SILENT_S[1], random=random)
        """Owners that have given nothing: their copies are many, and each wait holds all others."""
        self._look_at: float | None = None
        self._is_on = False
        self._all_until = 0.0

    @property
    def deadline(self) -> float | None:
        """When something is to be told, looked at or given up."""
        waits = min(self._wanted.values(), default=None)
        return earliest(self._look_at, self.news.deadline, self._fetch.deadline, waits)

    def follow(self, now: float, *, on: bool, all_until: float = 0.0) -> None:
        """Keep copies from now on, or no longer.

        Args:
            now: Unix seconds.
            on: Whether this peer keeps what is its to keep.
            all_until: Until then copies of all experts are kept here; Unix seconds.
        """
        self._is_on, self._all_until = on, all_until
        wait_s = SOON_S if now < all_until else LOOK_S * self._random.random()
        self._look_at = now + wait_s if on or now < all_until else None

    def here(self, copy: CopyHere, now: float) -> Sequence[CopyOutput]:
        """The state of an expert lies in a file; others may have it."""
        self.copies[copy.expert] = copy
        self.news.changed(row_of(copy.expert), now)
        if self._arriving.get(copy.expert) != copy.file.digest:
            return []  # it has been here since the last start, and a newer one may be on its way
        del self._arriving[copy.expert]
        return [*self._taken(copy.expert), *self._next(now)] if copy.expert in self._wanted else []

    def recover(self, expert: Expert, now: float) -> Sequence[CopyOutput]:
        """Find the newest state of an expert; `PlaceTaken` follows when it is here, or is not to be had."""
        self._wanted[expert] = now + RECOVER_S
        stopped: Sequence[CopyOutput] = []
        if self._fetching is not None and self._fetching[0] not in self._wanted:
            stopped, self._fetching = self._fetch.stop(), None
        return [*stopped, *self.news.read([row_of(expert)], now)]

    def give_up(self, expert: Expert, now: float, *, damaged: bool = False) -> None:
        """The place of an expert is another's; if the copy here is damaged, it is offered no longer, nor fetched."""
        self._wanted.pop(expert, None)
        if damaged and (copy := self.copies.pop(expert, None)) is not None:
            self.news.refuse(expert, copy.file.digest)
            self.news.changed(row_of(expert), now)

    def handle(self, event: Received[Any] | Tick | Lost, now: float) -> Sequence[CopyOutput]:
        """Messages about files, time and lost peers."""
        outputs: list[CopyOutput] = []
        if not isinstance(event, Received) or isinstance(event.message, EXPERT_FILES.asks):
            outputs += self._donor.handle(event, now)
        if not isinstance(event, Received) or isinstance(event.message, EXPERT_FILES.answers):
            outputs += self._fetched(self._fetch.handle(event, now), now)
        if isinstance(event, Tick):
            for expert in [expert for expert, until in self._wanted.items() if until <= now]:
                outputs += self._taken(expert)
            if self._look_at is not None and self._look_at <= now:
                outputs += self._look(now)
            outputs += self.news.tell(now)
        return outputs

    def found(self, found: Found, now: float) -> Sequence[CopyOutput] | None:
        """Take in which copies of a row there are; None: nobody asked for this key here."""
        row = self.news.found(found)
        if row is None:
            return None
        outputs: list[CopyOutput] = []
        for expert in [expert for expert in self._wanted if row_of(expert) == row]:
            outputs += [] if self.news.newer(expert) else self._taken(expert)
        return [*outputs, *self._next(now)]

    # --- copies ------------------------------------------------------------------------------------------------------

    def _next(self, now: float) -> Sequence[CopyOutput]:
        """Fetch a copy, unless one is being fetched."""
        chosen = self._choice(now) if self._fetching is None else None
        if chosen is None:
            return []
        expert, copy, owners = chosen
        self._fetching = expert, copy
        return self._fetched(self._fetch.fetch(expert, copy.digest, owners, now, size=copy.size), now)

    def _choice(self, now: float) -> tuple[Expert, ExpertCopy, Sequence[PeerId]] | None:
        """A copy that is waited for, before any other, else the oldest that is to be kept, from its host; who has it.

        While all are gathered also one of an expert whose host is gone, gives nothing, or has saved nothing; and where
        nothing else is left, one of an owner that was silent a moment ago.
        """
        for expert in self._wanted:
            for copy, owners in self.news.newer(expert)[:1]:
                return expert, copy, owners
        keeps = {} if self._wanted else self._to_keep(now)
        newer = {expert: self.news.other(expert, hosts[0]) for expert, hosts in keeps.items()}
        oldest = sorted(newer, key=lambda one: self.copies[one].saved if one in self.copies else 0)
        offers = [(one, other, keeps[one][:1]) for one in oldest if (other := newer[one]) is not None]
        gathers, lacking = now < self._all_until and not self._wanted, set[Expert]()
        if gathers and len(self.copies) < self._parts.room:
            gone = self.news.known.keys() - self._parts.hosts.living(now).keys()
            lacking = (gone | keeps.keys() & self.news.known.keys()) - self.copies.keys()
        others = ((one, copy, owners) for one in lacking for copy, owners in self.news.newer(one))
        late = None
        for expert, copy, owners in chain(offers, others):
            if awake := [owner for owner in owners if not self._silent.is_excluded(owner, now)]:
                return expert, copy, awake
            late = late or (expert, copy, owners)
        return late if gathers else None

    def _fetched(self, outputs: Sequence[Any], now: float) -> Sequence[CopyOutput]:
        """What follows from the download that goes on."""
        said: list[CopyOutput] = []
        for output in outputs:
            match output:
                case Fetching():
                    if self._fetching is not None and self._fetching[0] in self._wanted:
                        self._wanted = dict.fromkeys(self._wanted, now + RECOVER_S)
                case Fetched(location=location):
                    assert self._fetching is not None
                    (expert, copy), self._fetching = self._fetching, None
                    for owner in self._fetch.given:
                        self._silent.succeed(owner, now)
                    self._arriving[expert] = copy.digest
                    self.news.known.pop(expert, None)  # none of the others is better
                    said.append(CopyFetched(expert, copy.version, location))
                    said += self._next(now)
                case FetchFailed(name=expert):
                    assert self._fetching is not None
                    (_, copy), self._fetching = self._fetching, None
                    self.news.forget(expert, copy)
                    for owner in (owner for owner, why in self._fetch.gone.items() if why in {Why.SILENT, Why.LOST}):
                        self._silent.fail(owner, now)
                    if expert in self._wanted and not self.news.newer(expert):
                        said += self._taken(expert)
                    said += self._next(now)
                case _:
                    said.append(output)
        return said

    def _taken(self, expert: Expert) -> Sequence[CopyOutput]:
        """The expert begins with what lies here now."""
        self._wanted.pop(expert, None)
        return [PlaceTaken(*expert)]

    # --- looks -------------------------------------------------------------------------------------------------------

    def _to_keep(self, now: float) -> Mapping[Expert, list[PeerId]]:
        """The experts of others of which this peer is a keeper, and who hosts each: first who was in rounds."""
        hosts = self._parts.hosts
        peers, living = hosts.peers(now), hosts.living(now) if self._is_on or now < self._all_until else {}
        real, all_here = {peer for peer in peers if hosts.is_real(peer)}, now < self._all_until
        mine = {expert for expert, there in living.items() if all_here or is_keeper(self._me, expert, peers, there)}
        spare = [expert for expert in living.keys() - mine if is_keeper(self._me, expert, real, living[expert])]
        mine.update(nsmallest(SPARE_MAX, spare, key=lambda one: (one not in self.copies, rank(one, self._me))))
        keeps = {
            expert: sorted(there, key=lambda host: host not in self._parts.members)
            for expert, there in living.items()
            if expert in mine
        }
        if len(keeps) > self._parts.room:
            keeps = {expert: keeps[expert] for expert in sorted(keeps)[: int(self._parts.room)]}
        return keeps

    def _look(self, now: float) -> Sequence[CopyOutput]:
        """Read which copies there are of what is to be kept; drop what is not."""
        gathers = now < self._all_until
        pause_s = GATHER_S if gathers else LOOK_S
        self._look_at = now + pause_s * self._random.uniform(0.8, 1.2) if self._is_on or gathers else None
        keeps = self._to_keep(now)
        dropped = [one for one in self.copies if one not in keeps and one not in self._parts.hosted]
        outputs: list[CopyOutput] = []
        for expert in dropped:
            if expert in self._parts.hosts.living(now):  # else nobody may have another copy
                del self.copies[expert]
                outputs.append(CopyDropped(expert))
        rows = sorted({row_of(expert) for expert in keeps})
        return [*outputs, *self.news.read(self._random.sample(rows, min(READS_MAX, len(rows))), now)]


def is_keeper(me: PeerId, expert: Expert, peers: Iterable[PeerId], living: Sequence[PeerId]) -> bool:
    """Whether this peer is one of the first `KEEPERS` of some that do not host an expert.

    Args:
        me: This peer.
        expert: The expert.
        peers: Those that may keep it, this peer among them or not.
        living: Who hosts it.
    """
    own = rank(expert, me)
    before = (peer for peer in peers if rank(expert, peer) < own and peer not in living)
    return sum(1 for _ in islice(before, KEEPERS)) < KEEPERS
