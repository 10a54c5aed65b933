"""Attempts to form a group: what the rounds of a collaboration have in common, and which peer leads an attempt."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from core.averaging.grid.layout import FailureRate
from core.averaging.matchmaking import (
    CALL_PATIENCE,
    EXCLUDED_MAX_S,
    EXCLUDED_S,
    FORGIVEN_S,
    JITTER,
    PLAIN_AFTER,
)
from core.averaging.matchmaking.messages import Call
from core.averaging.matchmaking.plans import LineKnowledge, PlanRequest
from core.averaging.messages import ATTEMPT_MAX
from core.averaging.plan import Member
from core.base.back_off import BackOff
from core.base.ids import Key, PeerId, distance, hashed_key, node_key
from core.base.manifest import AveragingNumbers

State = tuple[int, bytes]
"""Epoch and lineage of the parameters that all members of a group hold."""


class PeerPenalties(Protocol):
    """What past rounds have shown of peers."""

    def may_lead(self, peer: PeerId, now: float) -> bool:
        """Whether `peer` is to be asked for a call, and followed."""

    def without_excluded(self, members: Sequence[Member], now: float) -> list[Member]:
        """The same members, where bad reducers are spared, as many as a plan may spare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundConfig:
    """What all rounds of a collaboration have in common, as one peer knows it."""

    me: PeerId
    run_id: bytes
    """Names the collaboration: the manifest's id."""
    numbers: AveragingNumbers
    lines: LineKnowledge
    penalties: PeerPenalties
    failures: FailureRate
    """How often peers fail in rounds; many peers that fail often average on a grid."""
    numel: int | None
    """Numbers in the vector; None: this peer is a helper, which takes it from the call and never leads."""
    numel_max: int = 0
    """A helper follows no call for a longer vector."""
    minimum_samples: int = 0
    """A leader cancels a round to which all members together bring fewer."""
    target_samples: int = 0
    """As in `PlanRequest`: what the parts of contributions that a plan asks for are measured by."""

    def key(self, state: State, attempt: int) -> Key:
        """The point of the key space that decides which peer leads an attempt."""
        return attempt_key(self.run_id, state[1], state[0], attempt)

    def request(self, leader: PeerId, call: Call) -> PlanRequest:
        """What the members of the round that `leader` calls for agree on."""
        return PlanRequest(
            round=round_id(self.key((call.epoch, call.lineage), call.attempt), leader, call.nonce),
            epoch=call.epoch,
            lineage=call.lineage,
            attempt=call.attempt,
            numel=call.numel if self.numel is None else self.numel,
            numbers=self.numbers,
            target_samples=self.target_samples,
        )


def attempt_key(run_id: bytes, lineage: bytes, epoch: int, attempt: int) -> Key:
    """The point of the key space that decides which peer leads an attempt.

    Args:
        run_id: The manifest's id.
        lineage: Of the state that a group is to be found for.
        epoch: Of the same.
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
        nonce: Of its call; no two calls of a peer share one.
    """
    return hashed_key(b"round by", key, leader, nonce.to_bytes(8, "big"))


def peer_back_off(*, free: int = 0) -> BackOff[PeerId]:
    """A back-off of peers; the first `free` failures of one exclude it not yet."""
    return BackOff(first=EXCLUDED_S, longest=EXCLUDED_MAX_S, free=free, decay=FORGIVEN_S)


