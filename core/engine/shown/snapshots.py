"""The engine's state in the words of a Snapshot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from core.api import verdict as verdicts
from core.api.data_state import DataView
from core.api.modes import Switches, UseSubject
from core.api.reports import DayGift
from core.api.sample_text import sample_size
from core.api.score import FirstScore
from core.api.snapshot import (
    BACKBONE,
    HELPER,
    VOLUNTEER,
    Activity,
    Collaboration,
    CurvePoint,
    HostingView,
    LeaderboardRow,
    LossView,
    Mine,
    PeerView,
    ReachView,
    Snapshot,
    activity_of,
)
from core.api.turns import PassedOver
from core.api.verdict import Verdict
from core.api.version import VERSION
from core.averaging.plan import Rates
from core.base.ids import PeerId, short
from core.base.manifest import Manifest
from core.base.problems import Problem
from core.engine.shown.hints import upload_hint
from core.engine.text.data_watch import source_views
from core.ledger.board import NOTHING, Board, GivenToday
from core.nat.reachability import OwnReach, Reachability
from core.net.identity.passes import CLOCK_TOLERANCE_S, Pass, PassRole
from core.swarm.presentation import HELPING
from core.swarm.view import ParticipantView
from core.swarm.words.epoch import Phase
from core.swarm.words.progress import ProgressReport
from core.swarm.words.states import StateName

ACTIVITIES: Mapping[str, Activity] = {
    Phase.IDLE: Activity.STARTING,
    Phase.JOINING: Activity.JOINING,
    Phase.TRAINING: Activity.TRAINING,
    **dict.fromkeys((Phase.COLLECTING, Phase.OFFERED, Phase.AVERAGING, Phase.STEPPING), Activity.AVERAGING),
    Phase.FETCHING: Activity.CATCHING_UP,
    Phase.LOADING: Activity.CATCHING_UP,
    Phase.FINISHED: Activity.FINISHED,
}
TOLD: Mapping[str, Activity] = {**ACTIVITIES, Phase.IDLE: Activity.PAUSED, HELPING: Activity.HELPING}
"""By the words in which peers report them."""
WORKING = frozenset({Activity.TRAINING, Activity.AVERAGING})
"""Activities in which a peer's speed says something about what it gives."""
COMPANY = WORKING | {Activity.CATCHING_UP}
"""Activities of peers with which this one trains: who takes a step, or fetches a state, is no less here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standpoint:
    """What the engine knows when a snapshot is taken."""

    pid: int
    now: float
    stage: Verdict
    """What the engine is at while there is no participant yet."""
    contributing: bool
    name: str
    me: PeerId | None = None
    manifest: Manifest | None = None
    page: str = ""
    participant: ParticipantView | None = None
    board: Board | None = None
    relayed: Mapping[PeerId, int] = field(default_factory=dict)
    """Bytes that peers have carried for others, by the receipts that are here."""
    given_today: GivenToday = NOTHING
    """What peers have given to others today, as these say."""
    passes: Mapping[PeerId, Pass] = field(default_factory=dict)
    """Passes that peers have shown: names and roles come from there."""
    revoked: frozenset[PeerId] = frozenset()
    """Peers that the organiser has shut out."""
    pass_ends: float | None = None
    """When this computer's own pass ends, Unix seconds; None: it has none yet."""
    worker_pid: int | None = None
    loss: LossView | None = None
    device: str = ""
    """What the worker computes on."""
    upload_bytes_s: float | None = None
    """The person's limit; None: there is none, or all others are on this computer."""
    bytes_sent: int = 0
    bytes_received: int = 0
    contributing_s: float = 0.0
    first: FirstScore | None = None
    failure: Problem | None = None
    trains: bool = True
    trouble: Problem | None = None
    """What is wrong with the training process."""
    reach: OwnReach | None = None
    rest: Verdict | None = None
    """Why nothing may be computed; None: it may."""
    switches: Switches = Switches()  # noqa: RUF009 - it cannot change
    rests: dict[UseSubject, Verdict] = field(default_factory=dict)
    cards: Mapping[str, Verdict | None] = field(default_factory=dict)
    notice_last: int = 0
    passed_over: tuple[PassedOver, ...] = ()
    data: DataView | None = None
    """How the text comes to this computer."""
    today: DayGift = DayGift(day="")  # noqa: RUF009 - it cannot change
    hosting: HostingView | None = None


