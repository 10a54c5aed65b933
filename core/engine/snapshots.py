"""The engine's state in the words of a Snapshot."""

from dataclasses import dataclass
from typing import Literal

from core.api.numbers import amount, gathered
from core.api.snapshot import (
    BACKBONE,
    HELPER,
    Activity,
    Collaboration,
    LossView,
    Mine,
    PeerView,
    ProblemView,
    ReachView,
    Snapshot,
)
from core.api.version import VERSION
from core.averaging.plan import Rates
from core.base.ids import PeerId, short
from core.base.manifest import Manifest
from core.base.problems import Problem
from core.ledger.contributions import Ledger
from core.nat.reachability import OwnReach
from core.swarm.epoch import Phase
from core.swarm.presentation import HELPING
from core.swarm.progress import ProgressReport
from core.swarm.view import ParticipantView

ACTIVITIES = {
    Phase.IDLE: Activity.STARTING,
    Phase.JOINING: Activity.JOINING,
    Phase.TRAINING: Activity.TRAINING,
    Phase.COLLECTING: Activity.AVERAGING,
    Phase.OFFERED: Activity.AVERAGING,
    Phase.AVERAGING: Activity.AVERAGING,
    Phase.STEPPING: Activity.AVERAGING,
    Phase.FETCHING: Activity.CATCHING_UP,
    Phase.LOADING: Activity.CATCHING_UP,
    Phase.FINISHED: Activity.FINISHED,
}
SENTENCES = {
    Activity.JOINING: "Looking for the others and for the newest state of the model.",
    Activity.WAITING: "Welcoming people and watching: this peer does not train.",
    Activity.HELPING: "Helping: this computer averages what the others have trained, and trains nothing itself.",
}
ASSISTING = "Helps to average: this line is too slow for its own gradients."
WORKING = frozenset({Activity.TRAINING, Activity.AVERAGING})
"""Activities in which a peer's speed says something about what it gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standpoint:
    """What the engine knows when a snapshot is taken."""

    pid: int
    now: float
    stage: str
    """What is being prepared, as a sentence, while there is no participant yet."""
    contributing: bool
    name: str
    me: PeerId | None = None
    manifest: Manifest | None = None
    participant: ParticipantView | None = None
    ledger: Ledger | None = None
    worker_pid: int | None = None
    loss: LossView | None = None
    bytes_sent: int = 0
    bytes_received: int = 0
    contributing_s: float = 0.0
    problem: Problem | None = None
    reach: OwnReach | None = None
    resting: str = ""
    """Why the network is left alone, as a sentence; empty: it is not."""
    notice_last: int = 0


def take_snapshot(at: Standpoint) -> Snapshot:
    """Everything people see, as of `at.now`."""
    activity = _activity(at)
    samples, speed = _together(at, activity)
    return Snapshot(
        version=VERSION,
        pid=at.pid,
        time=at.now,
        activity=activity,
        sentence=_sentence(at, activity),
        contributing=at.contributing,
        collaboration=_collaboration(at),
        me=_mine(at, activity),
        epoch=_epoch(at.participant),
        epoch_samples=samples,
        samples_per_s=speed,
        peers=_peers(at, activity),
        leaderboard=at.ledger.standings(at.me) if at.ledger is not None and at.me is not None else [],
        curve=at.ledger.curve.thinned() if at.ledger is not None else [],
        problem=ProblemView(at.problem.code, at.problem.message, at.problem.hint) if at.problem is not None else None,
        reach=_reach(at),
        notice_last=at.notice_last,
    )


def clock_notice(offset_s: float) -> tuple[Literal["info", "warning"], str]:
    """What to tell the person about this computer's clock: level and sentence.

    Args:
        offset_s: How far the others' clocks are ahead of it, by their median; 0.0: it is right again.
    """
    if not offset_s:
        return "info", "This computer's clock agrees with the others' again."
    way = "behind" if offset_s > 0 else "ahead of"
    words = (
        f"This computer's clock is {amount(abs(offset_s))} seconds {way} the other volunteers' clocks. "
        "Let the system set it by itself (date and time settings); from a minute on others refuse its messages."
    )
    return "warning", words


def _activity(at: Standpoint) -> Activity:
    if at.problem is not None:
        return Activity.PROBLEM
    if at.participant is None:
        return Activity.STARTING
    if at.participant.settings.role == BACKBONE:
        return Activity.WAITING
    if not at.contributing or at.resting:
        return Activity.PAUSED
    if at.participant.settings.role == HELPER:
        return Activity.HELPING
    activity = ACTIVITIES[at.participant.phase]
    assists = activity is Activity.TRAINING and at.participant.assists
    return Activity.HELPING if assists else activity


def _together(at: Standpoint, activity: Activity) -> tuple[int, float]:
    """Samples and speed of the whole collaboration in this epoch."""
    participant = at.participant
    if participant is None or participant.state is None:
        return 0, 0.0
    return (
        participant.others_samples + participant.samples,
        participant.others_samples_per_s + _speed(activity, participant.samples_per_s),
    )


def _epoch(participant: ParticipantView | None) -> int:
    """Of the state that the participant holds; of a helper, at which it stands."""
    return 0 if participant is None or participant.state is None else participant.state.epoch


def _speed(activity: Activity, samples_per_s: float) -> float:
    """The last speed that was measured counts for nothing once its peer has stopped to train."""
    return samples_per_s if activity in WORKING else 0.0


def _collaboration(at: Standpoint) -> Collaboration | None:
    if at.manifest is None:
        return None
    return Collaboration(
        name=at.manifest.name,
        id=at.manifest.id.hex(),
        summary=at.manifest.summary,
        organiser=at.manifest.organiser,
        target_samples=at.manifest.target_samples,
        loss=at.loss or LossView(),
    )


def _reach(at: Standpoint) -> ReachView | None:
    if at.reach is None:
        return None
    reach = at.reach.hearing(others=at.participant is not None and at.participant.audible)
    return ReachView(reach.standing, reach.sentence, reach.advice)


def _mine(at: Standpoint, activity: Activity) -> Mine:
    participant = at.participant
    line = participant.line if participant is not None else Rates()
    row = at.ledger.row(at.me) if at.ledger is not None and at.me is not None else None
    return Mine(
        peer=short(at.me) if at.me is not None else "",
        name=at.name,
        samples=row.samples if row is not None else 0,
        samples_pending=participant.samples if participant is not None else 0,
        samples_per_s=_speed(activity, participant.samples_per_s) if participant is not None else 0.0,
        epochs=row.epochs if row is not None else 0,
        bytes_sent=at.bytes_sent,
        bytes_received=at.bytes_received,
        worker_pid=at.worker_pid,
        contributing_s=at.contributing_s,
        line_up_bytes_per_s=float(line.up),
        line_down_bytes_per_s=float(line.down),
        line_trip_s=participant.trip_s if participant is not None else 0.0,
    )


def _peers(at: Standpoint, activity: Activity) -> list[PeerView]:
    participant = at.participant
    if participant is None or at.me is None:
        return []
    me = PeerView(
        peer=short(at.me),
        name=at.name,
        is_me=True,
        role=participant.settings.role,
        activity=activity.value,
        epoch=_epoch(participant),
        samples_pending=participant.samples,
        samples_per_s=_speed(activity, participant.samples_per_s),
    )
    others = [_peer(peer, report, silent=peer in participant.silent) for peer, report in participant.peers.items()]
    return [me, *sorted(others, key=lambda view: (view.role, view.name, view.peer))]


def _peer(peer: PeerId, report: ProgressReport, *, silent: bool) -> PeerView:
    if report.role == BACKBONE:
        activity = Activity.WAITING
    elif report.activity == Phase.IDLE.value:
        activity = Activity.PAUSED
    elif report.activity == HELPING:
        activity = Activity.HELPING
    else:
        activity = ACTIVITIES.get(_phase(report.activity), Activity.WAITING)
    return PeerView(
        peer=short(peer),
        name=report.name or short(peer),
        is_me=False,
        role=report.role,
        activity=activity.value,
        epoch=report.epoch,
        samples_pending=report.samples,
        samples_per_s=0.0 if silent else _speed(activity, report.samples_per_s),
    )


def _phase(word: str) -> Phase:
    try:
        return Phase(word)
    except ValueError:
        return Phase.IDLE


def _sentence(at: Standpoint, activity: Activity) -> str:
    participant = at.participant
    match activity:
        case Activity.PROBLEM if at.problem is not None:
            return at.problem.message
        case Activity.PAUSED:
            by_you = "Paused by you: nothing is computed until you switch contributing on again."
            return at.resting if at.contributing else by_you
        case Activity.STARTING:
            return at.stage if participant is None else "The training program is starting."
        case Activity.HELPING if participant is not None and participant.assists:
            return ASSISTING
        case Activity.JOINING | Activity.WAITING | Activity.HELPING:
            return SENTENCES[activity]
    assert participant is not None
    samples, _ = _together(at, activity)
    target = participant.settings.target_samples
    others = sum(report.in_step for report in participant.peers.values())
    company = {0: "alone for now", 1: "together with one other"}.get(others, f"together with {others} others")
    epoch = _epoch(participant)
    match activity:
        case Activity.TRAINING:
            if samples >= target:
                return f"Training {company}: all {amount(target)} samples for epoch {epoch + 1} are gathered."
            return f"Training {company}: {gathered(samples, target)} for epoch {epoch + 1}."
        case Activity.AVERAGING:
            meanwhile = " while training goes on" if participant.settings.averaging.overlaps else ""
            return f"Averaging {company}{meanwhile}: everyone's work becomes epoch {epoch + 1} of the model."
        case Activity.CATCHING_UP:
            piece = participant.fetching
            share = f", {piece.done} of {piece.total} pieces are here" if piece is not None else ""
            return f"Catching up with the others, who are ahead{share}."
    return f"Finished: epoch {epoch} was the last that was asked for."
