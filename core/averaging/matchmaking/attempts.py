"""Attempts to form a group: what the rounds of a collaboration have in common, and which peer leads an attempt."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

from core.averaging.bandwidth.book import LineBook
from core.averaging.grid.layout import FailureRate
from core.averaging.matchmaking import (
    CALL_PATIENCE,
    EXCLUDED_MAX_S,
    EXCLUDED_S,
    PLAIN_AFTER,
    SILENT_MAX,
    Call,
    Declined,
)
from core.averaging.matchmaking.plans import PlanRequest, check_division
from core.averaging.messages import ATTEMPT_MAX
from core.averaging.penalties import Penalties
from core.averaging.plan import Member, Plan
from core.averaging.weights import EarnedSpeeds, check_weights, claims_of
from core.base.back_off import BackOff
from core.base.ids import Key, PeerId, distance, hashed_key, node_key
from core.base.manifest import AveragingNumbers

State = tuple[int, bytes]
"""Epoch and lineage of the parameters that all members of a group hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundConfig:
    """What all rounds of a collaboration have in common, as one peer knows it."""

    me: PeerId
    run_id: bytes
    """Names the collaboration: the manifest's id."""
    numbers: AveragingNumbers
    lines: LineBook
    penalties: Penalties
    earned: EarnedSpeeds = field(default_factory=EarnedSpeeds)
    """What members may bring, by the rounds before."""
    failures: FailureRate
    """How often peers fail in rounds; many peers that fail often average on a grid."""
    numel: int | None
    """Numbers in the vector; None: this peer is a helper, which takes it from the call and never leads."""
    numel_max: int = 0
    """A helper follows no call for a longer vector."""
    target_samples: int = 0
    """The target batch: a leader cancels a round to which all members together bring fewer."""

    def key(self, state: State, attempt: int) -> Key:
        """The point of the key space that decides which peer leads an attempt."""
        return attempt_key(self.run_id, state[1], state[0], attempt)

    def request(self, leader: PeerId, call: Call) -> PlanRequest:
        """What the members of the round that `leader` calls for agree on."""
        return PlanRequest(
            round=round_id(self.key((call.epoch, call.lineage), call.attempt), leader, call.nonce),
            epoch=call.epoch,
            lineage=call.lineage,
            numel=call.numel if self.numel is None else self.numel,
            numbers=self.numbers,
            target_samples=self.target_samples if self.numbers.partial is True else 0,
        )

    def is_stranger(self, peer: PeerId, now: float) -> bool:
        """Whether a peer has given nothing yet: its word makes nobody call."""
        return self.penalties.patience.is_stranger(peer, now)

    def samples(self, request: PlanRequest, members: Iterable[Member], now: float) -> int:
        """How many samples members bring to a round together, as far as they are believed."""
        return int(self.earned.believed(request.state, claims_of(members), now))

    def ranked(self, peers: Iterable[PeerId], key: Key, now: float) -> list[PeerId]:
        """The order in which members coordinate a round that this peer calls: itself, and those that it excludes last.

        Args:
            peers: The members.
            key: Key of the attempt.
            now: Unix seconds.
        """
        return sorted(by_distance(peers, key), key=lambda p: (p != self.me, not self.penalties.may_lead(p, now)))

    def check(self, plan: Plan, request: PlanRequest, mine: Member, now: float) -> None:
        """Refuse a plan that contradicts what this member knows of lines, or of what others have earned.

        Args:
            plan: It has passed `check_plan`.
            request: What its members have agreed on.
            mine: This member's row, as it was offered.
            now: Unix seconds.

        Raises:
            RemoteProblem: says what is wrong.
        """
        overlaps = request.numbers.overlaps
        check_division(plan, self.me, self.lines, target_samples=request.target_samples, overlaps=overlaps)
        check_weights(plan, mine, self.earned, now)