def take_snapshot(at: Standpoint) -> Snapshot:
    """Everything people see, as of `at.now`."""
    verdict = verdict_of(at)
    activity = activity_of(verdict)
    samples, speed = _together(at, activity)
    curve = at.board.curve if at.board is not None else []
    followed = at.participant.followed if at.participant is not None else None
    return Snapshot(
        version=VERSION,
        pid=at.pid,
        time=at.now,
        verdict=verdict,
        contributing=at.contributing,
        switches=at.switches,
        rests=at.rests,
        cards=dict(at.cards),
        collaboration=_collaboration(at),
        me=_mine(at, activity),
        epoch=_shown_epoch(activity, followed, _epoch_after(curve)),
        epoch_samples=samples,
        samples_per_s=speed,
        peers=_peers(at, activity),
        leaderboard=_standings(at),
        week_since=at.board.recent.since if at.board is not None else "",
        curve=curve,
        reach=_reach(at),
        notice_last=at.notice_last,
        data=at.data,
        hosting=at.hosting,
        passed_over=at.passed_over,
        hint=upload_hint(at.participant, at.me, limit_bytes_s=at.upload_bytes_s, samples_per_s=speed)
        if activity in WORKING
        else None,
        today=at.today,
    )


def verdict_of(at: Standpoint) -> Verdict:
    """What Potluck is doing, as the engine knows it."""
    return verdicts.decide(
        failure=_problem(at.failure),
        rest=at.rest,
        trouble=_problem(at.trouble),
        doing=at.stage if at.participant is None else _doing(at, at.participant),
    )


def _problem(problem: Problem | None) -> Verdict | None:
    return None if problem is None else verdicts.problem(problem.code, problem.sentence, problem.advice)


def _doing(at: Standpoint, participant: ParticipantView) -> Verdict:
    """What the participant is at, where nothing is in its way."""
    if participant.settings.role == HELPER:
        return verdicts.contributing(Activity.HELPING.value if at.trains else "no_part")
    activity = ACTIVITIES[participant.phase]
    epoch = _epoch(participant.state)
    match activity:
        case Activity.STARTING:
            return verdicts.starting("trainer")
        case Activity.FINISHED:
            end = at.manifest.last_epoch if at.manifest is not None else None
            return verdicts.resting("ended" if end is not None and epoch >= end else activity.value, epoch=epoch)
        case Activity.CATCHING_UP:
            piece = participant.fetching
            return verdicts.starting(
                activity.value, **({"done": piece.done, "total": piece.total} if piece is not None else {})
            )
        case Activity.JOINING:
            return verdicts.starting(activity.value)
    reach = _heard(at)
    named = at.manifest.organiser_named if at.manifest is not None else {}
    if at.pass_ends is not None and at.now > at.pass_ends + CLOCK_TOLERANCE_S:
        return verdicts.not_connected("pass_ended", **named)
    if reach is not None and reach.standing is Reachability.OFFLINE:
        return verdicts.not_connected("offline" if reach.has_way else "no_network", **named)
    if activity is Activity.TRAINING and (said := _instead(at, participant)) is not None:
        return said
    return verdicts.contributing(
        activity.value,
        others=sum(_activity(report, at.passes.get(peer)) in COMPANY for peer, report in participant.peers.items()),
        samples=_together(at, activity)[0],
        target=participant.settings.target_samples,
        epoch=epoch,
        overlaps=int(participant.settings.averaging.overlaps),
    )


def _instead(at: Standpoint, participant: ParticipantView) -> Verdict | None:
    """What keeps a trainer from computing gradients; None: nothing."""
    if at.data is not None and at.data.waiting:
        return verdicts.no_data(at.data.code, at.data.args)
    if at.hosting is not None and (lack := at.hosting.lack) is not None:
        return verdicts.waiting(live=lack.live, places=lack.places, layer=lack.layer)
    return verdicts.contributing("assisting") if participant.assists else None


