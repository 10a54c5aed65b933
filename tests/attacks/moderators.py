"""Simulated towns in which moderators decide while messages are lost, the town falls apart, clocks differ and keys are
stolen: does anything hold that too few have signed, and do all come to hold the same?

python -m tests.attacks.moderators                     ten seeds
python -m tests.attacks.moderators --seeds 1000 --jobs 2
python -m tests.attacks.moderators --first 600 --seeds 400   where a run of 1,000 was stopped after seed 599

24 peers, each of which has met eight.  Five moderators, of whom three have to agree, propose, sign, hold, go back and
change their own list.  A thief has the keys of two of them, and those of everybody who was removed: it signs whatever
it likes, and gives it to everybody, with signatures copied from others' documents.  Who has really signed what is
written down where signatures are made, and what holds at a peer is compared with that, not with the program's view.
"""

import argparse
import heapq
import itertools
import sys
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import msgspec

from core.authority import decisions as made
from core.authority import roles as chain
from core.authority.changes import banned, new_decisions, new_holds, new_roles, pardoned
from core.authority.decisions import Decisions, GoBack
from core.authority.documents import Document, DocumentKind, Signature
from core.authority.holds import HeldPerson
from core.authority.news import AuthorityDecided, AuthorityNews, RecordsGiven, RecordsNumber
from core.authority.records import AuthorityRecords, read_bundle
from core.authority.roles import Moderator, Roles, read_roles
from core.base.content import digest
from core.base.ids import Observed, PeerId
from core.base.machine import Received, Send, Tick, Trace
from core.base.problems import Problem
from tests.sim.world.signing import SimSigner, SimVerifier

PEERS: Final = 24
MET: Final = 8
MODERATORS: Final = 5
STOLEN: Final = 2
THRESHOLD: Final = 3
LOST: Final = 0.1
DELAY_S: Final = (0.02, 2.0)
CLOCKS_S: Final = 120.0
APART_S: Final = (200.0, 380.0)
"""From when to when half of the peers hear nothing of the others."""
ACTS_S: Final = 600.0
HEALED_S: Final = 60.0
START: Final = 1_800_000_000.0
RUN: Final = bytes(32)


@dataclass
class Pen:
    """Makes signatures, and writes down who has signed which body."""

    signer: SimSigner
    signed: dict[bytes, set[PeerId]]

    @property
    def peer_id(self) -> PeerId:
        return self.signer.peer_id

    def sign(self, data: bytes) -> bytes:
        self.signed[data].add(self.peer_id)
        return self.signer.sign(data)


@dataclass(frozen=True)
class TownResult:
    """What became of one town."""

    seed: int
    too_few: int
    """Times at which something held at a peer that too few had signed."""
    apart: int
    """Peers that know something else than most, a minute after the town has healed and the last has signed."""
    roles: int
    decided: int
    dropped: int

    @property
    def is_right(self) -> bool:
        return not self.too_few and not self.apart


