"""Whom to ask for a call, and when: one peer's attempts to have the group of a state gathered."""

from collections.abc import Iterable, Sequence
from random import Random

from core.averaging.messages import ATTEMPT_MAX
from core.base.back_off import BackOff
from core.base.ids import Key, PeerId, distance, hashed_key, node_key

CALL_PATIENCE = 0.5
"""Part of the gather timeout after which a leader that was asked, and is silent, is passed over."""
PLAIN_AFTER = 4
"""After so many plans that were refused, or rounds that failed, in one state a peer makes plans that take nobody's line
for anything: equal shares, which nobody refuses.  It counts what it has seen itself: others may say what they like."""
FIRST_S = 2.0
LONGEST_S = 32.0
DECAY_S = 30.0


def failures(*, free: int = 0) -> BackOff[PeerId]:
    """Peers that are left alone after failures; the first `free` ones cost nothing."""
    return BackOff(first=FIRST_S, longest=LONGEST_S, free=free, decay=DECAY_S)


def attempt_key(run_id: bytes, lineage: bytes, epoch: int, attempt: int) -> Key:
    """The point of the key space that decides who leads this attempt."""
    return hashed_key(b"round", run_id, lineage, epoch.to_bytes(8, "big"), attempt.to_bytes(4, "big"))


def by_distance(peers: Iterable[PeerId], key: Key) -> list[PeerId]:
    """`peers` in the order in which they lead: the one nearest to `key` first."""
    return sorted(peers, key=lambda peer: (distance(node_key(peer), key), peer))


def round_id(key: Key, leader: PeerId, nonce: int) -> bytes:
    """Name of the round that `leader` makes of the attempt at `key`: 32 bytes.  No two rounds share a nonce."""
    return hashed_key(b"round by", key, leader, nonce.to_bytes(8, "big"))


def call_rank(attempt: int, key: Key, leader: PeerId) -> tuple[int, int]:
    """Two calls for the same state: the smaller rank wins.  The earlier attempt, then the nearer leader."""
    return attempt, distance(node_key(leader), key)


class LeaderElection:
    """The count of attempts, who has failed as a leader, and who is asked at the moment.

    Args:
        me: This peer.
        gather_timeout_s: How long a leader waits for contributions.
        random: For the jitter of timeouts.
    """

    def __init__(self, me: PeerId, *, gather_timeout_s: float, random: Random) -> None:
        self._me = me
        self._gather_timeout_s = gather_timeout_s
        self._random = random
        self.failed_calls = failures()
        """Leaders whose calls failed, this peer among them."""
        self.bad_plans = failures()
        """Leaders whose plans were bad in this state."""
        self.attempt = 0
        self.setbacks = 0
        """Plans that were refused, by me or by others whom I heeded, and rounds that failed: in this state."""
        self.looking = False
        """The target is reached: a group is to be found."""
        self.unavailable: set[PeerId] = set()
        """Candidates and helpers that were lost or did not answer, and have not been heard since."""
        self.asked: PeerId | None = None
        """Who is to call."""
        self.again_at: float | None = None
        """When whoever was asked is passed over, or the next attempt begins, unix seconds."""

    def begin(self) -> None:
        """A new state: everybody gets another chance, and nobody looks yet."""
        self.looking = False
        self.attempt = self.setbacks = 0
        self.failed_calls.clear(self._me)
        self.bad_plans = failures()

    def pause(self) -> None:
        """Something is under way, or has just ended: nobody is asked for the moment."""
        self.asked = self.again_at = None

    def rest(self) -> None:
        """Look no longer."""
        self.looking = False
        self.pause()

    def next_attempt(self) -> None:
        """The present one came to nothing."""
        self.attempt = min(self.attempt + 1, ATTEMPT_MAX)

    def pass_over(self, leader: PeerId) -> None:
        """`leader` was asked in vain."""
        self.unavailable.add(leader)
        self.pause()
        self.next_attempt()

    def look_again(self) -> None:
        """A plan was refused: whoever was in it looks for the next one at once."""
        self.setbacks += 1
        self.pause()
        self.next_attempt()
        self.looking = True

    def retry_later(self, now: float) -> None:
        """Begin the next attempt in a while."""
        self.next_attempt()
        self.again_at = now + max(self._patience_s, self.failed_calls.wait(self._me, now)) if self.looking else None

    def called_in_vain(self, now: float) -> None:
        """A call of ours came to nothing: no new one at once, whoever asks."""
        self.failed_calls.fail(self._me, now)
        self.retry_later(now)

    def resting(self, now: float) -> bool:
        """Whether no call of ours is to begin yet."""
        return self.failed_calls.is_excluded(self._me, now)

    @property
    def plain(self) -> bool:
        """Whether plans are to be such as nobody refuses."""
        return self.setbacks >= PLAIN_AFTER

    def excludes(self, leader: PeerId, now: float) -> bool:
        """Whether a leader is neither asked nor followed for now.  When our plans are plain, others' are, or soon."""
        bad = self.bad_plans.is_excluded(leader, now) and not self.plain
        return bad or self.failed_calls.is_excluded(leader, now)

    def leader(self, candidates: Sequence[PeerId], key: Key, *, now: float) -> PeerId:
        """Who is to call: the nearest to the attempt's key among those that may be relied on, else this peer."""
        fit = [peer for peer in candidates if peer not in self.unavailable and not self.excludes(peer, now)]
        return by_distance(fit or [self._me], key)[0]

    def ask(self, leader: PeerId, now: float) -> None:
        """`leader` is asked now."""
        self.asked = leader
        self.again_at = now + self._patience_s

    @property
    def _patience_s(self) -> float:
        return CALL_PATIENCE * self._gather_timeout_s * self._random.uniform(1.0, 1.5)
