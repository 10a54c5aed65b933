"""All-reduce of one vector between the members of a plan: parts go to reducers, means come back.

The vector is cut into chunks; each member reduces a contiguous share of them: it collects the parts of all members,
makes the weighted mean and gives it to all (Diskin et al. 2021, section 3.2; Li et al. 2020, "butterfly all-reduce").

    Sender      this member's parts, each to the reducer of its share      (reduce-scatter, out)
    Reducers    parts of all members for the share that this one reduces   (reduce-scatter, in)
    AllGather   the means of all shares come back                          (all-gather)

Which member reduces which share is first what the plan says, then what a coordinator orders (`core.averaging.commit`).
"""

from collections.abc import Iterable, Sequence
from typing import Final

from core.averaging.allreduce.all_gather import AllGather
from core.averaging.allreduce.lane import Lane, Lanes
from core.averaging.allreduce.reducers import Reducers, Replies
from core.averaging.allreduce.sender import Sender
from core.averaging.allreduce.vectors import RoundContext
from core.averaging.allreduce.windows import transfers_of, windows_of
from core.averaging.failure_detector import Timetable
from core.averaging.messages import Mean, Members, Open, Part, to_bits
from core.base.machine import Send, earliest

LOOKS: Final = 8
"""Number of times in a stall timeout at which a member looks for whom it waits."""

Sends = list[Send[Open | Part | Mean]]


class AllReduce:
    """One member's side.

    Nobody sends to a reducer before its Open, so nothing is lost on a member that has not received the plan or the
    order yet.  A first Open is answered with the member's own, since that of a member that began earlier went unheard.

    Args:
        context: What the round works on.
        name: Of the plan, for this member's Open.
        timetable: When senders and reducers are late.
    """

    def __init__(self, context: RoundContext, *, name: bytes, timetable: Timetable) -> None:
        self._context = context
        self._name = name
        shares = context.shares
        windows = windows_of(shares.plan, context.vectors.codec)
        began_at = timetable.began_at
        self.lanes = Lanes(
            Lane(count, reducer=share, window=windows.shares[share], now=began_at)
            for share, count in enumerate(shares.counts)
        )
        self.sender = Sender(context, self.lanes, windows)
        self.gather = AllGather(context, self.lanes, timetable)
        self.reducers = Reducers(context, windows, timetable)
        self.live = shares.everybody
        """Members that are in, as far as this one has been told."""
        self.payload_bytes = 0
        """Sent and received."""
        self._greeted: Members = frozenset()
        self._transfers = transfers_of(shares.plan, context.vectors.codec, context.me)
        self._look_s = timetable.stall_s / LOOKS
        self._look_at = began_at

    @property
    def lacking(self) -> int:
        """Number of means that have not come yet; of a helper, that are not made yet."""
        if self._context.me in self._context.shares.receivers:
            return self.lanes.left
        return sum(self.lanes[share].left for share in self.reducers.shares)

    @property
    def deadline(self) -> float | None:
        """When a part leaves, or to look for whom this member waits; unix seconds."""
        waits = self.lacking or self.reducers.waiting
        return earliest(self.sender.again_at, self._look_at if waits else None)

    def start(self, now: float) -> Sends:
        """Begin the share that the plan gives this member, and tell everybody."""
        me = self._context.me
        replies = self.reducers.begin(me, self.live) if self._context.shares.counts[me] else []
        return self._greet(self.live) + self._spread(replies, now)

    def on_open(self, member: int, message: Open, now: float) -> Sends:
        """A member is there, and reduces what it says."""
        outputs: Sends = []
        if member not in self._greeted:
            self._greeted |= {member}
            outputs += self._greet([member])
        for share, version in message.shares:
            if share < len(self.lanes):
                self.sender.open(share, member, version)
        if self.live <= self._greeted | {self._context.me}:
            self.sender.warm_up()
        return outputs + self._send(now)

    def on_part(self, member: int, message: Part, now: float) -> Sends:
        """A part of a share that this member reduces, or a request for a mean that it holds."""
        lane = self.lanes[message.share] if message.share < len(self.lanes) else None
        if lane is None or message.chunk >= lane.count or message.version != lane.version:
            self._context.trace.mark("averaging.drop.part")
            return []
        self.payload_bytes += message.payload.nbytes
        return self._spread(self.reducers.take(member, message, lane, now), now)

    def on_mean(self, member: int, message: Mean, now: float) -> Sends:
        """A mean; the part that it makes room for may leave."""
        if not self.gather.take(member, message, now):
            return []
        self.payload_bytes += message.payload.nbytes
        return self._send(now)

    def assign(self, versions: Sequence[int], reducers: Sequence[int], live: Members, now: float) -> Sends:
        """Take over the coordinator's picture: newer versions, their reducers, and the members that are in."""
        replies: Replies = []
        for member in sorted(self.live - live):
            replies += self.reducers.forget(member)
        self.live &= live
        begun = False
        for share, (version, reducer) in enumerate(zip(versions, reducers, strict=True)):
            lane = self.lanes[share]
            if not lane.count or version <= lane.version:
                continue
            lane.restart(version, reducer, now)
            self._context.vectors.drop(share)
            self.sender.consider(share)
            self.reducers.end(share)
            if reducer == self._context.me:
                replies += self.reducers.begin(share, self.live, anew=True)
                begun = True
        self.gather.without(self._context.shares.everybody - self.live)
        greeting = self._greet(self.live) if begun else []
        return greeting + self._spread(replies, now) + self._send(now)

    def lose(self, member: int, now: float) -> Sends:
        """Nothing more will come from a member: its remaining parts and means are missing."""
        self.gather.without(frozenset({member}))
        return self._spread(self.reducers.drop(member), now) + self._send(now)

    def tick(self, now: float) -> Sends:
        """Send what is due, and look for whom this member waits."""
        outputs: Sends = []
        if now >= self._look_at:
            self._look_at = now + self._look_s
            outputs += self._spread(self.reducers.look(now), now)
            self.gather.look(now, self.live, waits_itself=self.reducers.waiting)
        return outputs + self._send(now)

    # --- inside ---

    def _greet(self, members: Iterable[int]) -> Sends:
        plan, me = self._context.shares.plan, self._context.me
        mine = tuple((share, self.lanes[share].version) for share in self.reducers.shares)
        message = Open(plan.round, self._name, mine)
        return self._sends((m, message) for m in sorted(members) if m != me and m in self.live)

    def _send(self, now: float) -> Sends:
        parts = [*self.sender.send(now), *self.gather.requests()]
        self.payload_bytes += sum(part.payload.nbytes for _, part in parts)
        return self._sends(parts)

    def _sends(self, messages: Iterable[tuple[int, Open | Part | Mean]]) -> Sends:
        """Messages to members, as part of what this one sends to each in the round."""
        peers = self._context.shares.plan.peers
        return [Send(peers[member], message, self._transfers[member]) for member, message in messages]

    def _spread(self, replies: Replies, now: float) -> Sends:
        """Keep the means that were made here, and send them to the members that have asked."""
        outputs: Sends = []
        plan, me = self._context.shares.plan, self._context.me
        for share, reply in replies:
            lane = self.lanes[share]
            if not lane.has(reply.chunk):
                lane.arrive(reply.chunk, reply.contributors, now, by=me)
            bits = to_bits(reply.contributors)
            mean = Mean(plan.round, share, lane.version, reply.chunk, bits, reply.payload)
            self.payload_bytes += reply.payload.nbytes * len(reply.to)
            outputs += self._sends((member, mean) for member in sorted(reply.to))
        return outputs
