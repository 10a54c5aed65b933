"""What `potluck requests` and the process that opens the page's database say to each other."""

from typing import Annotated

import msgspec
from msgspec import Meta


class ModeratorAnswered(msgspec.Struct, frozen=True, kw_only=True):
    """A moderator's answer to somebody who has asked to be let in."""

    number: Annotated[int, Meta(ge=1, lt=2**53)]
    yes: bool
    reason: str = ""
    """What the person reads; its end is cut off where it is too long."""
    moderator: str = ""


class WaitingPerson(msgspec.Struct, frozen=True):
    """Somebody who waits for an answer."""

    number: int
    name: str
    words: str
    """What the person says."""
    at: float
    """When, Unix seconds."""


class WaitingPeople(msgspec.Struct, frozen=True, kw_only=True):
    """All who wait, or why that cannot be said."""

    people: tuple[WaitingPerson, ...] = ()
    counts: bool = True
    """Whether an answer was taken: each request is answered once."""
    problem: str = ""
    hint: str = ""