def attempt_key(run_id: bytes, lineage: bytes, epoch: int, attempt: int) -> Key:
    """The point of the key space that decides which peer leads an attempt.

    Args:
        run_id: The manifest's id.
        lineage: Lineage of the state that a group is to be found for.
        epoch: Epoch of the same state.
        attempt: Number of the attempt, from 0.
    """
    return hashed_key(b"round", run_id, lineage, epoch.to_bytes(8, "big"), attempt.to_bytes(4, "big"))


def by_distance(peers: Iterable[PeerId], key: Key) -> list[PeerId]:
    """`peers` in the order in which they lead: the one nearest to `key` first."""
    return sorted(peers, key=lambda peer: (distance(node_key(peer), key), peer))


def round_id(key: Key, leader: PeerId, nonce: int) -> bytes:
    """Name of the round that `leader` makes of the attempt at `key`, 32 bytes.

    Args:
        key: See `attempt_key`.
        leader: The peer that calls.
        nonce: Nonce of its call; no two calls of a peer share one.
    """
    return hashed_key(b"round by", key, leader, nonce.to_bytes(8, "big"))


def peer_back_off(*, free: int = 0) -> BackOff[PeerId]:
    """A back-off of peers; the first `free` failures of one exclude it not yet."""
    return BackOff(first=EXCLUDED_S, longest=EXCLUDED_MAX_S, free=free, decay=EXCLUDED_MAX_S)


class MissingPeers(set[PeerId]):
    """Peers that were lost, did not answer, or stand elsewhere, and have not been heard since.

    They are not asked to call, and not waited for.  Of those that did not answer a call it is remembered while they are
    elsewhere, whatever they say of themselves in the DHT.
    """

    def __init__(self, peers: Iterable[PeerId] = ()) -> None:
        super().__init__(peers)
        self._silent: set[PeerId] = set()

    def spoke(self, peer: PeerId) -> None:
        """A peer that speaks is there again."""
        self.discard(peer)
        self._silent.discard(peer)

    def unanswered(self, peers: Collection[PeerId]) -> None:
        """These were called, and waited for in vain."""
        self.update(peers)
        self._silent = {*peers, *(self._silent if len(self._silent) < SILENT_MAX else ())}

    def among(self, here: Collection[PeerId]) -> None:
        """These peers are here now; the others are forgotten until they come again."""
        self.update(self._silent)
        self.intersection_update(here)


