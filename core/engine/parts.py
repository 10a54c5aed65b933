"""What an engine is made of once it has joined, and how the parts that need nothing of the engine itself are made."""

from collections.abc import Callable
from dataclasses import dataclass
from random import SystemRandom

from core.api.snapshot import HELPER, VOLUNTEER
from core.backbone.join import JoinedCollaboration, Joining
from core.base.ids import PeerId
from core.engine.journal import Journal
from core.engine.network_monitor import NetworkMonitor
from core.engine.options import EngineOptions
from core.engine.usage_policy import UsagePolicy
from core.nat.relay import RelaySettings
from core.net.host import Host
from core.net.outward import Outward
from core.storage.paths import Home
from core.storage.settings import Settings
from core.swarm.participant import Participant
from core.swarm.settings import ParticipantSettings
from core.system.atomic_files import make_directory
from core.workers.helper import Helper
from core.workers.trainer import Trainer, TrainerPlace


@dataclass(slots=True)
class SessionParts:
    """What exists once the engine has joined."""

    membership: JoinedCollaboration
    participant: Participant
    outward: Outward | None
    """None: others are on this computer."""
    usage_policy: UsagePolicy
    host: Host
    trainer: Trainer | Helper
    journal: Journal
    joining: Joining
    port: int = 0
    """At which others are heard; 0 until then."""


def participant_settings(membership: JoinedCollaboration, options: EngineOptions, *, name: str) -> ParticipantSettings:
    """How a volunteer called `name` takes part in this collaboration."""
    manifest = membership.manifest
    return ParticipantSettings(
        run=manifest.id,
        target_samples=manifest.target_samples,
        averaging=manifest.averaging,
        evaluate_every=manifest.evaluate_every,
        role=HELPER if options.help_bytes else VOLUNTEER,
        name=name,
        evaluate_first=options.evaluate_first,
        last_epoch=options.last_epoch,
    )


def trainer_place(
    membership: JoinedCollaboration, options: EngineOptions, *, home: Home, me: PeerId, settings: Settings
) -> TrainerPlace:
    """Where the worker's files are; makes the folders.

    Raises:
        UserProblem: the system does not allow it, or the disk is full.
    """
    folder = home.state(membership.manifest.id.hex())
    make_directory(folder / "states")
    make_directory(home.logs)
    return TrainerPlace(
        manifest=membership.manifest,
        manifest_path=membership.manifest_path,
        blobs=membership.blobs,
        states=folder / "states",
        arena=folder / "arena",
        log=home.logs / "worker.log",
        residuals=folder / "residuals",
        seed=int.from_bytes(me[:4], "big"),
        threads=settings.threads or options.threads,
        device=options.device,
        last_epoch=options.last_epoch,
    )


def network_monitor_of(
    parts: SessionParts, outward: Outward, *, me: PeerId, bind: str, now: Callable[[], float]
) -> NetworkMonitor:
    """What sees to the router, the neighbours and changes of the network."""
    return NetworkMonitor(
        reacher=outward,
        host=parts.host,
        me=me,
        manifest_id=parts.membership.manifest.id,
        bind=bind,
        port=parts.host.port,
        peers=lambda: list(parts.participant.view(now()).peers),
        sensed=lambda network: parts.usage_policy.metered(network.metered),
        now=now,
        random=SystemRandom(),
        trace=parts.participant.trace,
    )


def carrying(chosen: Settings) -> RelaySettings:
    """What we carry for others."""
    return RelaySettings() if chosen.relay else RelaySettings(circuits=0)
