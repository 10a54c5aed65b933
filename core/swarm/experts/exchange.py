"""A peer's part in a mixture of experts: it asks hosts for its trainer, and answers for the experts that it hosts.

`docs/protocols/experts.md` tells what each message costs.  A peer trains, hosts, or does both; a backbone does neither,
and only holds what others say in the DHT.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, get_args

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace, earliest
from core.base.wire import Message
from core.dht.events import Found
from core.dht.events import Output as DhtOutput
from core.dht.node import DhtNode
from core.experts import hosting
from core.experts.calls import CallAnswered, CallLapsed, ExpertAsk, ExpertCalls
from core.experts.messages import EXPERT_MESSAGES, ExpertRefused, ExpertReply
from core.experts.table import ExpertTable
from core.swarm.catching_up.donor import PastMembers
from core.swarm.catching_up.fetch import StateSink
from core.swarm.experts.copy_news import CopyHere
from core.swarm.experts.credit import ExpertCredit
from core.swarm.experts.keeping import CopyOutput, ExpertKeeping, KeepingParts
from core.swarm.experts.other_hosts import ANY_ANSWER
from core.swarm.experts.places import ExpertPlaces, PlaceLeft, PlaceOutput, PlaceTaken
from core.swarm.experts.reading import ExpertReader, ExpertsSought
from core.swarm.experts.records import ExpertCopy, Mixture
from core.swarm.words.messages import EXPERT_FILE_MESSAGES
from core.swarm.words.orders import Changed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from core.base.arrays import np


@dataclass(frozen=True, slots=True, eq=False)
class SearchExperts:
    """The trainer wants the best places for samples; see `ExpertReader.seek`."""

    ticket: int
    layer: int
    scores: "NDArray[np.float32]"
    count: int


@dataclass(frozen=True, slots=True)
class ForgetAsks:
    """The trainer waits for these answers no more; None: it waits for nothing, for its worker has ended."""

    tickets: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class UselessAnswer:
    """What was answered to a ticket cannot be used."""

    ticket: int


@dataclass(frozen=True, slots=True)
class HostExperts:
    """This computer has room for `count` experts from now on; 0: it leaves all of them."""

    count: int
    kept: tuple[hosting.Expert, ...] = ()
    """Those of which states lie here."""


@dataclass(frozen=True, slots=True)
class SurveyExperts:
    """People look at all places: what hosts say of them is to be read anew."""

    gather_s: float = 0.0
    """For so long copies of all experts are kept here, seconds."""


@dataclass(frozen=True, slots=True)
class PlaceKnown:
    """What a peer knows of a place."""

    expert: hosting.Expert
    hosts: frozenset[PeerId]
    copies: Mapping[PeerId, ExpertCopy]
    """By owner: states that lie in others' files."""


