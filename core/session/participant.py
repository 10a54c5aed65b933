"""The participant of a collaboration, as its manifest and this computer's role have it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom

from core.base.ids import AccountId, PeerId, account_of
from core.base.manifest import Manifest
from core.base.signing import Ed25519Verifier, KeyPair
from core.kept.state_files import DiskStateSink
from core.nat.relay import RelaySettings
from core.net.addresses.interfaces import is_loopback
from core.swarm.catching_up.fetch import Sinks
from core.swarm.participant import Participant
from core.swarm.words.settings import ParticipantSettings
from core.swarm.words.states import StateName


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """How a computer takes part in a collaboration.

    Attributes:
        name: "volunteer", "helper" or "backbone" (`core.api.snapshot`).
        bind: Where it listens; on the loopback all others are on this computer.
        relay: What it carries for others, where there may be routers between them.
        evaluate_first: Look at the held-out text as soon as the trainer is ready.
        last_epoch: Take no part in epochs beyond this one; None: in all that the manifest's schedule has.
        met: Peers that were in rounds with this computer before it was started this time.
        stood: Where the last of these rounds led, for one that holds no state.
        keeps: Whether it keeps copies of the model.
        backbone: The one that let it in.
        account: Whose key a peer's is.
    """

    name: str
    bind: str
    relay: RelaySettings
    evaluate_first: bool = False
    last_epoch: int | None = None
    met: tuple[PeerId, ...] = ()
    stood: StateName | None = None
    keeps: bool = False
    backbone: PeerId | None = None
    account: Callable[[PeerId], AccountId] = account_of


def participant_of(manifest: Manifest, role: Role, *, keys: KeyPair, folder: Path) -> Participant:
    """The participant that this computer is.

    Args:
        manifest: Manifest of the collaboration.
        role: How this computer takes part.
        keys: Its identity.
        folder: The collaboration's; a state that is being downloaded is put together there.
    """
    return Participant(
        settings=ParticipantSettings(
            run=manifest.id,
            target_samples=manifest.target_samples,
            averaging=manifest.averaging,
            evaluate_every=manifest.evaluate_every,
            role=role.name,
            evaluate_first=role.evaluate_first,
            met=role.met,
            stood=role.stood,
            last_epoch=manifest.last_epoch_within(role.last_epoch),
            keeps=role.keeps,
            backbone=role.backbone,
            account=role.account,
            relay=None if is_loopback(role.bind) else role.relay,
        ),
        signer=keys,
        verifier=Ed25519Verifier(),
        random=SystemRandom(),
        sinks=Sinks(DiskStateSink(folder / "incoming", copies=role.keeps), DiskStateSink(folder / "means", means=True)),
    )
