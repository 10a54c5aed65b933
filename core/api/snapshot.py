"""The whole state of an engine as people see it.  Always sent whole, at most four times a second."""

from enum import StrEnum
from operator import itemgetter
from typing import Annotated

import msgspec
from msgspec import Meta

from core.api import training_part
from core.api import verdict as verdicts
from core.api.data_state import DataView, SourceView
from core.api.hints import Hint
from core.api.modes import Switches, UseSubject
from core.api.reports import DayGift
from core.api.score import Filled, FirstScore, Score
from core.api.sentence import Said
from core.api.turns import PassedOver
from core.api.updates import UpdateView
from core.api.verdict import DATA, Verdict, VerdictCode

PROTOCOL_VERSION = 5
VOLUNTEER = "volunteer"
"""The role of a peer that trains."""
BACKBONE = "backbone"
"""The role of a peer that is always on and does not train."""
HELPER = "helper"
"""The role of a peer that only averages what others have trained."""


class Activity(StrEnum):
    """The engine's present activity, in one word."""

    STARTING = "starting"
    JOINING = "joining"
    WAITING = "waiting"
    CATCHING_UP = "catching_up"
    TRAINING = "training"
    AVERAGING = "averaging"
    HELPING = "helping"
    PAUSED = "paused"
    FINISHED = "finished"
    PROBLEM = "problem"


class ProblemView(msgspec.Struct, frozen=True):
    """A problem in words: what is wrong, and what to do."""

    code: str
    message: str
    hint: str = ""
    said: Said = ()


class LossView(msgspec.Struct, frozen=True):
    """What a collaboration's losses mean, in its task's words, and this computer's last look at the held-out text."""

    name: str = ""
    """What is measured, such as "masked-word loss"; empty until a trainer has said it."""
    unit: str = ""
    """Such as "nats"; empty: none."""
    guesses: str = ""
    """What a score's share of right guesses is a share of, such as "blanks"; empty: nothing is guessed."""
    epoch: int | None = None
    """Epoch of the last score that was measured here; None: not yet, or not since another state was loaded."""
    score: Score | None = None
    """Score of the shared model at that epoch."""
    baselines: dict[str, Score] = {}
    """Scores of models that know only one thing, by that thing, such as "word frequencies"; empty until measured."""
    filled: tuple[Filled, ...] = ()
    """The same few pieces of text each time, as the model filled them last."""

    @property
    def lowest(self) -> tuple[str, float] | None:
        """The baseline that is hardest to get below, name and loss; None until measured."""
        losses = ((name, score.loss) for name, score in self.baselines.items())
        return min(losses, key=itemgetter(1), default=None)


class Collaboration(msgspec.Struct, frozen=True, kw_only=True):
    """The collaboration that this engine takes part in."""

    name: str
    id: str
    """Hex digest of the manifest."""
    summary: str
    organiser: str
    target_samples: int
    task: str = ""
    sample_size: int = 0
    """How long a sample is, as `core.api.sample_text` counts it; 0: not told."""
    last_epoch: int | None = None
    """Epoch at which it ends; None: it goes on for ever."""
    loss: LossView = LossView()
    sources: tuple[SourceView, ...] = ()
    """Where its text comes from."""
    page: str = ""
    """Address of its page for everybody, with teams; empty: none is known."""


class Mine(msgspec.Struct, frozen=True, kw_only=True):
    """This computer's own contribution to the collaboration."""

    peer: str
    """Eight letters (core.base.ids.short)."""
    name: str
    samples: int = 0
    """Samples in averaged contributions that the model counts; `ReceiptList` has those that it has not kept, too."""
    samples_pending: int = 0
    """Samples accumulated in the current epoch, not averaged yet."""
    samples_per_s: float = 0.0
    epochs: int = 0
    """Rounds that this computer's contribution was part of."""
    bytes_sent: int = 0
    bytes_received: int = 0
    worker_pid: int | None = None
    device: str = ""
    """What this computer computes on, as people call it; empty: not known yet."""
    contributing_s: float = 0.0
    """Seconds of contributing, in all runs of the program."""
    first: FirstScore | None = None
    """The first score that was measured on this computer; None: none was yet."""
    line_up_bytes_per_s: float = 0.0
    """Observed upload bandwidth of this computer, recently; 0: not known yet."""
    line_down_bytes_per_s: float = 0.0
    line_trip_s: float = 0.0
    """The middle one of its round trips to those it averages with; 0: not known yet."""


