"""All-reduce of one vector between the members of a plan: parts go to reducers, means come back.

The vector is cut into chunks; each member reduces a contiguous share of them: it collects the parts of all members,
makes the weighted mean and gives it to all (Diskin et al. 2021, section 3.2; Li et al. 2020, "butterfly all-reduce").

    Lanes       this member's parts, each to the reducer of its share      (reduce-scatter, out)
    Reducer     parts of all members for a share that this one reduces     (reduce-scatter, in)
    AllGather   the means of all shares come back                          (all-gather)

A part is at the same time the request for its chunk's mean, so answers drive the flow: at most a window of parts is
ahead of the first mean that is missing, and a member that pauses stops its own traffic.

Which member reduces which share is first what the plan says, then what a coordinator orders (`core.averaging.commit`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from core.averaging.allreduce.all_gather import AllGather
from core.averaging.allreduce.lane import AHEAD_MIN, Lane, Lanes, windows_of
from core.averaging.allreduce.reducer import Reducer, Replies
from core.averaging.allreduce.vectors import RoundContext
from core.averaging.failure_detector import Timetable
from core.averaging.messages import Mean, Members, Open, Part
from core.base.machine import Send, Transfer

Sends = list[Send[Open | Part | Mean]]


class AllReduce:
    """One member's side.

    Nobody sends to a reducer before its Open, so nothing is lost on a member that has not received the plan or the
    order yet.  A first Open is answered with the member's own, since that of a member that began earlier went unheard.

    Args:
        context: What the round works on.
        name: Name of the plan, for this member's Open.
        timetable: When senders and reducers are late.
        transfers: How bulk for each other member leaves.
    """

    def __init__(
        self, context: RoundContext, *, name: bytes, timetable: Timetable, transfers: Mapping[int, Transfer]
    ) -> None:
        self._context = context
        self._name = name
        self._timetable = timetable
        shares = context.shares
        windows = windows_of(shares.plan, context.vectors.codec)
        self.lanes = Lanes(
            Lane(share, count, window=windows[share], now=timetable.began_at)
            for share, count in enumerate(shares.counts)
        )
        self.gather = AllGather(context, self.lanes, timetable)
        self.reducers: dict[int, Reducer] = {}
        """Reducers of this member's own shares, by share."""
        self.live = shares.everybody
        """Members that are in, as far as this one has been told."""
        self._greeted: Members = frozenset()
        self._transfers = transfers
        self._unanswered_max = max(AHEAD_MIN * (len(windows) - 1), sum(windows) // 2)
        self._look_at = timetable.began_at

    @property
    def lacking(self) -> int:
        """Number of means that have not come yet; of a helper, that are not made yet."""
        receives = self._context.me in self._context.shares.receivers
        return sum(lane.left for lane in self.lanes if receives or lane.share in self.reducers)

    @property
    def deadline(self) -> float | None:
        """When to look for whom this member waits, unix seconds; None: for nobody."""
        return self._look_at if self.lacking else None

    def start(self) -> Sends:
        """Begin the share that the plan gives this member, and tell everybody."""
        replies = self._begin(self._context.me) if self._context.shares.counts[self._context.me] else []
        return self._sends([*self._greeting(self.live), *replies])

    def on_open(self, member: int, message: Open) -> Sends:
        """A member is there, and reduces what it says."""
        greeting = self._greeting({member} - self._greeted)
        self._greeted |= {member}
        for share, version in message.shares:
            if share < len(self.lanes):
                opened = self.lanes[share].opened
                opened[member] = max(version, opened.get(member, -1))
        if self.live <= self._greeted | {self._context.me}:  # all reducers are ready
            for lane in self.lanes:
                lane.open_window = lane.window
        return self._sends([*greeting, *self._parts()])

    def on_part(self, member: int, message: Part, now: float) -> Sends:
        """A part of a share that this member reduces, or a request for a mean that it holds."""
        lane = self.lanes[message.share] if message.share < len(self.lanes) else None
        if lane is None or message.chunk >= lane.count or message.version != lane.version or member not in self.live:
            self._context.trace.mark("averaging.drop.part")
            return []
        reducer = self.reducers.get(message.share)
        if reducer is None or (reducer.complete and member in self.gather.repairing):
            return self._sends(self.gather.repeat(member, message))
        return self._sends(reducer.take(member, message.chunk, message.payload, now))

    def on_mean(self, member: int, message: Mean, now: float) -> Sends:
        """A mean; the part that it makes room for may leave."""
        if not self.gather.take(member, message, now):
            return []
        return self._sends(self._parts())

    def assign(self, versions: Sequence[int], reducers: Sequence[int], live: Members, now: float) -> Sends:
        """Take over the coordinator's picture: newer versions, their reducers, and the members that are in."""
        replies = [reply for reducer in self.reducers.values() for reply in reducer.drop(self.live - live)]
        self.live &= live
        begun = False
        for share, (version, reducer) in enumerate(zip(versions, reducers, strict=True)):
            lane = self.lanes[share]
            if not lane.count or version <= lane.version:
                continue
            self.gather.replace(lane)
            lane.restart(version, reducer, now)
            self._context.vectors.drop(share)
            self.reducers.pop(share, None)
            if reducer == self._context.me:
                replies += self._begin(share)
                begun = True
        self.gather.without(self._context.shares.everybody - self.live)
        return self._sends([*self._greeting(self.live if begun else ()), *replies, *self._parts()])

    def lose(self, member: int) -> Sends:
        """Nothing more will come from a member: its remaining parts and means are missing."""
        self.gather.without(frozenset({member}))
        replies = [reply for reducer in self.reducers.values() for reply in reducer.drop(frozenset({member}))]
        return self._sends([*replies, *self._parts()])

    def tick(self, now: float) -> Sends:
        """Look for whom this member waits, from time to time."""
        if now < self._look_at:
            return []
        replies = [reply for reducer in self.reducers.values() for reply in reducer.look(now)]
        waits_itself = any(not reducer.complete for reducer in self.reducers.values())
        self.gather.look(now, self.live, waits_itself=waits_itself)
        detectors = [self.gather.detector, *(reducer.detector for reducer in self.reducers.values())]
        due = [detector.deadline for detector in detectors]
        self._look_at = min([self._timetable.look_at(now), *(at for at in due if at is not None and at > now)])
        return self._sends([*replies, *self._parts()])

    # --- inside ---

    def _begin(self, share: int) -> Replies:
        """Reduce a share for the members that are in."""
        reducer = Reducer(self._context, self.lanes[share], live=self.live, timetable=self._timetable)
        self.reducers[share] = reducer
        return reducer.advance()

    def _greeting(self, members: Iterable[int]) -> list[tuple[int, Open]]:
        plan, me = self._context.shares.plan, self._context.me
        message = Open(plan.round, self._name, tuple((share, self.lanes[share].version) for share in self.reducers))
        return [(member, message) for member in sorted(members) if member != me]

    def _parts(self) -> Iterator[tuple[int, Part]]:
        """Parts that windows allow and requests, addressed to their reducers and holders; they count as sent."""
        shares, me = self._context.shares, self._context.me
        unanswered = sum(lane.unanswered for lane in self.lanes)
        while me in shares.receivers and unanswered < self._unanswered_max and (lane := self.lanes.next_due(me)):
            chunk = lane.send()
            unanswered += 1
            number = shares.numbers(lane.share)[chunk]
            payload = self._context.vectors.part(number) if shares.gives(me, number) else memoryview(b"")
            yield lane.reducer, Part(shares.plan.round, lane.share, lane.version, chunk, payload)
        yield from self.gather.requests()

    def _sends(self, messages: Iterable[tuple[int, Open | Part | Mean]]) -> Sends:
        """Messages to members that are in, as part of what this one sends to each in the round."""
        peers = self._context.shares.peers
        return [Send(peers[m], message, self._transfers[m]) for m, message in messages if m in self.live]