def _together(at: Standpoint, activity: Activity) -> tuple[int, float]:
    """Samples and speed of the whole collaboration in this epoch."""
    participant = at.participant
    if participant is None or participant.followed is None:
        return 0, 0.0
    mine = participant.samples if participant.followed == participant.state else 0
    return (
        participant.others_samples + mine,
        participant.others_samples_per_s + _speed(activity, participant.samples_per_s),
    )


def _epoch_after(curve: Sequence[CurvePoint]) -> int:
    """The newest epoch that the loss curve knows of: training was measured on the way to the next one."""
    return curve[-1].epoch + (curve[-1].loss_training is not None) if curve else 0


def _shown_epoch(activity: Activity, followed: StateName | None, known: int) -> int:
    """The collaboration's epoch; until this peer has found its place, the others may stand at an earlier one too."""
    if followed is None:
        return known
    arrives = activity in {Activity.STARTING, Activity.JOINING, Activity.CATCHING_UP}
    return max(known, followed.epoch) if arrives else followed.epoch


def _epoch(state: StateName | None) -> int:
    return 0 if state is None else state.epoch


def _speed(activity: Activity, samples_per_s: float) -> float:
    """The last speed that was measured counts for nothing once its peer has stopped to train."""
    return samples_per_s if activity in WORKING else 0.0


def _collaboration(at: Standpoint) -> Collaboration | None:
    manifest = at.manifest
    if manifest is None:
        return None
    return Collaboration(
        name=manifest.name,
        id=manifest.id.hex(),
        summary=manifest.summary,
        organiser=manifest.organiser,
        target_samples=manifest.target_samples,
        task=manifest.task,
        sample_size=sample_size(manifest.numbers),
        last_epoch=manifest.last_epoch,
        loss=at.loss or LossView(),
        sources=source_views(manifest),
        page=at.page,
    )


def _standings(at: Standpoint) -> list[LeaderboardRow]:
    if at.board is None or at.me is None:
        return []
    backbones = [peer for peer, shown in at.passes.items() if shown.role is PassRole.BACKBONE]
    return at.board.standings(at.me, relayed=at.relayed, today=at.given_today, without=backbones, revoked=at.revoked)


def _heard(at: Standpoint) -> OwnReach | None:
    """How others reach this computer, with what it hears of them; None: not known."""
    if at.reach is None or at.participant is None:
        return at.reach
    return at.reach.hearing(others=at.participant.audible)


def _reach(at: Standpoint) -> ReachView | None:
    reach = _heard(at)
    return None if reach is None else ReachView(reach.standing, str(reach.sentence), reach.advice, (reach.sentence,))


def _mine(at: Standpoint, activity: Activity) -> Mine:
    participant = at.participant
    line = participant.line if participant is not None else Rates()
    row = at.board.row(at.me) if at.board is not None and at.me is not None else None
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
        device=at.device,
        contributing_s=at.contributing_s,
        first=at.first,
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
        epoch=_epoch(participant.state),
        samples_pending=participant.samples,
        samples_per_s=_speed(activity, participant.samples_per_s),
    )
    others = [
        _peer(peer, report, shown=at.passes.get(peer), silent=peer in participant.silent)
        for peer, report in participant.peers.items()
    ]
    return [me, *sorted(others, key=lambda view: (view.role, view.name, view.peer))]


def _peer(peer: PeerId, report: ProgressReport, *, shown: Pass | None, silent: bool) -> PeerView:
    """What people see of another peer: name and role by its pass, the rest as it reports."""
    activity = _activity(report, shown)
    return PeerView(
        peer=short(peer),
        name=short(peer) if shown is None else shown.username,
        is_me=False,
        role=_role(report, shown),
        activity=activity.value,
        epoch=report.epoch,
        samples_pending=report.samples,
        samples_per_s=0.0 if silent else _speed(activity, report.samples_per_s),
    )


def _role(report: ProgressReport, shown: Pass | None) -> str:
    is_backbone = shown is not None and shown.role is PassRole.BACKBONE
    return VOLUNTEER if report.role == BACKBONE and not is_backbone else report.role


def _activity(report: ProgressReport, shown: Pass | None) -> Activity:
    return Activity.WAITING if _role(report, shown) == BACKBONE else TOLD.get(report.activity, Activity.WAITING)