class ReachView(msgspec.Struct, frozen=True):
    """How other volunteers can reach this computer."""

    standing: str
    """"reachable", "punchable", "relayed", "offline" or "unknown"."""
    sentence: str
    advice: str = ""
    """Sentence on what would improve reachability; empty if nothing is needed."""
    said: Said = ()


class PeerView(msgspec.Struct, frozen=True, kw_only=True):
    """A peer that is here now."""

    peer: str
    name: str
    is_me: bool
    role: str
    """"volunteer", "backbone" or "helper"."""
    activity: str
    """An Activity's value, as that peer reports it."""
    epoch: int
    samples_pending: int
    samples_per_s: float


class LeaderboardRow(msgspec.Struct, frozen=True, kw_only=True):
    """One peer's row of the leaderboard."""

    rank: int
    peer: str
    name: str
    is_me: bool
    samples: int
    share: float
    """Share of all samples, 0 to 1."""
    week: float = 0.0
    """Share of all samples since `Snapshot.week_since`, 0 to 1."""
    epochs: int
    rounds: int = 0
    """Rounds of averaging that it helped to end, by their receipts."""
    reduced: int = 0
    """Numbers that it averaged for everybody, by the receipts."""
    relayed_bytes: int = 0
    """Carried for those that cannot be reached, as they attest in the receipts."""
    shared_bytes: int = 0
    """Bytes of shards given to others today, as the receivers attest."""
    answered_rows: int = 0
    """Rows that its experts have answered for others today, as these attest."""
    revoked: bool = False
    """The organiser has shut this peer out; what it gave stays in the model."""


class CurvePoint(msgspec.Struct, frozen=True):
    """The collaboration's loss at one epoch."""

    epoch: Annotated[int, Meta(ge=0, le=2**31)]
    loss_training: Annotated[float, Meta(ge=-1e30, le=1e30)] | None
    """Mean over all contributions of that epoch."""
    loss_heldout: Annotated[float, Meta(ge=-1e30, le=1e30)] | None = None
    """Loss on text that is never learned from, where a peer looked."""


COUNTERS_S = 10.0
"""Time after which numbers that always run are told, where nothing else has changed."""


class ExpertsLack(msgspec.Struct, frozen=True):
    """A layer has no expert that answers, so nobody's samples come through it."""

    live: int
    """Number of experts of all layers that somebody hosts, as far as this computer knows."""
    places: int
    """Number of those that the model has."""
    layer: int
    """Number of the layer, from 1 on."""


