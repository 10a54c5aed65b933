"""What a participant tells its owner: orders for the trainer, which answers (`core.swarm.words.answers`), and news."""

from dataclasses import dataclass
from typing import Final, Self

from core.averaging.outcome import Outcome
from core.averaging.receipts.receipt import Deed, Statement
from core.base.ids import PeerId
from core.base.problems import Sentence
from core.base.state_header import StateHeader
from core.base.work import Collect, Evaluate, Go, Hold, Release, Untaken
from core.swarm.words.states import StateName

SCALED_BY_CHANCE: Final = 0.1
"""Part of its chunks up to which a contribution may be scaled down without a word."""


@dataclass(frozen=True, slots=True)
class Absorb:
    """Trainer: the mean is in its slot; take the optimiser step, answer with `Stepped`, go on."""

    round: bytes
    record: "RoundRecord"
    agreement: "Agreement | None" = None
    untaken: Untaken | None = None
    """Chunks of the contribution that the plan did not ask for: the trainer carries them on."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many other peers have the same bits of a state: all of them, where steps are exact and nothing is damaged."""

    alike: int
    heard: int
    """Those that have reported a digest for it."""


@dataclass(frozen=True, slots=True)
class Load:
    """Trainer: replace the state by this verified one, answer with `Loaded`."""

    location: str
    name: StateName
    """What the file must call itself.  It comes from a stranger: a file of another name, model or collaboration must
    change no state, and is deleted; answer with the state that is held still."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Trainer: take the steps to a state that others hold with these means, answer with `Loaded`.

    The means come from strangers: if they do not lead to the very file, nothing changes; answer with the state that is
    held still.
    """

    name: StateName
    header: StateHeader
    """Header of the state's file."""
    digest: bytes
    """Root digest of the state's file."""
    means: tuple[str, ...]
    """Where the means are, in the order of the steps."""


@dataclass(frozen=True, slots=True)
class Restart:
    """Trainer: it owes an answer for too long; end the process and start another."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Owner of a backbone: this copy of the model was fetched; answer with `StateKept` or `StateNotKept`."""

    location: str
    name: StateName
    """What the file must call itself.  It comes from a stranger."""
    digest: bytes
    """Root digest of the file."""


@dataclass(frozen=True, slots=True)
class CopyFailed:
    """Owner of a backbone: a copy of the model could not be fetched, for this reason; it is tried again."""

    reason: str


TrainerOrder = Go | Hold | Collect | Absorb | Release | Load | Replay | Evaluate | Restart
"""What a trainer is told; the plain ones go on to the worker as they are (`core.base.work`)."""


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """A round was committed: who gave how much.  The same on all its members."""

    name: StateName
    """The state that the round leads to."""
    members: tuple[tuple[PeerId, int], ...]
    """Peer and samples, of each that is in the mean at least in part."""
    loss: float
    """Median of the members' training losses."""
    missing: tuple[tuple[PeerId, int], ...]
    """Peers whose contribution arrived only in part, and how many chunks of it are missing."""
    seconds: float
    deeds: tuple[Deed, ...] = ()
    """What each peer of the plan did, by the statement that they sign."""
    heldout: tuple[tuple[int, float], ...] = ()
    """The last looks of its members at the held-out text: epochs, and mean losses in nats."""

    @classmethod
    def of(cls, outcome: Outcome, statement: Statement) -> Self:
        """What a committed round came to, and the statement about it that its members sign."""
        return cls(
            StateName(statement.epoch, statement.lineage),
            outcome.contributors,
            outcome.loss,
            outcome.missing,
            outcome.seconds,
            deeds=statement.deeds,
            heldout=outcome.heldout,
        )

    @property
    def credited(self) -> tuple[tuple[PeerId, int], ...]:
        """The same peers; of their samples those that are in the mean, by the chunks that arrived."""
        return tuple((PeerId(deed.peer), deed.samples) for deed in self.deeds if deed.chunks)


@dataclass(frozen=True, slots=True)
class KeyElsewhere:
    """Another process takes part with this peer's key."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class ContributionCut:
    """A committed round has counted this peer's contribution for less than it was."""

    epoch: int
    samples: int
    """Samples that it brought."""
    weight: int
    """The samples for which it counted: it has not earned more yet, or would have more than its share."""
    scaled: float
    """Part of its chunks whose norm was far beyond the others', and that were scaled down."""

    @property
    def told(self) -> "tuple[ContributionCut, ...]":
        """Itself, where it is worth a word: chunks of few numbers may be scaled down by chance."""
        return (self,) if self.weight < self.samples or self.scaled > SCALED_BY_CHANCE else ()


@dataclass(frozen=True, slots=True)
class RoundLost:
    """A round, or the gathering before it, failed; it will be tried again."""

    reason: str


@dataclass(frozen=True, slots=True)
class WorkNotKept:
    """This peer has moved to the branch on which most stand, and given up the last steps of its own."""

    epoch: int
    """Epoch of the state that was given up."""


@dataclass(frozen=True, slots=True)
class StateNotTaken:
    """This computer could not write a newer state down, so it trains nothing, or alone; it is tried again."""

    why: Sentence


@dataclass(frozen=True, slots=True)
class LedgerRead:
    """This peer holds no state, and has read the ledger of the one where most stand."""

    ledger: bytes
    epoch: int


@dataclass(frozen=True, slots=True)
class HeldoutLearned:
    """Somebody looked at the held-out text."""

    epoch: int
    loss: float


@dataclass(frozen=True, slots=True)
class Changed:
    """Something that people see has changed."""