class LeaderElection:
    """Which peer is to lead, attempt after attempt, until the group of a state has formed.

    No peer has to agree on it: where two peers call, one call is followed everywhere (`rank`).

    Args:
        config: Of the rounds.
        random: Draws the jitter of patience.
    """

    def __init__(self, config: RoundConfig, random: Random) -> None:
        self._config = config
        self._random = random
        self._state: State = (0, b"")
        self.attempt = 0
        self.setbacks = 0
        """Number of refused plans and failed rounds that this peer was in, in this state."""
        self.looking = False
        """Whether a group is to be found."""
        self.asked: PeerId | None = None
        """The leader that was asked to call and has not answered."""
        self.deadline: float | None = None
        """When that leader is passed over, or the next attempt begins, unix seconds."""
        self.unavailable: set[PeerId] = set()
        """Peers that were lost or did not answer a call, and have not been heard since: not asked, not waited for."""
        self._passed_over: set[PeerId] = set()
        self.failed_calls = peer_back_off()
        """Leaders, this peer among them, whose calls made others stand still in vain."""
        self.bad_plans = peer_back_off()
        """Leaders whose plans had to be refused in this state."""

    def begin(self, state: State | None) -> None:
        """Forget what holds for one state only."""
        self._state = state or self._state
        self.attempt = self.setbacks = 0
        self._passed_over = set()
        self.failed_calls.clear(self._config.me)
        self.bad_plans = peer_back_off()
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

    def set_back(self, leader: PeerId) -> None:
        """A plan of `leader` was refused: the contribution stands still, and another is to lead at once."""
        self.pass_over(leader)
        self.setbacks += 1
        self.looking = True

    def retry_later(self, now: float) -> None:
        """Begin the next attempt after a while, and no sooner than this peer may call again."""
        self.settle()
        self.next_attempt()
        if self.looking:
            self.deadline = now + max(self._patience_s, self.failed_calls.wait(self._config.me, now))

    def call_failed(self, leader: PeerId, now: float, *, samples: int | None) -> None:
        """A call, perhaps this peer's own, was cancelled.

        Args:
            leader: The peer that called.
            now: Unix seconds.
            samples: What the group brought together, when that was too little: the target is not reached.
        """
        self.failed_calls.fail(leader, now)
        self.retry_later(now)
        if samples is not None:
            self.stop()

    def excludes(self, leader: PeerId, now: float) -> bool:
        """Whether `leader` is neither asked nor followed at the moment.

        Bad plans do not count once this peer's own are plain: those of others are plain too, or soon will be.
        """
        bad = self.bad_plans.is_excluded(leader, now) and not self.is_plain
        return bad or self.failed_calls.is_excluded(leader, now) or not self._config.penalties.may_lead(leader, now)

    @property
    def is_plain(self) -> bool:
        """Whether this peer's plans are to give equal shares."""
        return self.setbacks >= PLAIN_AFTER

    def choose(self, candidates: Sequence[PeerId], now: float) -> PeerId | None:
        """The peer to ask for a call now, perhaps this one; None: there is no need, or another was asked.

        It is the nearest to the attempt's key among those that are available and not excluded.
        """
        if not self.looking or (self.deadline is not None and self.asked is None):
            return None
        absent = self.unavailable | self._passed_over
        able = [peer for peer in candidates if peer not in absent and not self.excludes(peer, now)]
        leader = by_distance(able or [self._config.me], self._config.key(self._state, self.attempt))[0]
        if leader == self.asked:
            return None
        if leader != self._config.me:
            self.asked, self.deadline = leader, now + self._patience_s
        return leader

    def pass_over(self, leader: PeerId) -> None:
        """`leader` was asked in vain, or its plan refused: begin the next attempt, and ask it no more in this state."""
        self._passed_over.add(leader)
        self.next_attempt()
        self.settle()

    def expire(self, now: float) -> None:
        """Pass over the leader that was asked, or end the wait for the next attempt, when it is time."""
        if self.deadline is not None and now >= self.deadline:
            self.deadline = None
            if self.asked is not None:
                self.unavailable.add(self.asked)
                self.pass_over(self.asked)

    def rank(self, attempt: int, leader: PeerId) -> tuple[int, int]:
        """Of two calls the one of the smaller rank is followed: the earlier attempt, then the nearer leader.

        An attempt that is over counts like the present one: no leader wins by calling for the first one for ever.
        """
        present = max(attempt, self.attempt)
        return present, distance(node_key(leader), self._config.key(self._state, present))

    @property
    def _patience_s(self) -> float:
        return CALL_PATIENCE * self._config.numbers.gather_timeout_s * self._random.uniform(1.0, 1.0 + JITTER)
