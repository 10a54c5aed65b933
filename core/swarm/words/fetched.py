"""What downloads of states, means and shards come to, and catching up by them."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from core.base.state_header import StateHeader
from core.swarm.words.states import StateName

N = TypeVar("N")
"""Name of a file: of a state, or of a shard."""


@dataclass(frozen=True, slots=True)
class Fetching:
    """How much of a download is here, in chunks."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Fetched(Generic[N]):
    """The whole file is here and its digest holds."""

    name: N
    location: str


@dataclass(frozen=True, slots=True)
class FetchFailed(Generic[N]):
    """Nobody could give it; the owner may choose another file or other donors and try again."""

    name: N
    reason: str
    too_large: bool = False
    """Whether the file has more bytes than it may have."""


@dataclass(frozen=True, slots=True)
class MeansMissing:
    """The means cannot be had, or do not lead from the own state to the other."""

    owed: bool
    """Whether a donor has promised the state and has not given what leads to it."""


@dataclass(frozen=True, slots=True)
class StateFetched:
    """A newer state is on the disk, verified: the trainer may load it; `arrived` or `refused` follows."""

    name: StateName
    location: str


@dataclass(frozen=True, slots=True)
class MeansFetched:
    """All means of the steps to a state are on the disk: the trainer may take them."""

    name: StateName
    header: StateHeader
    digest: bytes
    """Root digest of the state's file."""
    locations: tuple[str, ...]
    """In the order of the steps."""


@dataclass(frozen=True, slots=True)
class CatchUpFailed:
    """Nobody could give the state; `due` says when to look again."""

    reason: str


CaughtUp = StateFetched | MeansFetched | CatchUpFailed
"""What becomes of a newer state."""
Downloaded = Fetching | Fetched[Any] | FetchFailed[Any] | MeansMissing
"""What a download reports to the part that wanted it."""
