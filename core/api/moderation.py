"""What moderators ask of an engine, and what it tells of them: who they are, what waits for signatures, who is held."""

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

ID_LETTERS = 8
"""Length of a proposal's id."""


class ModerationAct(StrEnum):
    """What a moderator can do, alone or with others."""

    BAN = "ban"
    PARDON = "pardon"
    HOLD = "hold"
    RELEASE = "release"
    NOTICE = "notice"
    CLOSE = "close"
    """No newcomers come in."""
    OPEN = "open"
    """Newcomers come in by invitations again."""
    ADD = "add"
    REMOVE = "remove"
    AGREE = "agree"
    """Change how many moderators have to agree."""
    SIGN = "sign"
    GO_BACK = "go_back"
    """Have everybody go back to a copy of the model; proposed by `potluck copies --back-to`."""
    OTHER = "other"
    """Change something for which there is no word; nobody can ask for it."""


class ModerationWish(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a moderator wants to be done."""

    act: ModerationAct
    who: Annotated[str, Meta(max_length=100)] = ""
    """A name, or a key in hex; of `SIGN`: a proposal's id."""
    words: Annotated[str, Meta(max_length=2000)] = ""
    days: Annotated[float, Meta(gt=0, le=3650)] = 7.0
    count: Annotated[int, Meta(ge=0, le=100)] = 0
    """How many have to agree; 0: one of up to two, else more than half."""


class ModerationOutcome(msgspec.Struct, frozen=True):
    """What has become of a wish."""

    done: bool
    """It is in force."""
    id: str
    missing: int
    """Number of signatures that it waits for."""


class DecisionChange(msgspec.Struct, frozen=True):
    """One thing that a proposal changes."""

    act: ModerationAct
    name: str = ""
    key: str = ""
    words: str = ""
    count: int = 0


class ProposalView(msgspec.Struct, frozen=True):
    """A decision that waits for signatures."""

    id: str
    author: str
    at: float
    """Unix seconds."""
    until: float
    changes: tuple[DecisionChange, ...]
    words: str
    signed: tuple[str, ...]
    """Names of those who have."""
    missing: int
    signed_here: bool


class ModeratorView(msgspec.Struct, frozen=True):
    """One moderator, as people see them."""

    name: str
    key: str
    is_me: bool


class HoldView(msgspec.Struct, frozen=True):
    """Somebody who is kept out for some days."""

    name: str
    key: str
    until: float
    words: str


class ModerationView(msgspec.Struct, frozen=True):
    """Who decides, what waits for signatures, and who is held."""

    moderates: bool
    """This computer is a moderator's."""
    moderators: tuple[ModeratorView, ...]
    threshold: int
    newcomers: str
    banned: int
    notices: tuple[str, ...]
    holds: tuple[HoldView, ...]
    proposals: tuple[ProposalView, ...]