TrainerWish: TypeAlias = SearchExperts | ExpertAsk | ForgetAsks | UselessAnswer
"""What the trainer of this computer wants."""
OwnerWish: TypeAlias = HostExperts | SurveyExperts | CopyHere
"""What the owner of this computer wants, or has."""
ExpertEvent: TypeAlias = Received[Any] | Tick | Lost | TrainerWish | OwnerWish | hosting.HostFact
ExpertOutput: TypeAlias = (
    DhtOutput
    | Send[Message]
    | ExpertsSought
    | CallAnswered
    | CallLapsed
    | hosting.ComputeBatch
    | CopyOutput
    | PlaceLeft
    | Changed
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeParts:
    """What an exchange works with.

    Attributes:
        host: Answers calls.
        directory: The DHT.
        sink: Where copies of experts are put together.
        members: Who was in rounds with this peer.
    """

    host: hosting.ExpertHost
    directory: DhtNode
    sink: StateSink
    members: PastMembers


class ExpertExchange:
    """Asks other hosts, and answers for its own experts.

    Args:
        me: This peer.
        mixture: The layers and their places.
        parts: What it works with.
        random: Spreads what many do.
        trace: Counts what others do wrong.
    """

    TAKES: ClassVar[tuple[type, ...]] = (
        *EXPERT_MESSAGES,
        *(SearchExperts, ExpertAsk, ForgetAsks, UselessAnswer),
        *(HostExperts, SurveyExperts, CopyHere, *get_args(hosting.HostFact)),
        *EXPERT_FILE_MESSAGES,
    )
    """Classes of messages and events."""

    def __init__(
        self,
        me: PeerId,
        mixture: Mixture,
        *,
        parts: ExchangeParts,
        random: Random,
        trace: Trace,
    ) -> None:
        self._me = me
        self.host, directory = parts.host, parts.directory
        tables = self._tables = {
            layer: ExpertTable(mixture.grid, mixture.owner_most) for layer in range(mixture.layers)
        }
        self._lacked: int | None = None
        """The layer that lacked experts after the last event."""
        self._calls = ExpertCalls(
            tables, patience_s=mixture.patience_s, members=parts.members, random=random, trace=trace
        )
        self.credit = ExpertCredit(
            me, mixture=mixture, directory=directory, received=self._calls.rows_from, random=random
        )
        """What trainers say to have been answered by whom."""
        self.places = ExpertPlaces(me, mixture, directory=directory, members=parts.members, random=random)
        self._reader = ExpertReader(mixture, tables, directory, self.places.others)
        kept_by = KeepingParts(
            hosts=self.places.others,
            hosted=self.host.hosted,
            directory=directory,
            sink=parts.sink,
            members=parts.members,
        )
        self._keeping = ExpertKeeping(me, mixture, kept_by, random=random, trace=trace)

    @property
    def deadline(self) -> float | None:
        """When the first of its parts has something to do."""
        machines = (self.host, self._calls, self._reader, self.places, self._keeping, self.credit)
        return earliest(*(machine.deadline for machine in machines))

    def lacks(self, now: float) -> int | None:
        """Number of a layer of which nobody hosts an expert, so that the trainer waits; None: it does not."""
        return self._reader.lacks(now)

    def live(self, now: float) -> int:
        """Number of experts of all layers that answer somewhere, as far as the trainer knows."""
        for table in self._tables.values():
            table.now = now
        return sum(table.live for table in self._tables.values())

    def known(self, now: float) -> Iterator[PlaceKnown]:
        """All places that have a host or a copy, as far as this peer knows."""
        living, copies = self.places.others.living(now), self._keeping.news.known
        for expert in sorted({*living, *self.host.hosted, *copies, *self._keeping.copies}):
            hosts = {*living.get(expert, ()), *([self._me] if expert in self.host.hosted else ())}
            yield PlaceKnown(expert, frozenset(hosts), copies.get(expert, {}))

    def start(self, now: float) -> None:
        """The peer joins the swarm: it thanks, and reads thanks; for all else its worker and its trainer begin."""
        self.credit.start(now)

    def handle(self, event: ExpertEvent, now: float) -> Sequence[ExpertOutput]:
        """Messages, time, lost peers, and what its owner tells move it on."""
        if isinstance(event, Received):
            self.places.others.spoke(event.sender)
            if event.message == ANY_ANSWER:
                return []
        outputs = self._to_others(self._handle(event, now), now)
        before, self._lacked = self._lacked, self.lacks(now)
        return outputs if before == self._lacked else [*outputs, Changed()]

    def found(self, found: Found, now: float) -> Sequence[ExpertOutput] | None:
        """What follows from a row that was read; None: nobody asked for this key here."""
        if self.credit.found(found, now):
            return []
        sought, kept = self._reader.found(found, now), self._keeping.found(found, now)
        placed = self.places.found(found, now)
        if sought is None and kept is None and placed is None:
            return None
        return self._to_others([*(sought or ()), *(kept or ()), *self._with_host(placed or (), now)], now)

    def _to_others(self, outputs: Sequence[ExpertOutput], now: float) -> Sequence[ExpertOutput]:
        """What is to leave this peer: its trainer asks its own experts without the network."""
        left, waiting = [], deque(outputs)
        while waiting:
            output = waiting.popleft()
            if isinstance(output, Send) and output.to == self._me:
                waiting += self._handle(Received(self._me, output.message), now)
                continue
            if isinstance(output, PlaceTaken):
                self.places.worker(output, now)
            left.append(output)
        return left

    def _handle(self, event: ExpertEvent, now: float) -> Sequence[ExpertOutput]:
        match event:
            case Received(message=ExpertReply() | ExpertRefused()):
                return self._calls.handle(event, now)
            case SearchExperts() | ExpertAsk() | ForgetAsks() | UselessAnswer():
                return self._wished(event, now)
            case HostExperts() | SurveyExperts() | CopyHere():
                return self._told(event, now)
            case Received(message=message) if isinstance(message, EXPERT_FILE_MESSAGES):
                return self._keeping.handle(event, now)
            case hosting.ExpertLost(layer=layer, place=place, damaged=damaged):
                self._keeping.give_up((layer, place), now, damaged=damaged)
                return self._with_host([self.places.leave((layer, place), now)], now)
            case hosting.ExpertKept():
                return []  # `CopyHere` follows, with the file
            case Lost(peer=peer):
                self.places.others.lost(peer, now)
                outputs = [*self._calls.handle(event, now), *self._keeping.handle(event, now)]
                return [*outputs, *self._hosted(event, now)]
            case Tick():
                self.places.wait_s = self.host.wait_s
                placed = self._with_host(self.places.tick(now), now)
                asked = [*self._calls.handle(event, now), *self._reader.tick(now), *self._keeping.handle(event, now)]
                return [*placed, *asked, *self.credit.tick(now), *self._hosted(event, now)]
        return self._hosted(event, now)

    def _told(self, wish: OwnerWish, now: float) -> Sequence[ExpertOutput]:
        match wish:
            case HostExperts(count=count, kept=kept):
                self._keeping.follow(now, on=count > 0)
                return self._with_host(self.places.want(count, now, kept=kept), now)
            case SurveyExperts(gather_s=gather_s):
                if gather_s:
                    self._keeping.follow(now, on=self.places.wanted > 0, all_until=now + gather_s)
                return [*self.places.read(self.places.rows, now), *self._keeping.news.read(self.places.rows, now)]
        return self._keeping.here(wish, now)

    def _wished(self, wish: TrainerWish, now: float) -> Sequence[ExpertOutput]:
        match wish:
            case SearchExperts():
                return self._reader.seek(wish.ticket, wish.layer, wish.scores, wish.count, now)
            case ExpertAsk():
                return self._calls.ask([wish], now)
            case ForgetAsks(tickets=tickets):
                if tickets is None:
                    self._reader.forget()
                return self._calls.forget(tickets, now)
            case UselessAnswer(ticket=ticket):
                self._calls.blame(ticket, now)
        return []

    def _hosted(self, event: hosting.HostEvent, now: float) -> Sequence[ExpertOutput]:
        if isinstance(event, hosting.ExpertHosted | hosting.HostStopped):
            self.places.worker(event, now)
        return self.host.handle(event, now)

    def _with_host(self, outputs: Sequence[PlaceOutput], now: float) -> Sequence[ExpertOutput]:
        """The host refuses calls for experts that are left; the state of one that is taken is looked for first."""
        followed: list[ExpertOutput] = []
        for one in outputs:
            match one:
                case PlaceLeft(layer=layer, place=place):
                    self._keeping.give_up((layer, place), now)
                    followed += [one, *self.host.handle(hosting.ExpertLeft(layer, place), now)]
                case PlaceTaken(layer=layer, place=place):
                    followed += self._keeping.recover((layer, place), now)
                case _:
                    followed.append(one)
        return followed