class HostingView(msgspec.Struct, frozen=True):
    """What this computer does for the experts of a mixture."""

    experts: int
    """Number of experts that live here and can be asked."""
    answered: int = 0
    """Number of requests that they have answered since the engine was started."""
    wait_s: float = 0.0
    """Seconds from a request to its answer, which 95 of 100 did not exceed; 0: none was answered."""
    lack: ExpertsLack | None = None
    """What training here waits for; None: it goes on."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """All of it.  A client that connects, or connects again, needs nothing else."""

    protocol: int = PROTOCOL_VERSION
    version: str
    pid: int
    time: float
    """Unix seconds at which this was taken."""
    verdict: Verdict
    """What is happening, and why."""
    contributing: bool
    """Whether the person's switch for computing stands anywhere but at "never" now."""
    switches: Switches = Switches()
    rests: dict[UseSubject, Verdict] = {}
    """Why computing, the graphics card that computes, and the network may not be used now; what may be is left out."""
    cards: dict[str, Verdict | None] = {}
    """Why each graphics card may not be used now, by the name that torch gives it; None: it may."""
    collaboration: Collaboration | None = None
    me: Mine
    epoch: int = 0
    epoch_samples: int = 0
    """Samples of the whole collaboration in the current epoch."""
    samples_per_s: float = 0.0
    """Speed of the whole collaboration."""
    peers: list[PeerView] = []
    leaderboard: list[LeaderboardRow] = []
    week_since: str = ""
    """Date seven days ago, or of the first leaderboard that this computer has seen; empty: none yet."""
    curve: list[CurvePoint] = []
    """At most 500 points, oldest first; thinned evenly when there are more epochs."""
    reach: ReachView | None = None
    """None: all others are on this computer, or there is no connection to report yet."""
    notice_last: int = 0
    """Number of the newest notice."""
    data: DataView | None = None
    """How the text comes to this computer; None: it reads none now."""
    passed_over: tuple[PassedOver, ...] = ()
    """Other collaborations that were joined and cannot be worked for now, in the person's order."""
    hint: Hint | None = None
    """What the person could change for everybody's good; None: nothing is known."""
    today: DayGift = DayGift(day="")
    """What this computer gave today, up to this moment; its `day` is empty where an engine does not tell."""
    hosting: HostingView | None = None
    """The experts that live here; None: the model has none."""
    update: UpdateView | None = None
    """What is known of a newer version; None: this program does not update itself."""

    @property
    def sentence(self) -> str:
        """The verdict as a sentence in plain words."""
        return str(verdicts.sentence(self.verdict))

    @property
    def problem(self) -> ProblemView | None:
        """The problem that the verdict is about; None: it is about none."""
        if self.verdict.code is not VerdictCode.PROBLEM:
            return None
        message, hint = (str(self.verdict.args.get(name, "")) for name in ("message", "hint"))
        return ProblemView(self.verdict.reason, message, hint, self.verdict.said)

    @property
    def activity(self) -> Activity:
        """The activity that this computer reports in the table of peers."""
        return activity_of(self.verdict)

    def says_the_same(self, other: "Snapshot | None") -> bool:
        """Whether two snapshots differ in nothing but numbers that always run: time, bytes, rows, and time given."""
        if other is None:
            return False
        mine, theirs = self.me, other.me
        counters = ("bytes_sent", "bytes_received", "contributing_s")
        mine = msgspec.structs.replace(mine, **{name: getattr(theirs, name) for name in counters})
        today = msgspec.structs.replace(other.today, day=self.today.day, samples=self.today.samples)
        data = self.data
        if data is not None and other.data is not None:
            said = {"code": data.code, "args": data.args, "waiting": data.waiting}
            data = msgspec.structs.replace(other.data, **said)
        hosting = self.hosting
        if hosting is not None and other.hosting is not None:
            hosting = msgspec.structs.replace(other.hosting, experts=hosting.experts, lack=hosting.lack)
        same = {"time": other.time, "me": mine, "today": today, "data": data, "hosting": hosting}
        return msgspec.structs.replace(self, **same) == other

    @property
    def volunteers(self) -> int:
        """How many are here to train, paused ones included."""
        return sum(peer.role == VOLUNTEER for peer in self.peers)

    @property
    def always_on(self) -> int:
        """How many backbones are here: they welcome and watch, and do not train."""
        return sum(peer.role == BACKBONE for peer in self.peers)


def activity_of(verdict: Verdict) -> Activity:
    """What a peer with this verdict is at, as others see it."""
    match verdict.code, verdict.reason:
        case VerdictCode.RESTING, Activity.FINISHED.value | "ended":
            return Activity.FINISHED
        case VerdictCode.RESTING | VerdictCode.PAUSED, _:
            return Activity.PAUSED
        case VerdictCode.PROBLEM, _:
            return Activity.PROBLEM
        case VerdictCode.WAITING, _:
            return Activity.WAITING
        case VerdictCode.NOT_CONNECTED, reason if reason.startswith(DATA):
            return Activity.WAITING
        case VerdictCode.NOT_CONNECTED, "offline" | "no_network" | "pass_ended":
            return Activity.TRAINING
        case VerdictCode.CONTRIBUTING, "assisting" | training_part.NO_PART:
            return Activity.HELPING
        case VerdictCode.CONTRIBUTING | VerdictCode.STARTING, reason if reason in set(Activity):
            return Activity(reason)
    return Activity.STARTING


class Notice(msgspec.Struct, frozen=True):
    """Something that happened, for the log: numbered, kept in a ring."""

    number: int
    time: float
    level: str
    """"info", "warning" or "problem"."""
    text: str
    code: str = ""
    """Its kind, such as "round.left"; of a verdict "verdict", its code and its reason, with dots; empty: none."""
    args: dict[str, str | int] = {}
    """What a verdict's sentence is made of."""
    said: Said = ()
    """How the text, or what of `args` is a sentence, is made."""
