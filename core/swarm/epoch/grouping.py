"""The decision whether to form a group: when the target batch is reached, and with which peers."""

from typing import Final

from core.base.ids import PeerId, distance, hashed_key, node_key
from core.swarm.presence.beacon import Beacon
from core.swarm.presence.membership import GOES_ON_S, Membership, agreement
from core.swarm.rounds.rounds import Rounds
from core.swarm.words.epoch import Phase
from core.swarm.words.orders import Agreement
from core.swarm.words.outputs import Output
from core.swarm.words.settings import ParticipantSettings
from core.swarm.words.states import State, StateName

SHORT_REST_MAX_S: Final = 10.0
"""A group that had too few samples is not tried again before they can have been made up for, or for this long."""
SOON_S: Final = 2.0
"""When the target will be reached within this time, the moment is waited for rather than the next report."""
SOON_LEAST_S: Final = 0.05


class Stragglers:
    """Peers whose reports say that they are just now on the way from one state to the next.

    A batch can be full when the first peer has taken its step.  A round that began at once would go on without the
    others, and lead to another state than the round from which they come, or lose what they have accumulated; so they
    are waited for, a while.  Those that were waited for in vain are not waited for again until they have caught up, and
    strangers, which have given nothing, are not waited for.

    Args:
        patience_s: How long at one state, seconds.
    """

    def __init__(self, *, patience_s: float) -> None:
        self._patience_s = patience_s
        self._awaited: tuple[StateName, float] | None = None
        """The state at which somebody was waited for last, and since when, unix seconds."""
        self._in_vain: set[PeerId] = set()

    def awaits(self, state: StateName, membership: Membership, now: float) -> bool:
        """Whether a peer that was one step behind is not at `state` yet, or one just takes the step from there."""
        branches, live = membership.branches, membership.live()
        here = {peer: live[peer] for peer in live if branches.admitted(peer) and not membership.silent(peer, now)}
        stepping = {peer for peer, report in here.items() if report.activity == Phase.STEPPING}
        late = {peer for peer, report in here.items() if report.epoch == state.epoch - 1 and report.in_step}
        late |= {peer for peer in stepping if here[peer].epoch == state.epoch - 1}
        late |= {peer for peer in stepping if here[peer].state == state}
        self._in_vain &= {peer for peer, report in here.items() if report.epoch < state.epoch or peer in stepping}
        late -= self._in_vain | {peer for peer in late if membership.patience.is_stranger(peer, now)}
        if not late:
            return False
        if self._awaited is None or self._awaited[0] != state:
            self._awaited = (state, now)
        if now < self._awaited[1] + self._patience_s:
            return True
        self._in_vain |= late
        return False


class Grouping:
    """Adds up what everybody has accumulated, and tells `Rounds` where this peer stands and when to look for a group.

    Args:
        me: This peer.
        settings: How many samples a step takes, and how long a member that still takes the last one is waited for.
        rounds: Finds the group.
        membership: Knows who has accumulated what.
        beacon: Reads the reports more often as the target comes near.
    """

    def __init__(
        self,
        me: PeerId,
        *,
        settings: ParticipantSettings,
        rounds: Rounds,
        membership: Membership,
        beacon: Beacon,
    ) -> None:
        self._me = me
        self._target_samples = settings.target_samples
        self._rounds = rounds
        self._membership = membership
        self._beacon = beacon
        self._stragglers = Stragglers(patience_s=settings.averaging.gather_timeout_s)
        self._enough_at = 0.0
        """Before then a group would have too few samples, as far as is known; unix seconds."""
        self._short = False
        """A group of this state had too few samples: from now on only reports count, and their coming is waited for."""
        self._full_at: float | None = None
        """When the target batch will be reached, if that is soon."""

    @property
    def deadline(self) -> float | None:
        """When the target batch should be reached and `due` turns true, unix seconds."""
        return self._full_at

    def due(self, now: float) -> bool:
        """Whether the target batch should be reached by now; true once."""
        if self._full_at is None or now < self._full_at:
            return False
        self._full_at = None
        return True

    def others_per_s(self, state: StateName, now: float) -> float:
        """Joint speed of the others at `state`, samples per second."""
        return self._membership.samples_per_s(state, now)

    def agreement(self, state: State) -> Agreement:
        """How many others have the same bits of the state."""
        return agreement(self._membership.live().values(), state)

    def is_evaluator(self, state: StateName) -> bool:
        """Whether it is this peer's turn to look at the held-out text.

        The turn goes to the nearest, of those in step, to the point of the key space that `state` names.
        """
        point = hashed_key(b"evaluate", state.lineage)
        admitted, live = self._membership.branches.admitted, self._membership.live()
        peers = [peer for peer, report in live.items() if report.in_step and admitted(peer)]
        return min([*peers, self._me], key=lambda peer: distance(node_key(peer), point)) == self._me

    def consider(self, state: StateName, *, samples: float, speed: float, training: bool, now: float) -> list[Output]:
        """Look for a group if the target batch is reached, and stand ready for calls if not.

        Args:
            state: Where this peer stands.
            samples: What it has accumulated by now.
            speed: Its samples per second that others may count on.
            training: Whether it is free to join a group.
            now: Unix seconds.

        Returns:
            What `Rounds` says.
        """
        candidates = [*self._membership.in_step(state), self._me]
        goes_on_s = 0.0 if self._short else GOES_ON_S
        total = self._membership.samples(state, now, goes_on_s=goes_on_s, own={self._me: samples})
        missing = max(self._target_samples - total, 0)
        speed += self.others_per_s(state, now)
        eta_s = max(missing / speed, self._enough_at - now) if speed > 0 else None
        self._beacon.pace(eta_s, now)
        soon = training and not self._short and eta_s is not None and 0 < eta_s <= SOON_S
        self._full_at = now + max(eta_s or 0.0, SOON_LEAST_S) if soon else None
        full = training and missing == 0 and now >= self._enough_at
        full = full and not self._stragglers.awaits(state, self._membership, now)
        helpers = [peer for peer in self._membership.helpers(now) if self._rounds.penalties.may_reduce(peer, now)]
        return list(self._rounds.position(state, candidates, full=full, now=now, helpers=helpers))

    # --- what changes it ---------------------------------------------------------------------------------------------

    def fell_short(self, samples: int, speed: float, now: float) -> None:
        """A group brought together too few samples: with this joint speed it takes a while to have enough."""
        lacking = max(self._target_samples - samples, 0)
        self._short = True
        self._enough_at = now + min(lacking / max(speed, 1e-9), SHORT_REST_MAX_S)

    def settle(self) -> None:
        """A new state is in place: what was known of groups at the last one holds no longer."""
        self._enough_at = 0.0
        self._short = False
