"""What people, and the programs that serve them, may see of a participant."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.averaging.plan import Plan, Rates
from core.base.ids import PeerId
from core.swarm.words.epoch import Phase
from core.swarm.words.outputs import Fetching
from core.swarm.words.progress import ProgressReport
from core.swarm.words.settings import ParticipantSettings
from core.swarm.words.states import StateName


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantView:
    """A participant at one moment.

    Attributes:
        settings: What it was told at birth.
        phase: Where it stands between two steps.
        state: The state that its trainer holds; of a helper, at which it stands; None: nothing yet.
        followed: The state from which the present epoch began: its own; while its trainer is away, that of most others;
            None: nothing yet.
        assists: It computes nothing for now, because no plan wants any of its contribution.
        fetching: How far the download of a newer state is; None: there is none.
        samples: What it has accumulated for the next step.
        samples_per_s: Its trainer's speed, as measured last.
        others_samples: What the others at the followed state have accumulated by now.
        others_samples_per_s: Their joint speed.
        peers: The reports of all others that are here.
        silent: Those of them that have not reported lately.
        audible: Whether anybody has reported lately.
        line: Rates of this computer's line as its rounds measured them, bytes per second.
        trip_s: Time that a message takes to a member of its rounds and back; 0: not measured.
        earned: Peers that were in rounds with this one, or in the history of a copy that it keeps; the last one last.
        plan: Plan of the round that runs, or ran last; None: there was none.
    """

    settings: ParticipantSettings
    phase: Phase
    state: StateName | None
    followed: StateName | None
    assists: bool
    fetching: Fetching | None
    samples: int
    samples_per_s: float
    others_samples: int
    others_samples_per_s: float
    peers: Mapping[PeerId, ProgressReport]
    silent: frozenset[PeerId]
    audible: bool
    line: Rates
    trip_s: float
    earned: tuple[PeerId, ...] = ()
    plan: Plan | None = None
