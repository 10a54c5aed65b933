"""What a participant is told at birth."""

from collections.abc import Callable
from dataclasses import dataclass

from core.base.ids import AccountId, PeerId, account_of
from core.base.manifest import AveragingNumbers
from core.nat.relay import RelaySettings
from core.swarm.words.states import StateName


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantSettings:
    """How a peer takes part in a collaboration.

    Attributes:
        run: The manifest's id.
        target_samples: How many samples a step takes.
        averaging: The manifest's numbers.
        evaluate_every: Number of epochs between two looks at the held-out text.
        role: "volunteer", "helper" or "backbone".
        evaluate_first: Look at the held-out text as soon as the trainer is ready.
        met: Peers that were in rounds with this one before it was started this time.
        stood: Where the last of these rounds led; None: there was none, or this peer's trainer knows.
        last_epoch: Take no part in epochs beyond this one; None: in all.
        keeps: Keep copies of the model, for when nobody trains.
        backbone: Tells this peer where such a copy is; None: nobody does.
        account: Whose key a peer's is, as far as that is known: all computers of one person count as one.
        relay: What it carries for others; None: all are on this computer, and nobody has to be found through routers.
    """

    run: bytes
    target_samples: int
    averaging: AveragingNumbers
    evaluate_every: int
    role: str
    evaluate_first: bool = False
    met: tuple[PeerId, ...] = ()
    stood: StateName | None = None
    last_epoch: int | None = None
    keeps: bool = False
    backbone: PeerId | None = None
    account: Callable[[PeerId], AccountId] = account_of
    relay: RelaySettings | None = None
