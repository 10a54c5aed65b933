"""The state of the way to the engine."""

from dataclasses import dataclass
from enum import Enum

from core.api.snapshot import ProblemView


class LinkState(Enum):
    """Whether there is an engine to talk to."""

    CONNECTING = "connecting"
    CONNECTED = "connected"
    ABSENT = "absent"
    """No engine runs on this home, or it does not answer."""
    REFUSED = "refused"
    """An engine runs that cannot be talked to."""


@dataclass(frozen=True, slots=True)
class Link:
    """The state, and what there is to say about it."""

    state: LinkState
    problem: ProblemView | None = None
    """With REFUSED."""