class LeaderElection:
    """Which peer is to lead, attempt after attempt, until the group of a state has formed.

    No peer has to agree on it: where two peers call, one call is followed everywhere (`precedes`).

    Args:
        config: Configuration of the rounds.
        random: Draws the jitter of patience.
    """

    def __init__(self, config: RoundConfig, random: Random) -> None:
        self._config = config
        self._random = random
        self._state: State = (0, b"")
        self.attempt = 0
        self.setbacks = 0
        """Number of refused plans and failed rounds that this peer was in, in this state: from `PLAIN_AFTER` on its own
        plans give equal shares."""
        self.looking = False
        """Whether a group is to be found."""
        self.wanted = False
        """Whether another peer wants this one to call."""
        self.asked: PeerId | None = None
        """The leader that was asked to call and has not answered."""
        self.deadline: float | None = None
        """When that leader is passed over, or the next attempt begins, unix seconds."""
        self.unavailable = MissingPeers()
        self.failures = peer_back_off()
        """Leaders, this peer among them, whose calls made others stand still in vain, or whose plans were bad."""

    def begin(self, state: State | None) -> None:
        """Forget what holds for one state only."""
        self._state = state or self._state
        self.attempt = self.setbacks = 0
        self.failures.clear(self._config.me)
        self.stop()

    def stop(self) -> None:
        """Look for no group until the target is reached."""
        self.looking = False
        self.settle()

    def settle(self) -> None:
        """Ask no leader, and wait for no next attempt."""
        self.asked = self.deadline = None

    def next_attempt(self) -> None:
        """Count the present attempt as failed: mostly another peer leads the next one."""
        self.attempt = min(self.attempt + 1, ATTEMPT_MAX)
        self.settle()

    def pass_over(self, leader: PeerId) -> None:
        """`leader` was asked in vain: begin the next attempt, and ask it no more until it is heard."""
        self.unavailable.add(leader)
        self.next_attempt()

    def call_failed(self, leader: PeerId, now: float, *, samples: int | None = None) -> None:
        """A call, perhaps this peer's own, brought no plan: exclude its leader, and begin the next attempt.

        Args:
            leader: The peer that called.
            now: Unix seconds.
            samples: What the group brought together, when that was too little: the target is not reached.
        """
        self.failures.fail(leader, now)
        self.next_attempt()
        if samples is not None:
            self.stop()

    def plan_refused(self) -> None:
        """A plan was refused: the contribution stands still, and another is to be made at once."""
        self.next_attempt()
        self.looking = True
        self.set_back()

    def set_back(self) -> None:
        """A round failed, or its plan was refused.

        Once this peer's own plans are plain, those of others are too, or soon will be: earlier ones count no more.
        """
        self.setbacks += 1
        if self.setbacks == PLAIN_AFTER:
            self.failures = peer_back_off()

    def excludes(self, leader: PeerId, now: float) -> bool:
        """Whether `leader` is neither asked nor followed at the moment."""
        return self.failures.is_excluded(leader, now) or not self._config.penalties.may_lead(leader, now)

    def choose(self, candidates: Sequence[PeerId], now: float) -> PeerId | None:
        """The peer to ask for a call now, perhaps this one; None: there is no need, or another was asked.

        A leader that was asked and is silent is passed over when it is time.  The next one is the nearest to the
        attempt's key among those that are available and not excluded; where there is none, this peer, once it may call
        again.
        """
        me = self._config.me
        if self.deadline is not None and now >= self.deadline:
            self.deadline = None
            if self.asked is not None:
                self.pass_over(self.asked)
        if self.wanted:
            self.wanted = False
            return me
        if not self.looking or (self.deadline is not None and self.asked is None):
            return None
        seen = [peer for peer in candidates if peer == me or self._config.penalties.seen(peer)]
        able = [peer for peer in seen if peer not in self.unavailable and not self.excludes(peer, now)]
        leader = by_distance(able or [me], self._config.key(self._state, self.attempt))[0]
        if leader == self.asked:
            return None
        if leader != me:
            self.asked, self.deadline = leader, now + self.patience_s()
        elif self.excludes(me, now):
            self.asked, self.deadline = None, now + self.failures.wait(me, now)
            return None
        return leader

    def declined(self, leader: PeerId, declined: Declined, now: float) -> bool:
        """Take in that `leader` declines to call; False: it was not asked.

        Args:
            leader: The peer that declines.
            declined: What it says; if it is busy, the call may come from another leader, and is waited for.
            now: Unix seconds.
        """
        if (leader, declined.attempt) != (self.asked, self.attempt):
            return False
        if declined.reason == "busy":
            self.next_attempt()
            self.deadline = now + self.patience_s()
        else:
            self.pass_over(leader)
        return True

    def precedes(self, leader: PeerId, attempt: int, followed: PeerId, followed_attempt: int) -> bool:
        """Whether a leader's call is followed in place of the one that is on: an earlier attempt or a nearer leader.

        An attempt that is over counts like the present one: no leader wins by calling for the first one for ever.  Nor
        by calling again and again, while others stand still: it cancels its call first.
        """

        def rank(leader: PeerId, attempt: int) -> tuple[int, int]:
            present = max(attempt, self.attempt)
            return present, distance(node_key(leader), self._config.key(self._state, present))

        return leader != followed and rank(leader, attempt) < rank(followed, followed_attempt)

    def patience_s(self) -> float:
        """Seconds for which a leader's word is waited for, drawn anew: members do not all ask at once."""
        return self._config.numbers.gather_timeout_s * self._random.uniform(*CALL_PATIENCE)
