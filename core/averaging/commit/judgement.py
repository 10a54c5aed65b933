"""What a coordinator makes of words that differ: which shares are made anew, and which members are excluded."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from core.averaging.commit.proof import Proof
from core.averaging.commit.reports import Reports
from core.averaging.messages import Members
from core.base.machine import Trace

APART_MOST: Final = 3
"""Number of reducers that can have lied about one member in a round: from how many it may differ and stay in it."""


class Ruling(NamedTuple):
    """What a coordinator does when all have voted."""

    anew: tuple[int, ...] = ()
    """Shares that other members are to make."""
    excluded: Members = frozenset()
    """Members that leave the round."""
    repairs: Members = frozenset()
    """Members that get the coordinator's means, where theirs differ."""
    own: Members = frozenset()
    """Those of the shares that are made anew which the coordinator makes itself."""
    commits: bool = False
    """Whether all hold the same means, and these are proven where they have to be."""


class Judgement:
    """The judgement of one coordinator, which remembers those it has judged.

    Args:
        reports: What members have told.
        vote_ignored: Members for whose vote alone no share is made anew, because of rounds before.
        proof: Reads the sums by which means are proven; None: they are not.
        trace: Counts misuse.
    """

    def __init__(self, reports: Reports, *, vote_ignored: Members, proof: Proof | None, trace: Trace) -> None:
        self._reports = reports
        self._ignored = vote_ignored
        self._proof = proof
        self._trace = trace
        self._disputed: Members = frozenset()
        """Shares of which a reducer and a member have told other sums."""
        self._given: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)
        """The shares, with their versions, that the coordinator has given each member itself."""
        self._apart: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)
        """Members, with the shares, and their reducers, that have told other sums than they."""
        self._lacking: set[int] = set()
        """Shares that one reducer has made without members whose parts are in most others."""
        self.pinned = False
        """Whether the means may be committed already: then none is made anew."""
        self.differed = frozenset[int]()
        """Members that voted, with few others, for other means, or told false sums."""
        self.doubted = frozenset[int]()
        """Members whose means were not what most others hold, or not what sums prove."""

    def on(self, votes: Mapping[int, tuple[bytes, ...]]) -> Ruling:
        """What follows when all have voted.

        Args:
            votes: Each member's fingerprints; the coordinator's come first, so that it is right in a tie.
        """
        if len(set(votes.values())) > 1:
            return self._unequal(votes)
        return Ruling(commits=True) if self._proof is None else self._unproven(self._proof, next(iter(votes.values())))

    def _unequal(self, votes: Mapping[int, tuple[bytes, ...]]) -> Ruling:
        """Members hold other means than most; in a tie the coordinator is right.

        Its reducer may have lied to a member, or another holder, or the member does.  Nobody can tell, so nobody is
        named: the member gets the coordinator's own means, and lies where it votes otherwise on those too.  Where most
        hold other means than the coordinator, it knows who gave them.
        """
        self._trace.mark("averaging.means_differ")
        reports = self._reports
        own, anew, apart = votes[reports.me], set[int](), defaultdict[int, set[tuple[int, int]]](set)
        for share, version in enumerate(reports.versions):
            common, _ = Counter(vote[share] for vote in votes.values()).most_common(1)[0]
            if own[share] != common:
                anew.add(share)
            else:
                for member in (member for member, vote in votes.items() if vote[share] != common):
                    apart[member].add((share, version))
        self.doubted |= {reports.reducers[share] for share in anew - reports.second_hand}
        insisting = frozenset(member for member, shares in apart.items() if shares & self._given[member])
        self.differed |= insisting - self._ignored
        # Less than half of the reducers lie to a member, so one that differs on more is not given everything again.
        most = 0 if self.pinned else max(1.0, len(reports.made_by(reports.live)) / 2)
        beyond = {member for member, shares in apart.items() if len(shares) > most}
        excluded = insisting | beyond | (self._ignored & apart.keys())
        repairs = frozenset[int]() if anew and not self.pinned else frozenset(apart.keys() - excluded)
        for member in repairs:
            self._given[member] |= apart[member]
        return Ruling(tuple(sorted(anew)), excluded, repairs)

    def _unproven(self, proof: Proof, fingerprints: tuple[bytes, ...]) -> Ruling:
        """Sums do not prove the means, unless they do.

        A share is made anew that leaves members out, the second time by the coordinator, and these are excluded where
        it does not get their parts either; and one whose sums do not come to nothing.  Its reducer has lied if what it
        says of everybody's sums does not add up either, or if it says that most members tell false sums.
        """
        reports = self._reports
        words = {member: reports.of[member] for member in reports.votes}
        vote = proof.name(reports.key, fingerprints)
        told = proof.sound(vote, {member: (word.sums, word.signature) for member, word in words.items()})
        # No honest part has such sums, or they are not signed by their member.
        if false := frozenset(words.keys() - told.keys()) - {reports.me}:
            self._trace.mark("averaging.drop.sums")
            self.differed |= false
            return Ruling(() if self.pinned else reports.made_by(false), false)
        doubts = proof.doubts(told)
        if not doubts:
            for member in self._apart.keys() & told.keys():
                # Sums that come to nothing, nobody's silence allowed for, are true: so the reducer has lied.
                self.doubted |= {maker for share, maker in self._apart[member] if proof.is_exact(share, told)}
            return Ruling(commits=True)
        self._trace.mark("averaging.not_proven")
        mine = {share for share in self._lacking if reports.reducers[share] == reports.me}
        again = {share: members for share, members in doubts.left_out.items() if share in mine}
        # Without the members that are excluded these shares lack nothing any more.
        settled = {share for share, members in again.items() if reports.me not in members}
        anew = {*doubts.unheard, *(doubts.left_out.keys() - settled)}
        own = frozenset(doubts.left_out.keys() & self._lacking - settled)
        self._lacking |= doubts.left_out.keys()
        liars = {reports.reducers[share] for share in doubts.left_out} - {reports.me}
        apart: dict[int, list[int]] = {}
        for share in doubts.false:
            maker = reports.reducers[share]
            differing = proof.differing(share, told, words.get(maker)) - {maker, reports.me}
            if not differing or 2 * len(differing) > len(told) - 1:
                liars.add(maker)
                anew.add(share)
                continue
            for member in differing:
                apart.setdefault(member, []).append(share)
        self.doubted |= liars
        ruling = self._between(apart, anew)
        excluded = ruling.excluded.union(*again.values()) - {reports.me}
        return ruling._replace(excluded=excluded, own=ruling.own | own)

    def _between(self, shares: Mapping[int, Iterable[int]], anew: Iterable[int]) -> Ruling:
        """Members tell other sums than the reducers of some shares: either these have lied, or those members do.

        Nobody can tell, so no such member is named: the share is made anew, the second time by the coordinator itself.
        It knows that a member lies which differs from its own word, or from more than `APART_MOST` reducers.

        Args:
            shares: Those of each such member.
            anew: Further shares that are made anew.
        """
        reports = self._reports
        most = min(APART_MOST, (len(reports.shares.counts) - 1) // 2)
        for member in shares:
            self._apart[member] |= {(share, reports.reducers[share]) for share in shares[member]}
        makers = {member: {maker for _, maker in self._apart[member]} for member in shares}
        insisting = frozenset(m for m in shares if reports.me in makers[m] or len(makers[m]) > most)
        excluded = frozenset(shares) if self.pinned else insisting | (self._ignored & shares.keys())
        self.differed |= insisting - self._ignored
        again = frozenset(share for member in shares.keys() - excluded for share in shares[member])
        own, self._disputed = again & self._disputed, self._disputed | again
        return Ruling(tuple(sorted({*anew, *again})), excluded, own=own)