@dataclass
class Town:
    """One seed."""

    seed: int
    signed: dict[bytes, set[PeerId]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.pens = [Pen(SimSigner.numbered(self.seed, number), self.signed) for number in range(PEERS + 1)]
        self.founder = self.pens[PEERS]
        self.traces = [Trace() for _ in range(PEERS)]
        self.news: dict[PeerId, AuthorityNews] = {}
        self.clocks: dict[PeerId, float] = {}
        self.queue: list[tuple[float, int, PeerId, Any]] = []
        self.order = itertools.count()
        self.too_few = 0
        self.seen: set[bytes] = set()
        """Decisions that held anywhere."""
        self.ever: set[PeerId] = set()
        """All who were moderators at any time: the thief has the keys of those who are not any more."""
        for pen, trace in zip(self.pens[:PEERS], self.traces, strict=True):
            records = AuthorityRecords(self.founder.peer_id, RUN, SimVerifier())
            self.news[pen.peer_id] = AuthorityNews(records, random=Random(self.random.random()), trace=trace)
            self.clocks[pen.peer_id] = self.random.uniform(-CLOCKS_S, CLOCKS_S)
        self.half = set(self.random.sample(sorted(self.news), PEERS // 2))

    def run(self) -> TownResult:
        """Let moderators and the thief act, and then the town come to rest."""
        first = self.news[self.pens[0].peer_id]
        for peer, news in self.news.items():
            for other in self.random.sample(sorted(self.news.keys() - {peer}), MET):
                news.handle(Observed(other, "127.0.0.1", 9), self.local(peer, 0.0))
            self.at(self.random.uniform(0.0, 10.0), peer, Tick())
        people = [Moderator(pen.peer_id, f"m{number}") for number, pen in enumerate(self.pens[:MODERATORS])]
        roles = new_roles(first.records, self.founder, START, moderators=people, threshold=THRESHOLD)
        for pen in self.pens[:THRESHOLD]:
            roles = first.records.seal.countersign(roles, pen)
        self.perform(self.pens[0].peer_id, first.learn(first.records.seal.written(roles), START), 0.0)
        for moment in range(20, int(ACTS_S), 3):
            self.at(float(moment), PeerId(b"act"), None)
        self.pass_time(ACTS_S + HEALED_S)
        known = Counter((news.records.in_force, news.records.decisions.back) for news in self.news.values())
        ((in_force, _), most) = known.most_common(1)[0]
        newest = next(news.records for news in self.news.values() if news.records.in_force == in_force)
        dropped = sum(trace["authority.drop"] for trace in self.traces)
        return TownResult(self.seed, self.too_few, PEERS - most, newest.roles.number, len(self.seen), dropped)

    # --- the world ---------------------------------------------------------------------------------------------------

    def local(self, peer: PeerId, now: float) -> float:
        return START + now + self.clocks[peer]

    def at(self, moment: float, peer: PeerId, event: Any) -> None:
        heapq.heappush(self.queue, (moment, next(self.order), peer, event))

    def pass_time(self, until: float) -> None:
        while self.queue and self.queue[0][0] <= until:
            now, _, peer, event = heapq.heappop(self.queue)
            if event is None:
                self.act(now)
                continue
            news = self.news[peer]
            self.perform(peer, news.handle(event, self.local(peer, now)), now)
            if isinstance(event, Tick):
                self.at(now + 1.0, peer, event)

    def perform(self, peer: PeerId, outputs: Any, now: float) -> None:
        for output in outputs:
            if isinstance(output, AuthorityDecided):
                self.check(self.news[peer].records)
            elif isinstance(output, Send) and not self.is_lost(peer, output.to, now):
                self.at(now + self.random.uniform(*DELAY_S), output.to, Received(peer, output.message))

    def is_lost(self, one: PeerId, other: PeerId, now: float) -> bool:
        parted = APART_S[0] <= now < APART_S[1] and (one in self.half) is not (other in self.half)
        return parted or self.random.random() < LOST

    # --- what must hold ----------------------------------------------------------------------------------------------

    def check(self, records: AuthorityRecords) -> None:
        """Read all that holds at a peer again, from its bytes, by who has really signed it."""
        documents = read_bundle(records.to_bytes(proposals=False))
        self.seen.add(records.in_force[1])
        before = frozenset({self.founder.peer_id}), 1
        named = {digest(b"potluck roles 1\n" + one.body): one for one in documents if one.kind is DocumentKind.ROLES}
        decisions_named, in_force = b"", b""
        for name, document in named.items():
            roles = read_roles(document.body)
            signers = self.signed[b"potluck roles 1\n" + RUN + document.body]
            keys = frozenset(PeerId(one.key) for one in roles.moderators)
            enough = len(signers & before[0]) >= before[1] and len(signers & keys) >= roles.threshold
            self.too_few += not enough
            before, decisions_named, in_force = (keys, roles.threshold), roles.decisions, name
        for document in documents:
            if document.kind is DocumentKind.DECISIONS:
                purpose = b"potluck records of authority 1\n"
                decided = made.SCHEMA.decode(document.body)
                signers = self.signed[purpose + RUN + document.body]
                by_these = decided.roles == in_force and len(signers & before[0]) >= before[1]
                found = digest(purpose + document.body) == decisions_named
                # Decisions stay in force until those are there that the newer roles have found.
                self.too_few += not (by_these or found or decided.roles != in_force)

    # --- what people do ----------------------------------------------------------------------------------------------

    def act(self, now: float) -> None:
        peer = self.random.choice(self.pens[:PEERS]).peer_id
        records = self.news[peer].records
        if self.random.random() < 0.4:
            self.steal(now)
            return
        honest = [pen for pen in self.pens[:PEERS] if pen.peer_id in records.roles.keys - self.thieves()]
        if not honest:
            return
        pen = self.random.choice(honest)
        news = self.news[pen.peer_id]
        moment = self.local(pen.peer_id, now)
        try:
            document = self.wish(news.records, pen, moment)
            self.perform(pen.peer_id, news.learn(news.records.seal.written(document), moment), now)
        except Problem:
            return

    def wish(self, records: AuthorityRecords, pen: Pen, moment: float) -> Document:
        waiting = [one for one in records.proposals if pen.peer_id not in records.seal.signers(one.document)]
        honest = [one for one in waiting if one.author not in self.thieves()]
        if honest and self.random.random() < 0.9:
            return records.seal.countersign(self.random.choice(honest).document, pen)
        whom = self.random.choice(self.pens[:PEERS]).peer_id
        match self.random.randrange(9) % 5:
            case 0:
                return new_decisions(records, pen, moment, **banned(records.decisions, [whom], moment))
            case 1:
                return new_decisions(records, pen, moment, **pardoned(records.decisions, [whom]))
            case 2:
                back = GoBack(epoch=1, source=bytes(32), root=self.random.randbytes(32), digest=bytes(32))
                return new_decisions(records, pen, moment, back=back)
            case 3:
                return new_holds(records, pen, moment, hold=[HeldPerson(whom, int(moment) + 60, "")], release=[whom])
        people = [*records.roles.moderators]
        if len(people) > 4 and self.random.random() < 0.5:
            people.remove(self.random.choice(people))
        elif whom not in self.ever:
            people.append(Moderator(whom, whom.hex()[:6]))
        return new_roles(records, pen, moment, moderators=people, threshold=THRESHOLD)

    def thieves(self) -> set[PeerId]:
        """Whose keys are stolen: those of two of the first moderators, and of all who were removed."""
        newest = max((news.records.roles for news in self.news.values()), key=lambda roles: roles.number)
        self.ever |= newest.keys
        return {pen.peer_id for pen in self.pens[:STOLEN]} | (self.ever - newest.keys)

    def steal(self, now: float) -> None:
        """Sign something with all stolen keys, copy signatures onto it, and give it to a few."""
        peer = self.random.choice(sorted(self.news))
        records, moment = self.news[peer].records, self.local(peer, now)
        stolen = [pen for pen in self.pens[:PEERS] if pen.peer_id in self.thieves()]
        believed = [pen for pen in stolen if pen.peer_id in records.roles.keys]
        pen = self.random.choice(believed or stolen)
        document = self.lie(records, pen, stolen, moment + self.random.choice((0, 3600, -3600)))
        for other in stolen:
            document = records.seal.countersign(document, other)
        if self.random.random() < 0.5:
            others = [one for known in records.marked().values() for one in _signatures(known)]
            false = [Signature(each.key, one.signature) for one in others for each in others][:20]
            own = _signatures(document)
            document = msgspec.structs.replace(document, signatures=(*own, *false)[:30])
        if self.random.random() < 0.1:
            document = msgspec.structs.replace(document, kind=self.random.choice([*DocumentKind]))
        given = RecordsGiven(records.seal.written(document))
        for to in self.random.sample(sorted(self.news), 4):
            self.at(now + 0.1, to, Received(pen.peer_id, given))
            self.at(now + 0.1, to, Received(pen.peer_id, RecordsNumber(2**53 - 1, self.random.randbytes(8))))

    def lie(self, records: AuthorityRecords, pen: Pen, stolen: list[Pen], moment: float) -> Document:
        """What a moderator could have said, a list of the thief's own, or decisions of an earlier list."""
        roles, previous = records.in_force
        lists = [name for name, one in records.marked().items() if one.kind is DocumentKind.ROLES]
        match self.random.randrange(3):
            case 0:
                own = tuple(Moderator(each.peer_id, "thief") for each in stolen)
                number = records.roles.number + 1
                false = Roles(
                    number=number,
                    previous=roles,
                    moderators=own,
                    threshold=1,
                    decisions=previous,
                    author=pen.peer_id,
                    at=int(moment),
                )
                return records.seal.sign(DocumentKind.ROLES, chain.SCHEMA.encode(false), pen)
            case 1 if lists:
                earlier = records.marked()[self.random.choice(lists)].name
                decisions = Decisions(number=int(moment), roles=earlier, previous=previous, author=pen.peer_id)
                return records.seal.sign(DocumentKind.DECISIONS, made.SCHEMA.encode(decisions), pen)
        try:
            return self.wish(records, pen, moment)
        except Problem:
            decisions = Decisions(number=int(moment), roles=roles, previous=previous, author=pen.peer_id)
            return records.seal.sign(DocumentKind.DECISIONS, made.SCHEMA.encode(decisions), pen)


def _signatures(document: Document) -> tuple[Signature, ...]:
    return () if isinstance(document.signatures, bytes) else document.signatures


def town(seed: int) -> TownResult:
    """Run one seed."""
    return Town(seed).run()


def main() -> int:
    """Run the seeds, print a line for each as it ends, in their order, and then the sums.

    Returns:
        The exit code: 1 where one went wrong.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.moderators", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    results: list[TownResult] = []
    with ProcessPoolExecutor(args.jobs) as pool:
        for one in pool.map(town, range(args.first, args.first + args.seeds), chunksize=1):
            results.append(one)
            sys.stdout.write(f"{'ok   ' if one.is_right else 'WRONG'} {one}\n")
            sys.stdout.flush()
    bad = [result.seed for result in results if not result.is_right]
    decided, roles = sum(one.decided for one in results), sum(one.roles for one in results)
    dropped = sum(one.dropped for one in results)
    said = f"{len(bad)} went wrong {bad}; {decided} decisions, {roles} lists, {dropped} documents dropped"
    sys.stdout.write(f"{len(results)} towns: {said}.\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
